# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policy that decides what each call of a model computes. Subclasses replace parts of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from relax_mlir import RelaxError

from .engine import Engine
from .memory import PageTables
from .proposals import DraftModel, NgramProposer, Proposer
from .requests import FinishReason, ForcedTokens, Output, Request, Statistics, Token
from .sampling import with_logprobs
from .sequences import SequencePart, SequenceState, build_step

if TYPE_CHECKING:
    from numpy import ndarray


@dataclass(eq=False)
class Work:
    """Part of a step: the next tokens of a sequence without keys and values, and tokens of a draft after these."""

    sequence: SequenceState
    count: int
    draft: list[int] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Return True if the next token of the answer can be chosen after these tokens."""
        return self.count >= self.sequence.pending

    @property
    def results(self) -> int:
        """Number of rows of logits. The first part of a prompt needs none, except for its log-probabilities."""
        if self.sequence.is_scoring:
            return self.count + len(self.draft)
        return 1 + len(self.draft) if self.is_complete else 0


class Scheduler:
    """Continuous batching of requests over the pages of an engine.

    `add` and `cancel` may be called by other threads than `step`. Subclasses may override `select_waiting`, `choose`,
    `victim` and `propose`. An answer depends only on its request and the engine, not on these choices.
    """

    #: Most tokens of a draft. Tokens that a grammar forces are not limited by this.
    draft_tokens = 4

    def __init__(
        self,
        engine: Engine,
        *,
        max_sequences: int = 16,
        prefill_chunk: int = 256,
        max_batched_tokens: int = 512,
        prefix_cache: bool = True,
        draft: Engine | Literal["ngram"] | None = None,
        end_tokens: Iterable[int] = (),
        decode: Callable[[list[int]], str] | None = None,
        window: int | None = None,
    ) -> None:
        """`decode` turns tokens into text, for stop texts. With `window`, no layer sees tokens farther back."""
        _check_sizes(engine, max_sequences, prefill_chunk, max_batched_tokens, window)
        self.engine = engine
        self.max_sequences = max_sequences
        self.prefill_chunk = prefill_chunk
        self.max_batched_tokens = max_batched_tokens
        self.end_tokens = frozenset(end_tokens)
        self._adapters = {name: number for number, name in enumerate((None, *engine.adapters))}
        self.memory = PageTables(engine, prefix_cache, window, prefill_chunk)
        #: Sequences with pages, and requests without pages, in the order of arrival.
        self.running: list[SequenceState] = []
        self.waiting: deque[SequenceState] = deque()
        self._decode = decode
        self._proposer = _proposer(draft, engine, max_batched_tokens)
        self._inbox: deque[Request | str] = deque()
        self._identities: set[str] = set()
        #: Last outputs of requests that ended without a call of the engine.
        self._ended: list[Output] = []
        self._bitmask = np.zeros(-(-engine.vocabulary // 32), np.int32)
        self._arrivals = 0
        self._sums = dict.fromkeys(Statistics._fields[5:], 0)

    # Requests

    def add(self, request: Request) -> None:
        """Queue a request. Raise RelaxError if a request with its id is not finished."""
        if request.id in self._identities:
            raise RelaxError(f"request '{request.id}' is not finished: a second request needs another id")
        self._identities.add(request.id)
        self._inbox.append(request)

    def cancel(self, identity: str) -> None:
        """End a request in the next step, with the finish reason "cancelled". An unknown id is ignored."""
        self._inbox.append(identity)

    @property
    def is_idle(self) -> bool:
        """Return True if there is nothing to do for `step`."""
        return not (self._inbox or self._ended or self.waiting or self.running)

    @property
    def statistics(self) -> Statistics:
        """Return counts of requests, pages and tokens."""
        pages = self.memory.pages
        used = pages.count - pages.available
        waiting = len(self.waiting) + sum(isinstance(each, Request) for each in tuple(self._inbox))
        return Statistics(len(self.running), waiting, used, pages.cached, pages.free, **self._sums)

    def step(self) -> list[Output]:
        """Compute the next tokens of some requests. Return new tokens and ends of answers.

        After an error of the engine, the same step can be tried again.
        """
        self._ended += self._take_inbox()
        self._admit()
        for sequence in self.running:
            self._count_reuse(sequence, self.memory.reuse(sequence, self.running))
        if work := self._reserve_all(self.choose()):
            self._add_drafts(work)
        outputs = self._compute(work) if work else []
        ended, self._ended = self._ended, []
        return ended + outputs

    # Policy

    def select_waiting(self) -> SequenceState | None:
        """Return the waiting request to admit next, or None."""
        return self.waiting[0] if self.waiting else None

    def choose(self) -> list[Work]:
        """Return the work of the next step: decoding sequences, then parts of prompts while there is room."""
        work = [Work(sequence, 1) for sequence in self.running if sequence.pending == 1]
        room = self.max_batched_tokens - len(work)
        for sequence in self.running:
            if sequence.pending > 1 and room > 0 and not self._will_reuse(sequence, work):
                work.append(Work(sequence, self._chunk(sequence, room)))
                room -= work[-1].count
        return work

    def victim(self) -> SequenceState:
        """Return the running sequence that gives its pages away when none are left: the latest."""
        return max(self.running, key=lambda sequence: sequence.arrival)

    def propose(self, wanted: Mapping[SequenceState, int]) -> Mapping[SequenceState, list[int]]:
        """Return drafts of sequences, at most as many tokens as wanted."""
        if self._proposer is None:
            return {}
        limits = {sequence: min(count, sequence.draft_length) for sequence, count in wanted.items()}
        return self._proposer.propose(limits)

    # Admission and pages

    def _take_inbox(self) -> list[Output]:
        """Move new requests to the waiting ones, and end cancelled requests and requests that can never run."""
        outputs = []
        while self._inbox:
            if isinstance(item := self._inbox.popleft(), str):
                active = [*self.running, *self.waiting]
                outputs += [self._end(each, "cancelled") for each in active if each.request.id == item]
            elif (refusal := self._refusal(item)) is not None:
                self._identities.discard(item.id)
                outputs.append(Output(item, (), "error", f"request '{item.id}': {refusal}"))
            else:
                self._enqueue(item)
        return outputs

    def _refusal(self, request: Request) -> str | None:
        """Return the reason why a request can never run, or None."""
        vocabulary, length = self.engine.vocabulary, len(request.prompt)
        if (largest := max([*request.prompt, *request.parameters.logit_bias])) >= vocabulary:
            return f"token {largest} is not in the vocabulary of {vocabulary} tokens"
        if request.adapter not in self._adapters:
            return f"the model has no adapter '{request.adapter}' (it has {', '.join(self.engine.adapters) or 'none'})"
        if request.parameters.stop and self._decode is None:
            return "stop texts need a scheduler with the argument `decode`. Use stop_tokens instead"
        if length >= self.engine.context:
            return (
                f"the prompt has {length} tokens, expected fewer than {self.engine.context}, the positions of the "
                "model. Shorten the prompt"
            )
        if length >= self.memory.capacity:
            return (
                f"the prompt has {length} tokens, expected fewer than {self.memory.capacity}, which all pages together "
                "have room for. Shorten the prompt, or start with more pages"
            )
        return None

    def _enqueue(self, request: Request) -> None:
        most = request.parameters.max_tokens
        limit = self.memory.capacity if most is None else min(self.memory.capacity, len(request.prompt) + most)
        sequence = SequenceState(request, self._arrivals, limit)
        sequence.draft_length = self.draft_tokens
        self._arrivals += 1
        self._sums["prompt_tokens"] += len(request.prompt)
        self.waiting.append(sequence)

    def _admit(self) -> None:
        """Start waiting requests while pages are left for the tokens of all running sequences, and one page for each.

        The spare pages keep a new sequence from being preempted in its first steps.
        """
        promised = sum(self.memory.missing(sequence) + 1 for sequence in self.running)
        while len(self.running) < self.max_sequences and (sequence := self.select_waiting()) is not None:
            reused = self.memory.reuse(sequence, self.running)
            promised += self.memory.missing(sequence)
            if promised > self.memory.pages.available:
                self.memory.release(sequence)
                return
            promised += 1
            self._count_reuse(sequence, reused)
            self.waiting.remove(sequence)
            self.running.append(sequence)
            self.running.sort(key=lambda each: each.arrival)

    def _count_reuse(self, sequence: SequenceState, tokens: int) -> None:
        self._sums["prefix_hits"] += tokens
        if not sequence.answer_length:
            # A preempted sequence finds its own pages.
            sequence.reused = min(sequence.reused + tokens, len(sequence.request.prompt))

    def _will_reuse(self, sequence: SequenceState, work: Iterable[Work]) -> bool:
        """Return True if the work computes the next page of a sequence, which will reuse the page in the next step."""
        return self.memory.will_reuse(sequence, (each.sequence for each in work))

    def _chunk(self, sequence: SequenceState, room: int) -> int:
        """Return how many tokens of a prompt to compute. A part of a prompt ends with a full page if it can."""
        if (count := min(sequence.pending, self.prefill_chunk, room)) == sequence.pending:
            return count
        end = sequence.computed + count
        return max(end // self.engine.page_size * self.engine.page_size - sequence.computed, 0) or count

    def _reserve_all(self, chosen: Sequence[Work]) -> list[Work]:
        """Return the work that has pages. While there are too few, victims wait again."""
        work: list[Work] = []
        for each in chosen:
            end = each.sequence.computed + each.count
            while each.sequence in self.running and not self.memory.reserve(each.sequence, end):
                victim = self.victim()
                self._preempt(victim)
                work = [other for other in work if other.sequence is not victim]
            if each.sequence in self.running:
                work.append(each)
        return work

    def _preempt(self, sequence: SequenceState) -> None:
        """Take the pages of a sequence away. It waits in front, and its tokens so far become its prompt."""
        self.running.remove(sequence)
        self._release(sequence)
        self.waiting.appendleft(sequence)
        self._sums["preempted"] += 1

    def _release(self, sequence: SequenceState) -> None:
        """Give back the pages of a sequence, and forget its drafts."""
        self.memory.release(sequence)
        if self._proposer is not None:
            self._proposer.forget(sequence)

    # Drafts and results

    def _add_drafts(self, work: Sequence[Work]) -> None:
        """Add drafts while the step has room and pages are left."""
        room = self.max_batched_tokens - sum(each.count for each in work)
        ready = {each.sequence: each for each in work if each.is_complete}
        wanted = {each: self._most_draft(each, room // len(ready)) for each in ready}
        wanted = {key: count for key, count in wanted.items() if count > 0}
        drafts = {each: forced for each in wanted if (forced := _list_forced_tokens(each.request))}
        others = {name: count for name, count in wanted.items() if name not in drafts}
        drafts.update(self.propose(others) if others else {})
        for sequence, draft in drafts.items():
            # A draft has the pages that are left, and takes none from other sequences.
            draft = draft[: wanted[sequence]]
            self.memory.reserve(sequence, len(sequence.tokens) + len(draft))
            ready[sequence].draft = draft[: self.memory.room(sequence)]

    def _most_draft(self, sequence: SequenceState, room: int) -> int:
        """Return the most tokens of a draft: the last token of an answer needs no draft after it."""
        return min(room, sequence.limit - len(sequence.tokens) - 1)

    def _compute(self, work: Sequence[Work]) -> list[Output]:
        """Call the engine, and return the new tokens of each sequence."""
        parts = []
        for each in work:
            state = each.sequence
            tokens = state.tokens[state.computed : state.computed + each.count] + each.draft
            parts.append(
                SequencePart(tokens, state.computed, state.pages, each.results, self._adapters[state.request.adapter])
            )
        logits = self.engine.step(build_step(parts, self.engine.page_size))
        self._sums["steps"] += 1
        outputs, begin = [], 0
        for each, part in zip(work, parts, strict=True):
            end = begin + part.results
            outputs += self._advance(each, logits[begin:end])
            begin = end
        return outputs

    def _advance(self, work: Work, rows: ndarray) -> list[Output]:
        """Note that tokens of a sequence are computed. Return the output, if there is one."""
        sequence, is_complete = work.sequence, work.is_complete
        try:
            if sequence.is_scoring:
                sequence.score(rows[: work.count])
        except RelaxError as raised:
            return [self._end(sequence, "error", error=f"request '{sequence.request.id}': {raised.message}")]
        sequence.computed += work.count
        if is_complete:
            return [self._verify(work, rows[len(rows) - 1 - len(work.draft) :])]
        self.memory.keep(sequence)
        return []

    def _verify(self, work: Work, rows: ndarray) -> Output:
        """Choose tokens from rows of logits, up to the first one that differs from the draft."""
        sequence, reason, error = work.sequence, None, None
        prompt = () if sequence.answer_length else tuple(sequence.scored)
        tokens: list[Token] = []
        known = sequence.computed
        try:
            for place, row in enumerate(rows):
                token, reason = self._next_token(sequence, row)
                if token is not None:
                    tokens.append(token)
                if reason or token is None or place >= len(work.draft) or token.token != work.draft[place]:
                    break
                sequence.computed += 1
        except RelaxError as raised:
            reason, error = "error", f"request '{sequence.request.id}': {raised.message}"
        self._sums["tokens"] += len(tokens)
        self._count_drafts(sequence, len(work.draft), sequence.computed - known)
        self.memory.keep(sequence)
        if reason:
            return self._end(sequence, reason, tokens, error)._replace(prompt=prompt)
        return Output(sequence.request, tuple(tokens), cached_tokens=sequence.reused, prompt=prompt)

    def _count_drafts(self, sequence: SequenceState, proposed: int, accepted: int) -> None:
        """Lengthen the next draft after a good one, shorten it after a bad one."""
        self._sums["proposed_drafts"] += proposed
        self._sums["accepted_drafts"] += accepted
        if proposed and accepted == proposed:
            sequence.draft_length = min(max(sequence.draft_length, proposed) + 2, 2 * self.draft_tokens)
        elif proposed:
            sequence.draft_length = max(accepted + 1, sequence.draft_length - 1)

    def _next_token(self, sequence: SequenceState, logits: ndarray) -> tuple[Token | None, FinishReason | None]:
        """Return the next token, None if it only ends the answer, and the reason if the answer ends."""
        request, allowed = sequence.request, None
        if request.grammar is not None:
            request.grammar.fill(self._bitmask)
            allowed = self._bitmask
        usable = logits
        if sequence.answer_length < request.parameters.min_tokens:
            tokens = (*self.end_tokens, *request.parameters.stop_tokens)
            found = logits.copy()
            found[[token for token in tokens if token < logits.size]] = -np.inf
            usable = found
        token = sequence.sampler.choose(usable, len(sequence.tokens), allowed)
        is_end = token in self.end_tokens and not request.parameters.ignore_eos
        if is_end or token in request.parameters.stop_tokens:
            return None, "stop"
        if request.grammar is not None:
            request.grammar.accept(token)
        sequence.tokens.append(token)
        sequence.sampler.count(token)
        return with_logprobs(token, logits, request.parameters.logprobs), self._reason(sequence)

    def _reason(self, sequence: SequenceState) -> FinishReason | None:
        """Return the reason why an answer ends after its last token, or None."""
        request = sequence.request
        if (request.grammar is not None and request.grammar.is_finished) or self._ends_with_text(sequence):
            return "stop"
        return "length" if len(sequence.tokens) >= sequence.limit else None

    def _ends_with_text(self, sequence: SequenceState) -> bool:
        """Return True if a stop text is in the answer's last tokens. A character has up to four tokens."""
        if not (stop := sequence.request.parameters.stop) or self._decode is None:
            return False
        count = min(4 * max(map(len, stop)) + 4, sequence.answer_length)
        text = self._decode(sequence.tokens[len(sequence.tokens) - count :])
        return any(each in text for each in stop)

    def _end(
        self, sequence: SequenceState, reason: FinishReason, tokens: Sequence[Token] = (), error: str | None = None
    ) -> Output:
        """Release everything of a sequence, and return its last output."""
        (self.running if sequence in self.running else self.waiting).remove(sequence)
        self._release(sequence)
        self._identities.discard(sequence.request.id)
        return Output(sequence.request, tuple(tokens), reason, error, sequence.reused)


