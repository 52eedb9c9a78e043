# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One growing sequence on an engine of its own, for callers that answer one prompt after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from .sequences import SequencePart, build_step

if TYPE_CHECKING:
    from numpy import ndarray

    from .engine import Step
    from .paged_engine import PagedEngine
    from .ranks import RankedEngine

#: Tokens of a prompt that one call computes at most, which bounds the memory for intermediate values.
_CHUNK = 256


class OneSequence:
    """Sequence with the keys and values of its tokens. Prompts that begin with the same tokens use them again."""

    def __init__(self, engine: PagedEngine | RankedEngine) -> None:
        self._engine = engine
        self._tokens: list[int] = []
        self._adapter = 0
        self._lock = threading.Lock()

    def last_logits(self, tokens: Sequence[int], adapter: int = 0) -> ndarray:
        """Return the logits [vocabulary] behind the last token, with the adapter of a number."""
        with self._lock:
            # Another adapter computes other keys and values.
            start = min(_common(self._tokens, tokens), len(tokens) - 1) if adapter == self._adapter else 0
            return self._advance(tokens, start, adapter, wants_all=False)[-1]

    def all_logits(self, tokens: Sequence[int], adapter: int = 0) -> ndarray:
        """Return the logits [tokens, vocabulary] behind each token, with the adapter of a number."""
        with self._lock:
            return self._advance(tokens, 0, adapter, wants_all=True)

    def _advance(self, tokens: Sequence[int], start: int, adapter: int, wants_all: bool) -> ndarray:
        """Compute tokens from `start`, with those before it already in pages."""
        self._reserve(len(tokens))
        found, self._adapter = [], adapter
        del self._tokens[start:]
        for first in range(start, len(tokens), _CHUNK):
            chunk = tokens[first : first + _CHUNK]
            wanted = len(chunk) if wants_all else int(first + len(chunk) == len(tokens))
            result = self._engine.step(self._step(chunk, first, wanted))
            self._tokens += chunk
            if wanted:
                found.append(result)
        return found[0] if len(found) == 1 else numpy.concatenate(found)

    def _step(self, chunk: Sequence[int], first: int, wanted: int) -> Step:
        size = self._engine.page_size
        pages = list(range(-(-(first + len(chunk)) // size)))
        return build_step([SequencePart(list(chunk), first, pages, wanted, self._adapter)], size)

    def _reserve(self, length: int) -> None:
        """Make room for tokens. The room doubles, so that tokens are rarely copied."""
        engine = self._engine
        if (pages := -(-length // engine.page_size)) > engine.page_count:
            most = -(-engine.context // engine.page_size)
            engine.grow(min(max(pages, 2 * engine.page_count), most))


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of tokens that two sequences begin with in common."""
    if first == second[: len(first)]:
        return len(first)
    return next(number for number, (a, b) in enumerate(zip(first, [*second, -1], strict=False)) if a != b)
