# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of running sequences, and the arrays of a call of an engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .engine import Step
from .requests import Token
from .sampling import Sampler, check_logit, with_logprobs

if TYPE_CHECKING:
    from numpy import ndarray

    from .radix import CachedPage
    from .requests import Request


class SequenceState:
    """Request with its tokens so far, and the pages of their keys and values."""

    def __init__(self, request: Request, arrival: int, limit: int) -> None:
        self.request = request
        #: Number of requests before this one.
        self.arrival = arrival
        #: Most tokens of prompt and answer.
        self.limit = limit
        self.sampler = Sampler(request.parameters, request.prompt)
        #: Prompt and answer so far.
        self.tokens = list(request.prompt)
        #: Number of leading tokens with keys and values in the pages. Slots after these may have anything.
        self.computed = 0
        #: Pages in the order of positions. Pages behind a sliding window are given back and are -1 here.
        self.pages: list[int] = []
        #: Node of the last page in the prefix cache, and number of pages up to it.
        self.node: CachedPage | None = None
        self.cached_pages = 0
        #: Tokens of the prompt that the prefix cache had.
        self.reused = 0
        #: Most tokens of the next draft. Accepted drafts raise it, rejected drafts lower it.
        self.draft_length = 0
        #: Tokens of the prompt with log-probabilities so far, if the request wants these.
        self.scored = [] if request.parameters.prompt_logprobs is None else [Token(request.prompt[0])]

    @property
    def is_scoring(self) -> bool:
        """Return True while tokens of the prompt need logits for their log-probabilities."""
        return 0 < len(self.scored) < len(self.request.prompt)

    @property
    def reusable(self) -> int:
        """Number of leading tokens without wanted logits, which may come from pages of other sequences."""
        return (len(self.scored) if self.is_scoring else len(self.tokens)) - 1

    def score(self, rows: ndarray) -> None:
        """Add log-probabilities of the prompt from the logits behind the tokens after the computed ones."""
        end = min(self.computed + len(rows), len(self.request.prompt) - 1)
        for position in range(len(self.scored) - 1, end):
            row = rows[position - self.computed]
            check_logit(row.max())
            token = self.request.prompt[position + 1]
            self.scored.append(with_logprobs(token, row, self.request.parameters.prompt_logprobs))

    @property
    def pending(self) -> int:
        """Number of tokens without keys and values: 1 while decoding, more while the prompt is computed."""
        return len(self.tokens) - self.computed

    @property
    def answer_length(self) -> int:
        """Number of tokens of the answer so far."""
        return len(self.tokens) - len(self.request.prompt)


class SequencePart(NamedTuple):
    """Tokens of one sequence in a call of an engine."""

    tokens: list[int]
    #: Position of the first token.
    position: int
    #: Pages of the whole sequence, for positions from 0.
    pages: list[int]
    #: Number of last tokens with wanted logits.
    results: int
    #: Number of the sequence's adapter, or 0 for none.
    adapter: int = 0


def build_step(parts: Iterable[SequencePart], page_size: int) -> Step:
    """Return the arrays of a call that computes parts of sequences."""
    parts = list(parts)
    counts = [len(part.tokens) for part in parts]
    ends = np.cumsum(counts)
    sequences = np.repeat(np.arange(len(parts), dtype=np.int32), counts)
    positions = np.concatenate([np.arange(part.position, part.position + len(part.tokens)) for part in parts])
    table = np.zeros((len(parts), max(len(part.pages) for part in parts)), np.int32)
    for row, part in zip(table, parts, strict=True):
        row[: len(part.pages)] = part.pages
    slots = table[sequences, positions // page_size] * page_size + positions % page_size
    selected = [np.arange(end - part.results, end) for part, end in zip(parts, ends.tolist(), strict=True)]
    return Step(
        np.array([token for part in parts for token in part.tokens], np.int32),
        positions.astype(np.int32),
        sequences,
        slots.astype(np.int32),
        np.maximum(table, 0),
        np.concatenate(selected).astype(np.int32),
        np.array([part.adapter for part in parts], np.int32),
    )
