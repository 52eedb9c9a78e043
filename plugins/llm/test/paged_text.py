# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engine of tests: a model in NumPy. Its answers depend on every value that it reads through the page table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from relax_mlir_llm.engine import Step
from relax_mlir_llm.requests import Output, Request, Token
from relax_mlir_llm.sampling import Sampler, with_logprobs
from relax_mlir_llm.scheduler import Scheduler

VOCABULARY = 48
ADAPTERS = ("short", "long")
_ODD = np.uint64(0x9E3779B97F4A7C15)


def _hashed(values: np.ndarray) -> np.ndarray:
    """Return well-mixed u64 hashes."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return (values ^ (values >> np.uint64(32))) * _ODD


def state_of(token: int, position: int, before: np.ndarray, adapter: int = 0) -> np.uint64:
    """Return the value that a token stores: it depends on the values of all visible tokens and on their order."""
    with np.errstate(over="ignore"):
        order = np.arange(1, before.size + 1, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        seen = _hashed(before * order).sum(dtype=np.uint64)
        return _hashed(np.array([token * 1009 + position * 7 + adapter * 10007 + 3], np.uint64) ^ seen)[0]


class PagedText:
    """Engine with one 64-bit value per slot instead of keys and values.

    Most logits are noise of the whole text. One logit is large and depends only on the last token. Answers repeat
    themselves, and some drafts are accepted.
    """

    vocabulary = VOCABULARY
    adapters = ADAPTERS

    def __init__(
        self, page_count: int = 64, page_size: int = 4, context: int = 200, window: int | None = None, salt: int = 0
    ) -> None:
        self.page_count, self.page_size, self.context = page_count, page_size, context
        self.window, self.salt = window, salt
        self.values = np.full(page_count * page_size, 0xDEAD, np.uint64)
        self.copies = 0
        #: Number of tokens of each call, and number of their sequences.
        self.calls: list[tuple[int, int]] = []

    def copy_page(self, source: int, target: int) -> None:
        self.copies += 1
        slots = self.values.reshape(self.page_count, self.page_size)
        slots[target] = slots[source]

    def step(self, step: Step) -> np.ndarray:
        assert all(array.dtype == np.int32 for array in step)
        assert step.table.min() >= 0 and step.table.max() < self.page_count
        assert step.adapters.shape == step.table.shape[:1]
        assert len(set(step.slots.tolist())) == step.slots.size, "two tokens of a call have the same slot"
        self.calls.append((step.tokens.size, step.table.shape[0]))
        states = np.zeros(step.tokens.size, np.uint64)
        for place, (token, position, row) in enumerate(
            zip(step.tokens.tolist(), step.positions.tolist(), step.sequences.tolist(), strict=True)
        ):
            assert 0 <= position < self.context
            first = 0 if self.window is None else max(0, position + 1 - self.window)
            seen = np.arange(first, position)
            slots = step.table[row, seen // self.page_size] * self.page_size + seen % self.page_size
            states[place] = state_of(token, position, self.values[slots], int(step.adapters[row]))
            self.values[step.slots[place]] = states[place]
        return np.array([self.logits(int(step.tokens[each]), states[each]) for each in step.selected]).reshape(
            step.selected.size, self.vocabulary
        )

    def logits(self, token: int, state: np.uint64) -> np.ndarray:
        """Return logits after a token, from its stored value."""
        with np.errstate(over="ignore"):
            noise = _hashed(np.arange(self.vocabulary, dtype=np.uint64) * _ODD ^ state ^ np.uint64(self.salt))
        logits = (noise >> np.uint64(40)).astype(np.float32) / np.float32(2**24) * 4
        logits[token // 4 * 4 + (token + 1) % 4] += 3.4
        return logits


def _number(request: Request) -> int:
    """Return the number of a request's adapter."""
    return 0 if request.adapter is None else ADAPTERS.index(request.adapter) + 1


def expected_answer(request: Request, context: int = 200, window: int | None = None) -> list[int]:
    """Return the tokens of an answer, computed without other requests and without pages."""
    model, sampler = PagedText(1), Sampler(request.parameters, request.prompt)
    tokens, states = list(request.prompt), np.zeros(0, np.uint64)
    adapter = _number(request)
    limit = min(context, len(tokens) + (request.parameters.max_tokens or context))
    while len(tokens) < limit:
        for position in range(states.size, len(tokens)):
            first = 0 if window is None else max(0, position + 1 - window)
            states = np.append(states, state_of(tokens[position], position, states[first:], adapter))
        token = sampler.choose(model.logits(tokens[-1], states[-1]), len(tokens))
        if token in request.parameters.stop_tokens:
            break
        sampler.count(token)
        tokens.append(token)
    return tokens[len(request.prompt) :]


def expected_prompt(request: Request, window: int | None = None) -> tuple[Token, ...]:
    """Return the tokens of a prompt with log-probabilities, if the request wants these."""
    count, prompt = request.parameters.prompt_logprobs, request.prompt
    if count is None:
        return ()
    states, found = np.zeros(0, np.uint64), [Token(prompt[0])]
    for position, token in enumerate(prompt[:-1]):
        first = 0 if window is None else max(0, position + 1 - window)
        states = np.append(states, state_of(token, position, states[first:], _number(request)))
        found.append(with_logprobs(prompt[position + 1], PagedText(1).logits(token, states[-1]), count))
    return tuple(found)


def run(scheduler: Scheduler, requests: Iterable[Request] = (), most_steps: int = 5000) -> dict[str, list[Output]]:
    """Run requests to their ends, with checks in each step. Return the outputs of each id."""
    for request in requests:
        scheduler.add(request)
    found: dict[str, list[Output]] = {}
    while not scheduler.is_idle:
        assert most_steps > 0, "the scheduler makes no progress"
        most_steps -= 1
        for output in scheduler.step():
            found.setdefault(output.request.id, []).append(output)
        check_pages(scheduler)
    return found


def answer(outputs: Sequence[Output]) -> list[int]:
    """Return the tokens of all outputs of a request."""
    assert [output.finish_reason for output in outputs[:-1]] == [None] * (len(outputs) - 1)
    return [token.token for output in outputs for token in output.tokens]


def check_pages(scheduler: Scheduler) -> None:
    """Check that each page has the users that the sequences tell, and that no page is lost."""
    pages, cache, size = scheduler.memory.pages, scheduler.memory.cache, scheduler.engine.page_size
    users = Counter(page for sequence in scheduler.running for page in sequence.pages if page >= 0)
    assert all(pages.users(page) == users[page] for page in range(pages.count))
    held = set(users)
    assert pages.free + pages.cached + len(held) == pages.count
    statistics = scheduler.statistics
    assert statistics.pages_used == len(held)
    assert all(not sequence.pages and not sequence.computed for sequence in scheduler.waiting)
    for sequence in scheduler.running:
        assert sequence.pending >= 1 and len(sequence.pages) * size >= sequence.computed
        full = sequence.pages[: sequence.computed // size]
        assert cache is None or all(page in cache for page in full)


def check_empty(scheduler: Scheduler) -> None:
    """Check that nothing has pages but the prefix cache, which can give all of them back."""
    check_pages(scheduler)
    pages = scheduler.memory.pages
    assert pages.available == pages.count and scheduler.is_idle
    assert sorted(pages.allocate() for _ in range(pages.count)) == list(range(pages.count))
    assert pages.allocate() is None and (scheduler.memory.cache is None or not len(scheduler.memory.cache))
