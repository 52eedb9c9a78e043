# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens around a gap in a text, and requests with the field `suffix`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import gguf
import pytest
import relax_mlir as rx
import tokenizers
from relax_mlir_llm.fill_marks import FillMarks
from relax_mlir_llm.gguf_checks import check_metadata
from relax_mlir_llm.gguf_source import GgufSource
from relax_mlir_llm.gguf_tokenizer import gguf_tokenizer
from relax_mlir_llm.tokenizer import Marks, Tokenizer
from served_text import TOKENIZER, texts
from test_tokenizer import write_tokenizer
from tiny_models import tiny, write_gguf

NAMES = {"<a>": 0, "<|fim_suffix|>": 1, "<|fim_prefix|>": 2, "<|fim_middle|>": 3, "<|file_sep|>": 4}


def named(names: Mapping[str, int], fill: tuple[int, ...] | None = None) -> Tokenizer:
    model = tokenizers.models.WordLevel(dict(names), "<a>")
    return Tokenizer(tokenizers.Tokenizer(model), Marks(0, 0, (), False, False, None, fill))


def test_names_of_tokens(tmp_path: Path) -> None:
    found = named(NAMES)
    assert found.fill_marks == FillMarks(2, 1, 3, (4,))
    assert named({"<a>": 0, "<|fim_prefix|>": 1, "<fim_suffix>": 2, "<fim_middle>": 3}).fill_marks is None
    assert TOKENIZER.fill_marks is None
    stated = named(NAMES, (4, 3, 2))
    assert stated.fill_marks == FillMarks(4, 3, 2, (4,))
    for tokenizer in (found, stated):
        tokenizer.save(tmp_path)
        assert Tokenizer.load(tmp_path).fill_marks == tokenizer.fill_marks


@pytest.mark.parametrize("names", [("fim_pre", "fim_suf", "fim_mid"), ("prefix", "suffix", "middle")])
def test_metadata_of_gguf(names: tuple[str, ...], tmp_path: Path) -> None:
    def written(tokens: Mapping[str, int]) -> GgufSource:
        path = write_gguf(tiny("llama"), tmp_path / "model.gguf")
        reader = gguf.GGUFReader(path)
        writer = gguf.GGUFWriter(tmp_path / "named.gguf", "llama")
        for key, value in reader.fields.items():
            if not key.startswith("GGUF.") and key != "general.architecture":
                of_items = value.types[1] if len(value.types) > 1 else None
                writer.add_key_value(key, value.contents(), value.types[0], sub_type=of_items)
        for name, token in tokens.items():
            writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)
        for each in reader.tensors:
            writer.add_tensor(each.name, each.data, raw_dtype=each.tensor_type)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return GgufSource(str(tmp_path / "named.gguf"))

    source = written(dict(zip(names, (290, 291, 292), strict=True)))
    check_metadata(source)
    assert gguf_tokenizer(source).fill_marks == FillMarks(290, 291, 292)
    assert gguf_tokenizer(written({names[0]: 290})).fill_marks is None
    with pytest.raises(rx.ModelError, match=f"'tokenizer.ggml.{names[2]}_token_id' in the metadata is 300"):
        check_metadata(written({names[2]: 300}))


def test_text_behind_a_gap_has_no_space_first(tmp_path: Path) -> None:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{each:02X}>" for each in range(256)), "\u2581", "a", "\u2581a"]
    scores = [-float(each) for each in range(len(tokens))]
    found = write_tokenizer(
        tmp_path / "spaces.gguf", "llama", tokens, [2, 3, 3, *[6] * 256, 1, 1, 1], scores=scores, merges=()
    )
    names = found.backend.id_to_token
    assert [names(each) for each in found.encode("a a", add_bos=False)] == ["\u2581a", "\u2581a"]
    assert [names(each) for each in found.encode_rest("a a")] == ["a", "\u2581a"]
    assert TOKENIZER.encode_rest(" a") == TOKENIZER.encode(" a")


def test_requests_with_a_suffix() -> None:
    marks = replace(Marks(None, 0, (), False, False), fill=(4, 5, 6))
    with texts(adapters=("loud",)) as served:
        coder = Tokenizer(TOKENIZER.backend, marks)
        starting = Tokenizer(TOKENIZER.backend, replace(marks, bos=3, adds_bos=True))
        served.models["coder"] = replace(served.model, name="coder", tokenizer=coder)
        served.models["starting"] = replace(served.model, name="starting", tokenizer=starting)
        for model, first in (("coder", []), ("starting", [3])):
            for prompt in ("ab", [*first, *TOKENIZER.encode("ab")], ["ab"]):
                answer = served.post("completions", model=model, prompt=prompt, suffix="yz", max_tokens=1)
                assert answer.status_code == 200, answer.text
                found = [4, *TOKENIZER.encode("ab"), 5, *TOKENIZER.encode("yz"), 6]
                assert list(served.scheduler.added[-1].prompt) == [*first, *found]
        served.post("completions", model="coder", prompt="ab", suffix="", max_tokens=1)
        assert list(served.scheduler.added[-1].prompt) == TOKENIZER.encode("ab")
        error = served.post("completions", model="coder", prompt="ab", suffix="y" * 200).json()["error"]
        assert "prompt has 205 tokens, expected fewer than 200" in error["message"]
        error = served.post("completions", model="coder", prompt="ab", suffix="y" * 70_000).json()["error"]
        assert error["param"] == "suffix" and "suffix has 70,000 bytes, expected at most" in error["message"]


def test_the_filled_text_ends_before_another_file() -> None:
    end = TOKENIZER.encode("k")[0]
    with texts() as served:
        tokenizer = Tokenizer(TOKENIZER.backend, Marks(None, 0, (), False, False))
        tokenizer.fill_marks = FillMarks(4, 5, 6, (end,))
        served.models["tiny"] = replace(served.model, tokenizer=tokenizer)
        answer = served.post("completions", prompt="a", suffix="b", grammar='root ::= "k"{9}').json()
        assert answer["choices"][0]["finish_reason"] == "stop" and answer["choices"][0]["text"] == ""
