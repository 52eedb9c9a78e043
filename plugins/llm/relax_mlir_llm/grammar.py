# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars of answers, by llguidance: JSON schemas, regular expressions, and grammars in Lark or GBNF."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import llguidance
import numpy as np
from relax_mlir import RelaxError

from .gbnf import lark_of

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions
    from numpy import ndarray
    from tokenizers import Tokenizer

_GBNF = "GBNF grammar"
#: JSON as Python's json.dumps writes it. Free white space could be repeated for ever, and forces fewer tokens.
_JSON_STYLE: JsonCompileOptions = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_SOURCE_LINE = re.compile(r"\d+ \|")
#: Characters with a meaning in regular expressions.
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~/-]")
#: Compiled grammars to keep, and characters of their sources. A compiled grammar needs at most about 25 MB.
_MOST_COMPILED, _MOST_CHARACTERS = 32, 1 << 20
#: Bytes of the source of a grammar, unless the compiler is told others.
_MOST_BYTES = 1 << 18
#: Limits of llguidance, with which no grammar of 256 KiB takes more than about a second, and no token 0.2 seconds.
#: The library's own limits allow 3 seconds in each step, and only 2,000 alternatives.
_LIMITS = llguidance.LLParserLimits(
    initial_lexer_fuel=300_000,
    step_lexer_fuel=50_000,
    max_grammar_size=20_000,
    max_items_in_row=20_000,
    step_max_items=100_000,
    max_lexer_states=50_000,
)
#: Beginnings of errors of llguidance, and sentences for users.
_SENTENCES = {
    "NoExtension": "no text matches the grammar",
    "lexer error": "the grammar is too large: its expressions repeat or combine too much",
    "panic": "the grammar is too large",
}


