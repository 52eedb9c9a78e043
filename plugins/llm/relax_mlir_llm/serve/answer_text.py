# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of an answer that grows token by token, up to a stop text."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..requests import Token
from ..stop_texts import StopTexts


class TokenBytes(Protocol):
    """Part of a tokenizer that an answer's text needs."""

    @property
    def special(self) -> frozenset[int]:
        """Return the tokens that are no text."""

    def token_bytes(self, token: int) -> bytes:
        """Return the bytes of a token."""


class TextPiece(NamedTuple):
    """Next part of an answer: text, and the tokens that begin in the text, with their places in the whole text."""

    text: str
    tokens: tuple[tuple[int, Token], ...]


class AnswerText:
    """Text of one answer. A character appears with its last byte, and a token with its first character."""

    def __init__(
        self, tokenizer: TokenBytes, stops: Sequence[str], *, keep_special: bool = False, start: int = 0
    ) -> None:
        """`start` is the number of characters before the answer, for the places of its tokens."""
        self._tokenizer = tokenizer
        self._stops = StopTexts(stops)
        self._keep_special = keep_special
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        #: Characters that are decoded, and characters that were returned.
        self._decoded = self._returned = start
        self._pending: deque[tuple[int, Token]] = deque()

    @property
    def is_stopped(self) -> bool:
        """Return True if a stop text has ended the answer."""
        return self._stops.is_stopped

    def add(self, tokens: Sequence[Token]) -> TextPiece:
        """Return the text that tokens complete. Tokens after a stop text are dropped."""
        text = ""
        for token in tokens:
            if self.is_stopped:
                break
            self._pending.append((self._decoded, token))
            new = self._decode(token.token)
            self._decoded += len(new)
            text += self._stops.add(new)
        return self._piece(text)

    def end(self) -> TextPiece:
        """Return the rest of the text at the end of the answer."""
        rest = self._stops.add(self._decoder.decode(b"", True))
        rest += "" if self.is_stopped else self._stops.end()
        piece = self._piece(rest)
        if self.is_stopped:
            return piece
        tokens = (*piece.tokens, *self._pending)
        self._pending.clear()
        return TextPiece(piece.text, tokens)

    def _decode(self, token: int) -> str:
        if not self._keep_special and token in self._tokenizer.special:
            return ""
        return self._decoder.decode(self._tokenizer.token_bytes(token))

    def _piece(self, text: str) -> TextPiece:
        self._returned += len(text)
        tokens = []
        while self._pending and self._pending[0][0] < self._returned:
            tokens.append(self._pending.popleft())
        return TextPiece(text, tuple(tokens))


def scored_prompt(tokenizer: TokenBytes, tokens: Sequence[Token], echo: str) -> list[tuple[int, Token]]:
    """Return the tokens of a prompt with their places in its text."""
    text = AnswerText(tokenizer, ())
    first, last = text.add(tokens), text.end()
    # The text of a prompt is without the space that a tokenizer has put in front.
    space = len(first.text) + len(last.text) - len(echo)
    return [(max(place - space, 0), token) for place, token in (*first.tokens, *last.tokens)]
