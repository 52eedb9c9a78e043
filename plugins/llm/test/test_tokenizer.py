# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizers from GGUF's metadata and from tokenizer.json: parts of texts, merges by score, decoding byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import gguf
import pytest
import relax_mlir as rx
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir_llm.gguf_source import GgufSource
from relax_mlir_llm.gguf_tokenizer import gguf_tokenizer
from relax_mlir_llm.tokenizer import Tokenizer, folder_tokenizer
from tiny_models import tiny, write_folder, write_gguf
from tiny_tokenizer import tiny_vocabulary

TEXTS = ("hello world", "  two spaces", "I'M 12345 y'all\n\nnew", "größe 東京 \N{GRINNING FACE}", "", "\t\x00 end ")


def write_tokenizer(
    path: Path, model: str, tokens: Sequence[str], types: Sequence[int], *, pre: str = "", merges: Sequence[str] = (),
    scores: Sequence[float] = (), space: bool = True,
) -> Tokenizer:  # fmt: skip
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(list(tokens))
    writer.add_token_types(list(types))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_space_prefix(space)
    if pre:
        writer.add_tokenizer_pre(pre)
    if merges:
        writer.add_token_merges(list(merges))
    if scores:
        writer.add_token_scores(list(scores))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return gguf_tokenizer(GgufSource(str(path)))


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = write_gguf(tiny("llama"), tmp_path_factory.mktemp("tokenizer") / "tiny.gguf")
    return gguf_tokenizer(GgufSource(str(path)))


def test_gguf_and_tokenizer_json_agree(byte_level: Tokenizer, tmp_path: Path) -> None:
    other, _ = folder_tokenizer(write_folder(tiny("llama"), tmp_path / "model"))
    assert (byte_level.bos, byte_level.eos, byte_level.ends) == (other.bos, other.eos, other.ends) == (0, 1, {1})
    for text in TEXTS:
        tokens = byte_level.encode(text)
        assert tokens == other.encode(text)
        assert byte_level.decode(tokens) == other.decode(tokens) == text
    assert [byte_level.backend.id_to_token(each) for each in byte_level.encode("hello world")][:1] == ["hello"]


def test_special_tokens_are_one_token_and_no_text(byte_level: Tokenizer) -> None:
    tokens = byte_level.encode("<s>he</s>", add_bos=False)
    assert tokens[0] == 0 and tokens[-1] == 1
    assert byte_level.decode(tokens) == "he"
    assert byte_level.decode(tokens, skip_special=False) == "<s>he</s>"
    assert byte_level.encode("he", add_bos=True) == tokens[:-1] == byte_level.encode("<s>he", add_bos=True)
    assert "".join(byte_level.stream().add(each) for each in tokens) == "he"


@given(st.text(max_size=20))
def test_a_stream_completes_characters(byte_level: Tokenizer, text: str) -> None:
    tokens = byte_level.encode(text.replace("<", ""))
    stream = byte_level.stream()
    pieces = [stream.add(each) for each in tokens]
    assert "".join([*pieces, stream.end()]) == text.replace("<", "")
    assert "\ufffd" not in "".join(pieces) or "\ufffd" in text
    assert b"".join(map(byte_level.token_bytes, tokens)) == text.replace("<", "").encode()


def test_a_stream_ends_with_a_replacement_for_half_a_character(byte_level: Tokenizer) -> None:
    stream = byte_level.stream()
    first, *_ = byte_level.encode("\N{GRINNING FACE}")
    assert (stream.add(first), stream.end()) == ("", "\ufffd")


@pytest.mark.parametrize(
    ("pre", "text", "parts"),
    [
        ("gpt-2", "I'M 12345 ok!\n\nx", ["I", "'", "M", " 12345", " ok", "!", "\n", "\n", "x"]),
        ("gpt-2", "I'm  two", ["I", "'m", " ", " two"]),
        ("smollm", "a 123 ok", ["a", " ", "1", "2", "3", " ok"]),
        ("llama-bpe", "I'M 12345 ok!\n\nx", ["I", "'M", " ", "123", "45", " ok", "!\n\n", "x"]),
        ("qwen2", "I'M 123 ok!\n\nx", ["I", "'M", " ", "1", "2", "3", " ok", "!\n\n", "x"]),
        ("default", "a=b 12345", ["a", "=", "b", " ", "123", "45"]),
        ("tekken", "HTTPServer's 12", ["HTTPServer", "'s", " ", "1", "2"]),
        ("gpt-4o", "HTTPServer's 1234", ["HTTPServer's", " ", "123", "4"]),
    ],
)
def test_parts_of_a_text(pre: str, text: str, parts: list[str], tmp_path: Path) -> None:
    tokens = tiny_vocabulary()
    made = write_tokenizer(tmp_path / "t.gguf", "gpt2", tokens, [1] * len(tokens), pre=pre, merges=["h e"])
    found = [made.backend.decoder.decode([part]) for part, _ in made.backend.pre_tokenizer.pre_tokenize_str(text)]
    assert found == parts


