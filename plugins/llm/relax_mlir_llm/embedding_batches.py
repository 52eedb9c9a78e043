# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Embeddings of texts in batches: short texts share a call of the model, long texts need several calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy

from .pooling import Pooling
from .sequences import SequencePart, build_step

if TYPE_CHECKING:
    from numpy import ndarray

    from .paged_engine import PagedEngine


@dataclass(eq=False)
class EmbeddedText:
    """Text with the embedding that is computed for it."""

    tokens: Sequence[int]
    pooling: Pooling
    #: Tokens with keys and values.
    computed: int = 0
    pages: list[int] = field(default_factory=list)
    #: f64 [width]: the sum of the hidden states so far, or the last hidden state. None before the first result.
    total: ndarray | None = None

    @property
    def is_finished(self) -> bool:
        """Return True if all tokens are computed."""
        return self.computed == len(self.tokens)

    @property
    def pooled(self) -> ndarray:
        """Return the pooled hidden states, f64 [width]."""
        assert self.total is not None and self.is_finished
        return self.total / len(self.tokens) if self.pooling == "mean" else self.total

    def add(self, states: ndarray) -> None:
        """Add the hidden states f32 [tokens, width] of the next tokens, of which `last` needs the final one only."""
        if not len(states):
            return
        if self.pooling != "mean":
            self.total = states[-1 if self.pooling == "last" else 0].astype(numpy.float64)
            return
        # One after the other: the sum does not depend on the division of a text among calls.
        for row in states:
            self.total = row.astype(numpy.float64) if self.total is None else self.total + row


class _TextPart(NamedTuple):
    """Part of a call: the next tokens of a text."""

    text: EmbeddedText
    length: int

    @property
    def wanted(self) -> int:
        """Return the number of hidden states that the pooling needs, at the end of the part."""
        if self.text.pooling != "last":
            return self.length
        return int(self.text.computed + self.length == len(self.text.tokens))

    def of_call(self) -> SequencePart:
        """Return the part as an argument of `build_step`."""
        start = self.text.computed
        return SequencePart(list(self.text.tokens[start : start + self.length]), start, self.text.pages, self.wanted)


class EmbeddingBatches:
    """Queue of texts on an engine of hidden states. Each step computes the tokens at its front.

    All calls come from one thread at a time. Texts leave the queue in the order of their arrival.
    """

    def __init__(self, engine: PagedEngine, *, most_tokens: int = 256, is_encoder: bool = False) -> None:
        """`most_tokens` is the number of tokens that one call computes at most.

        An encoder computes a text in one call, also a longer one: each token sees all others.
        """
        self._is_encoder = is_encoder
        self._engine = engine
        self._most_tokens = most_tokens
        self._texts: deque[EmbeddedText] = deque()
        self._free = list(range(engine.page_count))

    @property
    def is_idle(self) -> bool:
        """Return True if there is nothing to do for `step`."""
        return not self._texts

    def add(self, text: EmbeddedText) -> None:
        """Queue a text with at least one token."""
        assert text.tokens
        self._texts.append(text)

    def remove(self, texts: Collection[EmbeddedText]) -> None:
        """Remove texts, finished or not, and give back their pages."""
        gone = set(texts)
        self._texts = deque(each for each in self._texts if each not in gone)
        for text in texts:
            self._release(text)

    def _release(self, text: EmbeddedText) -> None:
        self._free += text.pages
        text.pages = []

    def next_texts(self) -> list[EmbeddedText]:
        """Return the texts with tokens in the next step."""
        return [part.text for part in self._parts()]

    def step(self) -> list[EmbeddedText]:
        """Compute the next tokens. Return the texts that are finished. After an error, the queue is unchanged."""
        if not (parts := self._parts()):
            return []
        for part in parts:
            self._reserve(part)
        states = self._engine.step(build_step((each.of_call() for each in parts), self._engine.page_size))
        start = 0
        for part in parts:
            part.text.add(states[start : start + part.wanted])
            start += part.wanted
            part.text.computed += part.length
        finished = [part.text for part in parts if part.text.is_finished]
        for text in finished:  # these are at the front
            self._texts.popleft()
            self._release(text)
        return finished

    def _parts(self) -> list[_TextPart]:
        """Return the parts of the next call. Only the last one may be less than the rest of a text."""
        parts: list[_TextPart] = []
        room = self._most_tokens
        for text in self._texts:
            if room <= 0 or (self._is_encoder and parts and len(text.tokens) > room):
                break
            if self._is_encoder:
                room = max(room, len(text.tokens))
            parts.append(_TextPart(text, min(len(text.tokens) - text.computed, room)))
            room -= parts[-1].length
        return parts

    def _reserve(self, part: _TextPart) -> None:
        """Give a text pages for the tokens of a part. The engine grows as needed, twofold at least."""
        text, engine = part.text, self._engine
        missing = -(-(text.computed + part.length) // engine.page_size) - len(text.pages)
        if missing > len(self._free):
            before = engine.page_count
            engine.grow(max(2 * before, before + missing - len(self._free)))
            self._free += range(before, engine.page_count)
        text.pages += [self._free.pop() for _ in range(missing)]
