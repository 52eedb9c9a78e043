# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drafts: same answers, accepted where they should be, rejected slots written again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from paged_text import VOCABULARY, PagedText, answer, check_empty, expected_answer, run
from relax_mlir_llm.proposals import DraftModel, NgramProposer
from relax_mlir_llm.requests import Request, SamplingParameters
from relax_mlir_llm.sampling import Sampler
from relax_mlir_llm.scheduler import Scheduler
from relax_mlir_llm.sequences import SequenceState


def state(tokens: list[int]) -> SequenceState:
    return SequenceState(Request(tokens), 0, 10**6)


@pytest.mark.parametrize(
    ("tokens", "draft"),
    [
        ([1, 2, 3, 4, 5, 1, 2], [3, 4, 5, 1]),
        # The latest place counts, and more equal tokens count more than the latest place.
        ([1, 2, 7, 1, 2, 8, 1, 2], [8, 1, 2, 8]),
        ([9, 1, 2, 7, 5, 1, 2, 8, 9, 1, 2], [7, 5, 1, 2]),
        # A draft continues with itself.
        ([6, 5, 6, 5, 6], [5, 6, 5, 6]),
        ([4, 4, 4], [4, 4, 4, 4]),
        ([1, 2, 3, 4], None),
        ([1], None),
    ],
)
def test_prompt_lookup(tokens: list[int], draft: list[int] | None) -> None:
    sequence = state(tokens)
    assert NgramProposer().propose({sequence: 4}).get(sequence) == draft


def test_prompt_lookup_of_a_growing_text_equals_a_new_lookup() -> None:
    draw, growing = np.random.default_rng(3), state([0])
    proposer = NgramProposer()
    for _ in range(300):
        growing.tokens += draw.integers(3, size=draw.integers(1, 4)).tolist()
        assert proposer.propose({growing: 5}).get(growing) == NgramProposer().propose(
            {(fresh := state(growing.tokens)): 5}
        ).get(fresh)


def test_drafts_of_a_growing_text_equal_those_of_a_new_draft_model() -> None:
    """The text continues with a part of the draft and other tokens, or is asked for again."""
    draw, growing = np.random.default_rng(5), state([1, 2])
    growing.sampler = Sampler(SamplingParameters(temperature=0), [])
    model = DraftModel(PagedText(), VOCABULARY, 100)
    for _ in range(25):
        fresh = state(growing.tokens)
        fresh.sampler = growing.sampler
        draft = model.propose({growing: 4})[growing]
        assert [draft] == list(DraftModel(PagedText(), VOCABULARY, 100).propose({fresh: 4}).values())
        assert len(draft) == 4
        growing.tokens += draft[: draw.integers(5)] + draw.integers(VOCABULARY, size=draw.integers(3)).tolist()


def test_a_forgotten_sequence_frees_its_draft_pages() -> None:
    model = DraftModel(PagedText(3, 3), VOCABULARY, 100)
    long, short = state([1] * 12), state([2] * 4)
    assert list(model.propose({long: 3, short: 3})) == [short]
    model.forget(short)
    other = state([3] * 6)
    assert list(model.propose({other: 3})) == [other]


class Oracle(Scheduler):
    """Scheduler with drafts from known answers, of which every `wrong`-th token is wrong."""

    def __init__(self, engine: PagedText, answers: Mapping[str, list[int]], wrong: int) -> None:
        super().__init__(engine)
        self.answers, self.wrong = answers, wrong

    def propose(self, wanted: Mapping[SequenceState, int]) -> Mapping[SequenceState, list[int]]:
        found = {}
        for sequence, count in wanted.items():
            begin = sequence.answer_length
            draft = self.answers[sequence.request.id][begin : begin + min(count, 6)]
            found[sequence] = [
                (token + 1) % VOCABULARY if (begin + place) % self.wrong == self.wrong - 1 else token
                for place, token in enumerate(draft)
            ]
        return found


