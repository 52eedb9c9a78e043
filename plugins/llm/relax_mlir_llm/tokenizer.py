# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokenizer of a model: text to tokens and back, also token by token."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import relax_mlir as rx

from .fill_marks import FillMarks, find_fill_marks

if TYPE_CHECKING:
    import tokenizers

#: Tokens that end an answer in models for chats, besides the tokens that the file names.
_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>", "<|end_of_text|>")
#: Files of a saved tokenizer.
TOKENIZER_FILE, SETTINGS_FILE, _MARKS_FILE = "tokenizer.json", "tokenizer_config.json", "tokens.json"
_SPACE = "\u2581"
#: Character that no tokenizer joins with others.
_APART = "\u263a"
#: Characters from which a text is encoded without the interpreter's lock. Shorter ones take less than a millisecond.
_LONG_TEXT = 1 << 12


@dataclass(frozen=True)
class Marks:
    """Tokens with a meaning, and settings that a tokenizer.json does not have."""

    bos: int | None
    eos: int | None
    #: Tokens that end an answer.
    ends: tuple[int, ...]
    adds_bos: bool
    #: The tokenizer puts a space before the text, which decoding removes.
    adds_space: bool
    #: Token that the tokenizer puts behind a text to embed.
    end: int | None = None
    #: Tokens around a gap that the file names: before the gap, after the gap, and in the gap.
    fill: tuple[int, ...] | None = None


