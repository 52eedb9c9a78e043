# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drafts for speculation: tokens that a cheap method expects next, and that one call of the model verifies."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from relax_mlir import RelaxError

from .engine import Engine
from .page_pool import PagePool
from .sequences import SequencePart, SequenceState, build_step


class Proposer(Protocol):
    """Source of drafts. Drafts never change an answer: a bad draft only costs time."""

    def propose(self, wanted: Mapping[SequenceState, int]) -> dict[SequenceState, list[int]]:
        """Return drafts of sequences, each with at most the wanted number of tokens."""

    def forget(self, sequence: SequenceState) -> None:
        """Drop the data of a sequence that ended or lost its pages."""


class NgramProposer:
    """Prompt lookup: a draft repeats the tokens after an earlier place with the same last tokens."""

    #: Numbers of equal last tokens to look for, the best first.
    lengths = (4, 3, 2)

    def __init__(self) -> None:
        self._indices: dict[SequenceState, _NgramIndex] = {}

    def propose(self, wanted: Mapping[SequenceState, int]) -> dict[SequenceState, list[int]]:
        found = {}
        for sequence, count in wanted.items():
            index = self._indices.setdefault(sequence, _NgramIndex(self.lengths))
            if (place := index.find(sequence.tokens)) is not None:
                found[sequence] = _repeat(sequence.tokens, place, count)
        return found

    def forget(self, sequence: SequenceState) -> None:
        self._indices.pop(sequence, None)


class _NgramIndex:
    """Latest places after each n-gram of a sequence."""

    def __init__(self, lengths: tuple[int, ...]) -> None:
        self._lengths = lengths
        self._places: dict[tuple[int, ...], int] = {}
        self._indexed = 0

    def find(self, tokens: list[int]) -> int | None:
        """Return the latest earlier place after the same tokens as the last tokens, or None."""
        for end in range(self._indexed + 1, len(tokens)):
            for length in self._lengths:
                if length <= end:
                    self._places[tuple(tokens[end - length : end])] = end
        self._indexed = max(self._indexed, len(tokens) - 1)
        found = (self._places.get(tuple(tokens[-length:])) for length in self._lengths)
        return next((place for place in found if place is not None), None)


def _repeat(tokens: list[int], place: int, count: int) -> list[int]:
    """Return the tokens from a place on. After the end of the tokens, the result continues with itself."""
    period = len(tokens) - place
    draft = tokens[place : place + count]
    while len(draft) < count:
        draft.append(draft[len(draft) - period])
    return draft


class _DraftState:
    """Tokens of a sequence that the draft model has computed, and their pages."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        #: Number of leading tokens that are not a draft.
        self.final = 0
        self.pages: list[int] = []


class DraftModel:
    """Drafts of a smaller model with the same vocabulary. The drafts use the noise of the request's own samples."""

    def __init__(self, engine: Engine, vocabulary: int, most_tokens: int) -> None:
        if engine.vocabulary != vocabulary:
            raise RelaxError(
                f"the draft model has a vocabulary of {engine.vocabulary} tokens, expected {vocabulary}, as the model "
                "has. Use a draft model with the same tokenizer"
            )
        self._engine = engine
        self._pages = PagePool(engine.page_count)
        self._most_tokens = most_tokens
        self._states: dict[SequenceState, _DraftState] = {}

    def propose(self, wanted: Mapping[SequenceState, int]) -> dict[SequenceState, list[int]]:
        budget, parts = self._most_tokens, {}
        for sequence, count in wanted.items():
            if (part := self._part(sequence, sequence.tokens, count, budget)) is not None:
                parts[sequence] = part
                budget -= len(part.tokens)
        drafts: dict[SequenceState, list[int]] = {}
        while parts:
            unfinished = [each for each in self._extend(parts, drafts) if len(drafts[each]) < wanted[each]]
            parts = {each: self._next_part(each, drafts[each]) for each in unfinished}
        return drafts

    def forget(self, sequence: SequenceState) -> None:
        state = self._states.pop(sequence, None)
        for page in reversed(state.pages if state else ()):
            self._pages.release(page)

    def _part(self, sequence: SequenceState, tokens: list[int], count: int, budget: int) -> SequencePart | None:
        """Return the tokens that the draft model has not seen. Rejected drafts are computed again, at their slots."""
        state = self._states.setdefault(sequence, _DraftState())
        known = state.final
        while known < min(len(state.tokens), len(tokens)) and state.tokens[known] == tokens[known]:
            known += 1
        # The last token is computed each time: its logits give the first token of the draft.
        known = min(known, len(tokens) - 1)
        end = min(len(tokens), known + budget)
        if end <= known or not self._reserve(sequence, state, len(tokens) + count):
            return None
        state.tokens, state.final = tokens[:end], end
        return SequencePart(tokens[known:end], known, state.pages, int(end == len(tokens)))

    def _next_part(self, sequence: SequenceState, draft: list[int]) -> SequencePart:
        state = self._states[sequence]
        state.tokens.append(draft[-1])
        return SequencePart(draft[-1:], len(state.tokens) - 1, state.pages, 1)

    def _reserve(self, sequence: SequenceState, state: _DraftState, end: int) -> bool:
        """Allocate pages up to a position. Without enough pages the sequence has no draft this time."""
        if end > self._engine.context:
            return False
        while len(state.pages) * self._engine.page_size < end:
            if (page := self._pages.allocate()) is None:
                self.forget(sequence)
                return False
            state.pages.append(page)
        return True

    def _extend(
        self, parts: Mapping[SequenceState, SequencePart], drafts: dict[SequenceState, list[int]]
    ) -> list[SequenceState]:
        """Compute parts, and add tokens to the drafts. Return the sequences with a new token."""
        logits = iter(self._engine.step(build_step(parts.values(), self._engine.page_size)))
        extended = []
        for sequence in (sequence for sequence, part in parts.items() if part.results):
            row, draft = next(logits), drafts.setdefault(sequence, [])
            # Logits of the draft model that allow no choice only end the draft.
            with suppress(RelaxError):
                draft.append(sequence.sampler.choose(row, len(sequence.tokens) + len(draft)))
                extended.append(sequence)
        return extended