@pytest.mark.parametrize("wrong", [1, 2, 3, 5, 10**6])
def test_rejected_tokens_are_written_again(wrong: int) -> None:
    """Restates TVM's test_paged_attention_kv_cache_popn: the last tokens of a text are dropped, others follow."""
    requests = [
        Request(list(range(length)), SamplingParameters(max_tokens=40, seed=length, temperature=0.5), id=str(length))
        for length in (1, 4, 7)
    ]
    answers = {each.id: expected_answer(each) for each in requests}
    scheduler = Oracle(PagedText(), answers, wrong)
    outputs = run(scheduler, requests)
    assert {each: answer(outputs[each]) for each in outputs} == answers
    statistics = scheduler.statistics
    # A token of each wrong place and after each draft comes from the model itself.
    assert statistics.accepted_drafts <= 120 - 120 // max(wrong, 7)
    assert (statistics.accepted_drafts > 0) == (wrong > 1)
    if wrong == 10**6:
        assert statistics.accepted_drafts == statistics.proposed_drafts
        # The longest prompt waits one step for the page that it shares with the second. Steps have 7 tokens each.
        assert statistics.steps == 1 + -(-40 // 7)
    check_empty(scheduler)


def test_a_draft_model_that_equals_the_model_is_always_accepted() -> None:
    """The draft model uses the request's noise. So its samples equal the model's at any temperature."""
    scheduler = Scheduler(PagedText(), draft=PagedText(50, 3))
    request = Request([1, 2, 3], SamplingParameters(max_tokens=41, temperature=1.3, seed=9, top_p=0.95))
    assert answer(run(scheduler, [request])[request.id]) == expected_answer(request)
    statistics = scheduler.statistics
    assert statistics.accepted_drafts == statistics.proposed_drafts > 30
    assert statistics.steps < 10


def test_a_bad_draft_model_gets_short_drafts() -> None:
    class Wrong(PagedText):
        """Draft model with other logits than the model everywhere."""

        def logits(self, token: int, state: np.uint64) -> np.ndarray:
            return -super().logits(token, state)

    scheduler = Scheduler(PagedText(), draft=Wrong())
    request = Request([1, 2, 3], SamplingParameters(max_tokens=60, temperature=0))
    assert answer(run(scheduler, [request])[request.id]) == expected_answer(request)
    assert scheduler.statistics.accepted_drafts == 0
    assert 59 <= scheduler.statistics.proposed_drafts <= 59 + 3 + 2 + 1


def test_random_drafts_of_a_similar_model_are_accepted_more_often_than_independent_samples() -> None:
    model, draft = PagedText(), PagedText(salt=11)
    scheduler = Scheduler(model, draft=draft)
    requests = [Request([place], SamplingParameters(max_tokens=100, seed=place), id=str(place)) for place in range(8)]
    outputs = run(scheduler, requests)
    assert all(answer(outputs[each.id]) == expected_answer(each) for each in requests)
    statistics = scheduler.statistics
    # Two independent samples are equal with the probability sum(p * q), here measured over some texts.
    equal = []
    for place in range(400):
        logits = [engine.logits(place % 48, np.uint64(place * 2**40 + place)) for engine in (model, draft)]
        one, other = (Sampler(SamplingParameters(seed=seed), [0]) for seed in (1, 2))
        equal.append(one.choose(logits[0], place) == other.choose(logits[1], place))
    assert statistics.accepted_drafts / statistics.proposed_drafts > 1.2 * np.mean(equal)


def test_drafts_take_no_pages_from_other_requests() -> None:
    requests = [
        Request([place] * 9, SamplingParameters(max_tokens=22, temperature=0), id=str(place)) for place in range(3)
    ]
    steps = {}
    for draft in (None, "ngram"):
        scheduler = Scheduler(PagedText(24, 4), draft=draft)
        outputs = run(scheduler, requests)
        assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
        assert scheduler.statistics.preempted == 0
        steps[draft] = scheduler.statistics.steps
        check_empty(scheduler)
    assert steps["ngram"] < steps[None]


def test_a_draft_model_without_room_gives_no_draft() -> None:
    for small in (PagedText(3, 3), PagedText(60, 3, context=9)):
        scheduler = Scheduler(PagedText(), draft=small)
        request = Request(list(range(12)), SamplingParameters(max_tokens=20, seed=1))
        assert answer(run(scheduler, [request])[request.id]) == expected_answer(request)
        assert scheduler.statistics.proposed_drafts == 0


def test_wrong_logits_of_a_draft_model_only_end_its_drafts() -> None:
    class Broken(PagedText):
        """Draft model with logits that are no numbers after every third token."""

        def logits(self, token: int, state: np.uint64) -> np.ndarray:
            return super().logits(token, state) * (np.nan if token % 3 == 0 else 1)

    scheduler = Scheduler(PagedText(), draft=Broken())
    requests = [Request([place], SamplingParameters(max_tokens=30, temperature=0), id=str(place)) for place in range(4)]
    outputs = run(scheduler, requests)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert scheduler.statistics.accepted_drafts > 5


def test_a_draft_model_computes_long_prompts_in_parts() -> None:
    draft = PagedText(60, 3)
    scheduler = Scheduler(PagedText(), draft=draft, max_batched_tokens=16, prefill_chunk=16)
    request = Request(list(range(45)), SamplingParameters(max_tokens=20, temperature=0))
    assert answer(run(scheduler, [request])[request.id]) == expected_answer(request)
    assert max(tokens for tokens, _ in draft.calls) <= 16
    assert scheduler.statistics.accepted_drafts > 5