class Grammar:
    """Grammar of one answer, at a place in the answer. Implements TokenMask and ForcedTokens."""

    def __init__(self, matcher: llguidance.LLMatcher, words: int) -> None:
        self._matcher = matcher
        self._words = words

    @property
    def is_finished(self) -> bool:
        return self._matcher.is_stopped()

    @property
    def is_failed(self) -> bool:
        """Return True if the grammar has exceeded a limit, or has refused a token."""
        return self._matcher.is_error()

    @property
    def is_accepting(self) -> bool:
        """Return True if the answer may end here."""
        return self._matcher.is_accepting()

    def fill(self, bitmask: ndarray) -> None:
        if bitmask.dtype != np.int32 or bitmask.shape != (self._words,) or not bitmask.flags.c_contiguous:
            raise RelaxError(
                f"the bit mask has type {bitmask.dtype} and shape {bitmask.shape}, expected contiguous int32 of shape "
                f"({self._words},) for the vocabulary of the grammar. Compile the grammar for the engine's vocabulary"
            )
        self._matcher.unsafe_compute_mask_ptr(bitmask.ctypes.data, bitmask.nbytes)
        self.check()

    def accept(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            self.check()
            raise RelaxError(f"the grammar has no place for token {token}")

    def forced(self) -> list[int]:
        return self._matcher.compute_ff_tokens()

    def copy(self) -> Grammar:
        """Return an independent copy at the same place."""
        return Grammar(self._matcher.deep_copy(), self._words)

    def check(self) -> None:
        """Raise RelaxError if the grammar is invalid, or has exceeded a limit."""
        if self._matcher.is_error():
            raise RelaxError(f"grammar: {_sentence(self._matcher.get_error())}")


class GrammarCompiler:
    """Compiler of grammars for a tokenizer. The last compiled grammars are kept."""

    def __init__(
        self, tokenizer: Tokenizer, vocabulary: int, end_tokens: Sequence[int], most_bytes: int = _MOST_BYTES
    ) -> None:
        """`vocabulary` counts the engine's logits, which may be more than the tokenizer's tokens.

        `most_bytes` limits the source of a grammar.
        """
        if vocabulary < tokenizer.get_vocab_size():
            least = tokenizer.get_vocab_size()
            raise RelaxError(f"the engine has {vocabulary} tokens, expected at least {least}, as the tokenizer has")
        if not end_tokens:
            raise RelaxError("a grammar needs at least one end token: an answer may end before its limit")
        try:
            self._tokenizer = llguidance.LLTokenizer(tokenizer.to_str(), vocabulary, list(end_tokens))
        except ValueError as error:
            raise RelaxError(f"llguidance cannot read the tokenizer: {_sentence(str(error))}") from None
        self._words = -(-vocabulary // 32)
        self._most_bytes = most_bytes
        self._compiled: OrderedDict[str, Grammar] = OrderedDict()

    def json_schema(self, schema: str | Mapping[str, object] | bool) -> Grammar:
        """Return a grammar of the JSON texts that a schema accepts."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self._check_size("JSON schema", text)
        try:
            grammar = llguidance.LLMatcher.grammar_from_json_schema(text, defaults=_JSON_STYLE)
        except ValueError as error:
            raise RelaxError(f"JSON schema: {_sentence(str(error))}") from None
        return self._grammar("JSON schema", grammar)

    def json_object(self) -> Grammar:
        """Return a grammar of all JSON objects."""
        return self.json_schema({"type": "object"})

    def regex(self, pattern: str) -> Grammar:
        """Return a grammar of the texts that match a regular expression from begin to end."""
        self._check_size("regular expression", pattern)
        return self._grammar("regular expression", llguidance.LLMatcher.grammar_from_regex(pattern))

    def lark(self, text: str) -> Grammar:
        """Return a grammar written in llguidance's dialect of Lark. Its rule `start` is the whole answer."""
        self._check_size("Lark grammar", text)
        return self._grammar("Lark grammar", llguidance.LLMatcher.grammar_from_lark(text))

    def gbnf(self, text: str) -> Grammar:
        """Return a grammar written in GBNF, as of llama.cpp. Its rule `root` is the whole answer."""
        self._check_size(_GBNF, text)
        try:
            found = lark_of(text)
        except RelaxError as error:
            raise RelaxError(f"{_GBNF}: {error.message}") from None
        return self._grammar(_GBNF, llguidance.LLMatcher.grammar_from_lark(found))

    def choice(self, texts: Sequence[str]) -> Grammar:
        """Return a grammar of some texts."""
        # One expression for all texts: as alternatives of a rule, 20,000 texts would exceed the limits.
        return self.regex("|".join(_SPECIAL.sub(r"\\\g<0>", text) for text in texts))

    def _check_size(self, kind: str, text: str) -> None:
        if (size := len(text.encode("utf-8", "surrogatepass"))) > self._most_bytes:
            raise RelaxError(f"{kind}: it has {size:,} bytes, expected at most {self._most_bytes:,}")

    def _grammar(self, kind: str, text: str) -> Grammar:
        """Return a new grammar at its begin. Raise RelaxError with the text of llguidance if the grammar is invalid."""
        if (found := self._compiled.pop(text, None)) is None:
            found = self._new(kind, text)
        self._compiled[text] = found
        while len(self._compiled) > _MOST_COMPILED or sum(map(len, self._compiled)) > _MOST_CHARACTERS:
            self._compiled.popitem(last=False)
        return found.copy()

    def _new(self, kind: str, text: str) -> Grammar:
        """Return a compiled grammar. Two steps show errors that the source does not, such as a rule of itself."""
        matcher = llguidance.LLMatcher(self._tokenizer, text, log_level=0, limits=_LIMITS)
        grammar = Grammar(matcher, self._words)
        mask = np.empty(self._words, np.int32)
        try:
            grammar.check()
            grammar.fill(mask)
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            if not allowed.size:
                raise RelaxError(f"grammar: {_SENTENCES['NoExtension']}")
            second = grammar.copy()
            second.accept(int(allowed[0]))
            if not second.is_finished:
                second.fill(mask)
        except RelaxError as error:
            raise RelaxError(f"{kind}: {error.message.removeprefix('grammar: ')}") from None
        return grammar


def _sentence(text: str) -> str:
    """Return an error of llguidance as one line, without the quoted source and the state of the parser."""
    known = next((sentence for begin, sentence in _SENTENCES.items() if text.startswith(begin)), None)
    if known is not None:
        return known
    lines = (line.strip() for line in text.partition("<state>")[0].splitlines())
    return " ".join(line for line in lines if line.strip("^ ") and not _SOURCE_LINE.match(line))