class Tokenizer:
    """Tokenizer of a model."""

    def __init__(self, backend: tokenizers.Tokenizer | None, marks: Marks) -> None:
        """Without a backend, there are tokens and no texts."""
        self._backend = backend
        known = [] if backend is None else [backend.token_to_id(each) for each in _ENDS]
        named = [number for number in (marks.eos, *known) if number is not None]
        self.bos, self.eos, self.adds_bos, self._adds_space = marks.bos, marks.eos, marks.adds_bos, marks.adds_space
        self._end, self._fill = marks.end, marks.fill
        #: Tokens that end an answer.
        self.ends: frozenset[int] = frozenset((*marks.ends, *named))

    def __repr__(self) -> str:
        return f"<Tokenizer of {self.size:,} tokens>" if self.has_texts else "<Tokenizer without texts>"

    @property
    def has_texts(self) -> bool:
        """Return False for a module that was loaded without a tokenizer."""
        return self._backend is not None

    @property
    def backend(self) -> tokenizers.Tokenizer:
        """Return the tokenizer of the package tokenizers."""
        self.check_texts()
        assert self._backend is not None
        return self._backend

    def check_texts(self) -> None:
        """Raise RefusalError for a model without texts."""
        if not self.has_texts:
            raise rx.RefusalError(
                "the model was loaded from a module without a tokenizer, and has no texts: pass tokens, or load the "
                "module with `tokenizer`"
            )

    def prepare(self) -> None:
        """Compute the tables of `token_bytes`, which take tenths of a second. Raise RefusalError without texts."""
        _ = self._is_byte_level, self._byte_of, self._added, self.special

    @property
    def size(self) -> int:
        """Return the number of tokens."""
        return int(self.backend.get_vocab_size())

    def encode(self, text: str, *, add_bos: bool | None = None, is_embedded: bool = False) -> list[int]:
        """Return the tokens of a text. Special tokens such as `<|im_end|>` in the text become one token each.

        - add_bos: put the token of the beginning first; None for the model's own setting.
        - is_embedded: put the token last that the model's tokenizer puts behind texts to embed, if any.
        """
        if len(text) < _LONG_TEXT:
            encoded = self.backend.encode(text, add_special_tokens=False)
        else:  # `encode` keeps the interpreter's lock, which stops a server for seconds per megabyte
            (encoded,) = self.backend.encode_batch_fast([text], add_special_tokens=False)
        ids = list(encoded.ids)
        is_added = self.adds_bos if add_bos is None else add_bos
        if is_added and self.bos is not None and ids[:1] != [self.bos]:
            ids.insert(0, self.bos)
        end = self._end if is_embedded else None
        return ids if end is None or ids[-1:] == [end] else [*ids, end]

    @cached_property
    def fill_marks(self) -> FillMarks | None:
        """Return the tokens around a gap that the model fills in, or None."""
        named = find_fill_marks(self.backend.token_to_id)
        if self._fill is None:
            return named
        before, after, middle = self._fill
        return FillMarks(before, after, middle, () if named is None else named.ends)

    def encode_rest(self, text: str) -> list[int]:
        """Return the tokens of a text behind other text: without the space that the tokenizer puts first."""
        if not self._adds_space:
            return self.encode(text, add_bos=False)
        before = self.encode(_APART, add_bos=False)
        return self.encode(_APART + text, add_bos=False)[len(before) :]

    def decode(self, tokens: Iterable[int], *, skip_special: bool = True) -> str:
        """Return the text of tokens. Bytes that are no UTF-8 become U+FFFD."""
        parts = [b"" if skip_special and token in self.special else self.token_bytes(token) for token in tokens]
        text = b"".join(parts).decode("utf-8", "replace")
        return text[1:] if self._adds_space and text[:1] == " " else text

    def stream(self, *, is_start: bool = False) -> TextStream:
        """Return a decoder that gets one token at a time. is_start: the first token begins a text."""
        return TextStream(self, is_start and self._adds_space)

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token."""
        if (found := self._bytes.get(token)) is None:
            if (text := self.backend.id_to_token(token)) is None:
                raise rx.OptionError(f"the token {token} is not in the vocabulary of {self.size:,} tokens")
            found = self._bytes[token] = text.encode() if token in self._added else self._piece_bytes(text)
        return found

    def all_bytes(self, count: int) -> list[bytes]:
        """Return the bytes of the first `count` tokens. Special tokens, and numbers without a token, have none."""
        return [
            b"" if index in self.special or self.backend.id_to_token(index) is None else self.token_bytes(index)
            for index in range(count)
        ]

    @cached_property
    def special(self) -> frozenset[int]:
        """Return the tokens that are no text, such as marks of the roles in a chat."""
        added = self.backend.get_added_tokens_decoder()
        return frozenset(token for token, value in added.items() if value.special)

    @cached_property
    def _added(self) -> frozenset[int]:
        return frozenset(self.backend.get_added_tokens_decoder())

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        return {}

    @cached_property
    def _is_byte_level(self) -> bool:
        """Check whether each character of a token encodes a byte, as in GPT-2. Else tokens have U+2581 for spaces."""
        return '"ByteLevel"' in json.dumps(json.loads(self.backend.to_str()).get("decoder"))

    @cached_property
    def _byte_of(self) -> dict[str, int]:
        """Return the byte that each character of a byte-level token encodes."""
        plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        found = {chr(each): each for each in plain}
        rest = [index for index in range(256) if index not in set(plain)]
        return {**found, **{chr(256 + number): each for number, each in enumerate(rest)}}

    def _piece_bytes(self, piece: str) -> bytes:
        if self._is_byte_level:
            table = self._byte_of
            return bytes(table[each] for each in piece) if all(each in table for each in piece) else piece.encode()
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes([int(piece[3:5], 16)])
        return piece.replace(_SPACE, " ").encode()

    def save(self, folder: Path) -> None:
        """Write the tokenizer to two files in a folder."""
        if self.has_texts:
            (folder / TOKENIZER_FILE).write_text(self.backend.to_str(), encoding="utf-8")
        ends = tuple(sorted(self.ends))
        marks = Marks(self.bos, self.eos, ends, self.adds_bos, self._adds_space, self._end, self._fill)
        (folder / _MARKS_FILE).write_text(json.dumps(asdict(marks)), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Read a saved tokenizer."""
        try:
            values = json.loads((folder / _MARKS_FILE).read_text(encoding="utf-8"))
            marks = Marks(**{**values, "ends": tuple(values["ends"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise rx.ArtifactError(f"{folder / _MARKS_FILE} is damaged: {error}; save the model again") from None
        file = folder / TOKENIZER_FILE
        return cls(read_backend(file) if file.exists() else None, marks)


class TextStream:
    """Decoder of tokens to text, one at a time. A character appears with its last byte."""

    def __init__(self, tokenizer: Tokenizer, strips_space: bool) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._strips_space = strips_space

    def add(self, token: int) -> str:
        """Return the text that a token completes. It may be empty."""
        if not self._tokenizer.has_texts or token in self._tokenizer.special:
            return ""
        text = self._decoder.decode(self._tokenizer.token_bytes(token))
        if self._strips_space and text:
            self._strips_space = False
            return text[1:] if text[0] == " " else text
        return text

    def end(self) -> str:
        """Return U+FFFD for bytes of an incomplete character."""
        return self._decoder.decode(b"", True)


def read_backend(path: Path) -> tokenizers.Tokenizer:
    """Return the tokenizer in a tokenizer.json."""
    import tokenizers

    if not path.exists():
        raise rx.ModelError(f"{path.parent} has no {path.name}: copy it from the model's origin")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises plain exceptions
        raise rx.ModelError(f"{path} is no tokenizer that the package tokenizers reads: {error}") from None


def folder_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, object]]:
    """Return the tokenizer in a folder of Hugging Face, and tokenizer_config.json."""
    backend = read_backend(folder / TOKENIZER_FILE)
    settings = _json_or_empty(folder / SETTINGS_FILE)
    generation = _json_or_empty(folder / "generation_config.json")
    ends = generation.get("eos_token_id", [])
    ends = ends if isinstance(ends, list) else [ends]
    # The first token of BERT's texts has another name.
    first = settings.get("bos_token") or settings.get("cls_token")
    bos, eos = _token_of(backend, first), _token_of(backend, settings.get("eos_token"))
    if not isinstance(adds_bos := settings.get("add_bos_token"), bool):
        # Newer files have a post-processor instead.
        adds_bos = bos is not None and backend.encode("a").ids[:1] == [bos]
    answer_ends = tuple(each for each in ends if isinstance(each, int))
    end = eos if settings.get("add_eos_token") is True else _end_of(backend)
    return Tokenizer(backend, Marks(bos, eos, answer_ends, adds_bos, _puts_space(backend), end)), settings


def _end_of(backend: tokenizers.Tokenizer) -> int | None:
    """Return the token that a tokenizer puts behind a text, or None."""
    plain, whole = (backend.encode("a", add_special_tokens=each).ids for each in (False, True))
    return whole[-1] if whole[-1:] != plain[-1:] else None


def _puts_space(backend: tokenizers.Tokenizer) -> bool:
    """Check whether the decoder removes a space at the beginning, which the tokenizer has put there."""
    decoder = json.dumps(json.loads(backend.to_str()).get("decoder"))
    return '"Strip"' in decoder or '"Metaspace"' in decoder


def _json_or_empty(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise rx.ModelError(f"{path} cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}


def _token_of(backend: tokenizers.Tokenizer, named: object) -> int | None:
    text = named.get("content") if isinstance(named, dict) else named
    token: int | None = backend.token_to_id(text) if isinstance(text, str) else None
    return token


def texts_of(tokenizer: Tokenizer, tokens: Sequence[int | None]) -> list[str]:
    """Return the text of single tokens, "" for None."""
    return ["" if token is None else tokenizer.token_bytes(token).decode("utf-8", "replace") for token in tokens]