def _list_forced_tokens(request: Request) -> list[int]:
    """Return the tokens that a request's grammar knows in advance. An error of the grammar shows up when it is used."""
    try:
        return request.grammar.forced() if isinstance(request.grammar, ForcedTokens) else []
    except RelaxError:
        return []


def _proposer(draft: Engine | Literal["ngram"] | None, engine: Engine, most_tokens: int) -> Proposer | None:
    """Return the source of drafts for the scheduler's argument `draft`."""
    if draft is None:
        return None
    if isinstance(draft, str):
        if draft != "ngram":
            raise RelaxError(f"draft is '{draft}', expected 'ngram', the engine of a draft model, or None")
        return NgramProposer()
    return DraftModel(draft, engine.vocabulary, most_tokens)


def _check_sizes(engine: Engine, sequences: int, chunk: int, tokens: int, window: int | None) -> None:
    """Raise RelaxError for sizes that allow no progress."""
    sizes = {"max_sequences": sequences, "prefill_chunk": chunk, "window": 1 if window is None else window}
    sizes |= {"page_size": engine.page_size, "page_count": engine.page_count}
    for name, size in sizes.items():
        if size < 1:
            raise RelaxError(f"{name} is {size}, expected at least 1")
    if tokens < sequences:
        raise RelaxError(
            f"max_batched_tokens is {tokens}, expected at least {sequences}: each of max_sequences may have a token"
        )
