# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grammars of answers, by llguidance: JSON schemas, regular expressions and Lark grammars."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import llguidance
import numpy as np
from relax_mlir import RelaxError

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions
    from numpy import ndarray
    from tokenizers import Tokenizer

#: JSON as Python's json.dumps writes it. Free white space could be repeated for ever, and forces fewer tokens.
_JSON_STYLE: JsonCompileOptions = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_SOURCE_LINE = re.compile(r"\d+ \|")
#: Compiled grammars to keep.
_MOST_COMPILED = 64


class Grammar:
    """Grammar of one answer, at a place in the answer. Implements TokenMask and ForcedTokens."""

    def __init__(self, matcher: llguidance.LLMatcher, words: int) -> None:
        self._matcher = matcher
        self._words = words

    @property
    def is_finished(self) -> bool:
        return self._matcher.is_stopped()

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
        self._check()

    def accept(self, token: int) -> None:
        if not self._matcher.consume_token(token):
            self._check()
            raise RelaxError(f"the grammar has no place for token {token}")

    def forced(self) -> list[int]:
        return self._matcher.compute_ff_tokens()

    def copy(self) -> Grammar:
        """Return an independent copy at the same place."""
        return Grammar(self._matcher.deep_copy(), self._words)

    def _check(self) -> None:
        if self._matcher.is_error():
            raise RelaxError(f"grammar: {_sentence(self._matcher.get_error())}")


class GrammarCompiler:
    """Compiler of grammars for a tokenizer. The last compiled grammars are kept."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: int, end_tokens: Sequence[int]) -> None:
        """`vocabulary` counts the engine's logits, which may be more than the tokenizer's tokens."""
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
        self._compiled: OrderedDict[str, Grammar] = OrderedDict()

    def json_schema(self, schema: str | Mapping[str, object] | bool) -> Grammar:
        """Return a grammar of the JSON texts that a schema accepts."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
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
        return self._grammar("regular expression", llguidance.LLMatcher.grammar_from_regex(pattern))

    def lark(self, text: str) -> Grammar:
        """Return a grammar written in llguidance's dialect of Lark. Its rule `start` is the whole answer."""
        return self._grammar("Lark grammar", llguidance.LLMatcher.grammar_from_lark(text))

    def _grammar(self, kind: str, text: str) -> Grammar:
        """Return a new grammar at its begin. Raise RelaxError with the text of llguidance if the grammar is invalid."""
        found = self._compiled.pop(text, None)
        if found is None:
            matcher = llguidance.LLMatcher(self._tokenizer, text, log_level=0)
            if matcher.is_error():
                raise RelaxError(f"{kind}: {_sentence(matcher.get_error())}")
            found = Grammar(matcher, self._words)
        self._compiled[text] = found
        if len(self._compiled) > _MOST_COMPILED:
            self._compiled.popitem(last=False)
        return found.copy()


def _sentence(text: str) -> str:
    """Return an error of llguidance as one line, without the quoted source and the state of the parser."""
    lines = (line.strip() for line in text.partition("<state>")[0].splitlines())
    return " ".join(line for line in lines if line.strip("^ ") and not _SOURCE_LINE.match(line))