def test_unknown_pre_tokenizer(tmp_path: Path) -> None:
    tokens = tiny_vocabulary()
    with pytest.raises(rx.RefusalError, match=r"the pre-tokenizer 'xyz' is not supported \(supported: default, gpt-2"):
        write_tokenizer(tmp_path / "t.gguf", "gpt2", tokens, [1] * len(tokens), pre="xyz", merges=["h e"])


SPACE = "\u2581"
PIECES = {SPACE: -9.0, "a": -9.0, "b": -9.0, "c": -9.0, "ab": -2.0, "bc": -1.0, "abc": -3.0, f"{SPACE}a": -4.0,
          f"{SPACE}ab": -5.0, "ca": -2.5, "cc": -2.0, "aa": -1.5}  # fmt: skip


def sentencepiece(path: Path, *, space: bool) -> Tokenizer:
    head = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [2, 3, 3, *[6] * 256, *[1] * len(PIECES)]
    return write_tokenizer(
        path, "llama", [*head, *PIECES], types, scores=[*[0.0] * len(head), *PIECES.values()], space=space
    )


def merged(text: str) -> list[str]:
    """Return the pieces as SentencePiece defines them: the neighbours of the highest score are merged first."""
    pieces = list(text)
    while True:
        scores = [PIECES.get(a + b, -1e9) for a, b in pairwise(pieces)]
        if not scores or max(scores) == -1e9:
            return pieces
        at = scores.index(max(scores))
        pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


@given(st.text("abc ", max_size=14))
def test_sentencepiece_merges_by_score(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    made = _sentencepiece(tmp_path_factory)
    found = [made.backend.id_to_token(each) for each in made.encode(text, add_bos=False)]
    assert found == merged(text.replace(" ", SPACE))
    assert made.decode(made.encode(text)) == text


_MADE: list[Tokenizer] = []


def _sentencepiece(factory: pytest.TempPathFactory) -> Tokenizer:
    if not _MADE:
        _MADE.append(sentencepiece(factory.mktemp("sentencepiece") / "t.gguf", space=False))
    return _MADE[0]


def test_sentencepiece_of_llama_puts_a_space_before_the_text(tmp_path: Path) -> None:
    made = sentencepiece(tmp_path / "t.gguf", space=True)
    tokens = made.encode("ab\N{GRINNING FACE}c")
    shown = [made.backend.id_to_token(each) for each in tokens]
    assert shown == ["<s>", f"{SPACE}ab", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "c"]
    assert made.decode(tokens) == "ab\N{GRINNING FACE}c"
    stream = made.stream(is_start=True)
    assert "".join(stream.add(each) for each in tokens) == "ab\N{GRINNING FACE}c"


def test_unigram_chooses_the_likeliest_pieces(tmp_path: Path) -> None:
    head = ["<unk>", "<s>", "</s>"]
    pieces = {SPACE: -3.0, "a": -3.0, "b": -3.0, "ab": -7.0, "ba": -4.0, f"{SPACE}ab": -5.0}
    scores = [*[0.0] * len(head), *pieces.values()]
    types = [2, 3, 3, *[1] * len(pieces)]
    made = write_tokenizer(tmp_path / "t.gguf", "t5", [*head, *pieces], types, scores=scores)
    shown = [made.backend.id_to_token(each) for each in made.encode("abab ba", add_bos=False)]
    assert shown == [f"{SPACE}ab", "a", "b", SPACE, "ba"]  # -5 -3 -3 -3 -4; a + b costs 6, ab costs 7


def test_a_saved_tokenizer_is_equal(byte_level: Tokenizer, tmp_path: Path) -> None:
    byte_level.save(tmp_path)
    loaded = Tokenizer.load(tmp_path)
    assert [loaded.encode(each) for each in TEXTS] == [byte_level.encode(each) for each in TEXTS]
    assert (loaded.bos, loaded.ends) == (byte_level.bos, byte_level.ends)
