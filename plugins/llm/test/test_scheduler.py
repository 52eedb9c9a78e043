# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers of the scheduler: equal with any batch, chunk, number of pages, prefix cache and draft."""

from __future__ import annotations

import random

import numpy as np
import pytest
from paged_text import VOCABULARY, PagedText, answer, check_empty, check_pages, expected_answer, run
from relax_mlir import RelaxError
from relax_mlir_llm.engine import Step
from relax_mlir_llm.requests import Output, Request, SamplingParameters
from relax_mlir_llm.scheduler import Scheduler
from relax_mlir_llm.sequences import SequenceState


def some_requests(seed: int, count: int = 9) -> list[Request]:
    """Return requests with random prompts, some with a common begin, and all kinds of parameters."""
    draw = random.Random(seed)
    prefix = [draw.randrange(VOCABULARY) for _ in range(21)]
    found = []
    for place in range(count):
        prompt = prefix[: draw.choice([0, 9, 21])] + [
            draw.randrange(VOCABULARY) for _ in range(draw.choice([1, 3, 8, 30]))
        ]
        parameters = SamplingParameters(
            max_tokens=draw.choice([1, 5, 17, 40]),
            temperature=draw.choice([0, 0.7, 1.0]),
            top_p=draw.choice([1.0, 0.9]),
            top_k=draw.choice([0, 7]),
            min_p=draw.choice([0.0, 0.05]),
            seed=place,
            presence_penalty=draw.choice([0, 0.4]),
            repetition_penalty=draw.choice([1.0, 1.2]),
            stop_tokens=tuple(draw.sample(range(VOCABULARY), draw.choice([0, 1]))),
        )
        found.append(Request(prompt, parameters, id=str(place)))
    return found


@pytest.mark.parametrize("prefix_cache", [True, False])
@pytest.mark.parametrize("draft", [None, "ngram", "model", "same model", "few pages"])
@pytest.mark.parametrize(
    ("pages", "sequences", "chunk", "batched"),
    [(400, 16, 256, 512), (400, 1, 1, 1), (400, 3, 5, 7), (24, 16, 256, 512), (18, 5, 4, 6)],
)
def test_answers_do_not_depend_on_the_schedule(
    pages: int, sequences: int, chunk: int, batched: int, draft: str | None, prefix_cache: bool
) -> None:
    models = {"model": PagedText(90, 3, salt=7), "same model": PagedText(400, 8), "few pages": PagedText(5, 3)}
    scheduler = Scheduler(
        PagedText(pages),
        max_sequences=sequences,
        prefill_chunk=chunk,
        max_batched_tokens=batched,
        prefix_cache=prefix_cache,
        draft=models.get(draft, draft),
    )
    requests = some_requests(pages + chunk)
    outputs = run(scheduler, requests)
    assert {each.id: answer(outputs[each.id]) for each in requests} == {
        each.id: expected_answer(each) for each in requests
    }
    statistics = scheduler.statistics
    assert statistics.tokens == sum(len(answer(each)) for each in outputs.values())
    assert (statistics.preempted > 0) == (pages < 25)
    if pages == 400 and batched == 512 and draft in ("ngram", "same model"):
        assert statistics.accepted_drafts >= 10
    assert max(tokens for tokens, _ in scheduler.engine.calls) <= batched
    assert max(count for _, count in scheduler.engine.calls) <= sequences
    check_empty(scheduler)


def test_equal_prompts_are_computed_once() -> None:
    """Restates TVM's test_paged_attention_kv_cache_fork_sequence: forks share all pages, and copy the last one."""
    engine = PagedText(200)
    scheduler = Scheduler(engine)
    prompt = list(range(30))
    requests = [Request(prompt, SamplingParameters(max_tokens=9, seed=seed), id=str(seed)) for seed in range(6)]
    outputs = run(scheduler, requests)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert len({tuple(answer(outputs[each.id])) for each in requests}) > 1
    # 29 tokens of each prompt but the first come from others, and 5 of 6 sequences copy the page with tokens 28 and 29.
    assert scheduler.statistics.prefix_hits == 5 * 29
    assert engine.copies == 5
    assert sum(tokens for tokens, _ in engine.calls) == 30 + 5 + 6 * 8
    check_empty(scheduler)


def test_a_fork_of_a_fork_and_of_a_finished_sequence() -> None:
    """Restates TVM's test_paged_attention_kv_cache_unlimited_depth: forks of forks, with other forks removed."""
    scheduler = Scheduler(PagedText(60))
    text = [3, 1, 4, 1, 5, 9, 2]
    for depth in range(6):
        requests = [
            Request(text, SamplingParameters(max_tokens=3 + depth, seed=seed), id=f"{depth}.{seed}") for seed in (0, 1)
        ]
        outputs = run(scheduler, requests)
        for each in requests:
            assert answer(outputs[each.id]) == expected_answer(each)
        text = text + answer(outputs[f"{depth}.1"])
    assert scheduler.statistics.prefix_hits > 60
    check_empty(scheduler)


def test_a_chat_reuses_its_earlier_turns() -> None:
    """Restates mlc-llm's test_engine_prefix_cache: also the answer's own pages are reused."""
    engine = PagedText(100)
    scheduler = Scheduler(engine)
    first = Request(list(range(17)), SamplingParameters(max_tokens=14, temperature=0))
    text = [*first.prompt, *answer(run(scheduler, [first])[first.id])]
    engine.calls.clear()
    second = Request([*text, 5, 6, 7], SamplingParameters(max_tokens=4, temperature=0))
    assert answer(run(scheduler, [second])[second.id]) == expected_answer(second)
    # Tokens 0 to 29 are computed: the answer's last token was never an input. So 7 pages of 4 are reused.
    assert engine.calls[0] == (len(second.prompt) - 28, 1)
    check_empty(scheduler)


def test_a_request_waits_for_a_prefix_that_is_being_computed() -> None:
    engine = PagedText(100)
    scheduler = Scheduler(engine)
    prefix = list(range(40))
    requests = [Request([*prefix, last], SamplingParameters(max_tokens=2, seed=0), id=str(last)) for last in range(3)]
    outputs = run(scheduler, requests)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert engine.calls[:2] == [(41, 1), (3, 3)]


def test_cached_pages_give_way_least_recently_used_first() -> None:
    """Restates mlc-llm's prefix cache with few pages: the text of the latest request stays."""
    engine = PagedText(12)
    scheduler = Scheduler(engine)
    texts = [[base] * 16 for base in range(4)]
    ask = SamplingParameters(max_tokens=1)
    for text in texts:
        run(scheduler, [Request(text, ask)])
    engine.calls.clear()
    for text in (texts[3], texts[0]):
        run(scheduler, [Request(text, ask)])
    assert [tokens for tokens, _ in engine.calls] == [4, 16]
    check_empty(scheduler)


def test_the_latest_request_is_preempted_and_continues_first() -> None:
    scheduler = Scheduler(PagedText(12, 4), prefix_cache=False, max_sequences=3)
    requests = [
        Request([place] * 9, SamplingParameters(max_tokens=22, temperature=0), id=str(place)) for place in range(5)
    ]
    outputs: dict[str, list[Output]] = {}
    for each in requests:
        scheduler.add(each)
    while not scheduler.is_idle:
        for output in scheduler.step():
            outputs.setdefault(output.request.id, []).append(output)
        waiting = [each.arrival for each in scheduler.waiting]
        assert waiting == sorted(waiting) and len(waiting) <= 4
        assert all(each.arrival < min(waiting, default=9) for each in scheduler.running)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert list(outputs) == ["0", "1", "2", "3", "4"]
    assert scheduler.statistics.preempted > 0
    check_empty(scheduler)


def test_a_victim_gives_up_its_work_in_the_same_step() -> None:
    """The later request decodes while the long prompt is computed, and takes the pages that the prompt needs then."""
    engine = PagedText(11, 4)
    scheduler = Scheduler(engine, prefix_cache=False, max_sequences=2, max_batched_tokens=2, prefill_chunk=1)
    requests = [
        Request([5] * length, SamplingParameters(max_tokens=40 - length, temperature=0), id=str(length))
        for length in (32, 1)
    ]
    outputs = run(scheduler, requests)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert scheduler.statistics.preempted > 0
    # The victim's token was chosen for the step before the prompt found no page.
    place = engine.calls.index((1, 1))
    assert engine.calls[:place] == [(2, 2)] * place and 15 < place < 30
    check_empty(scheduler)


def test_requests_that_never_fit_end_with_a_sentence_and_others_go_on() -> None:
    scheduler = Scheduler(PagedText(10, 4, context=60))
    good = Request([1, 2, 3], SamplingParameters(max_tokens=5, temperature=0))
    bad = {
        "context": Request([1] * 60),
        "pages": Request([1] * 45),
        "token": Request([1, 99]),
        "bias": Request([1], SamplingParameters(logit_bias={48: 1.0})),
        "adapter": Request([1], adapter="poet"),
        "stop": Request([1], SamplingParameters(stop=("end",))),
    }
    outputs = run(scheduler, [*bad.values(), good])
    assert answer(outputs[good.id]) == expected_answer(good)
    errors = {name: outputs[each.id][-1] for name, each in bad.items()}
    assert {each.finish_reason for each in errors.values()} == {"error"}
    assert "60 tokens, expected fewer than 60, the positions" in str(errors["context"].error)
    assert "45 tokens, expected fewer than 40, which all pages" in str(errors["pages"].error)
    assert "token 99 is not in the vocabulary of 48 tokens" in str(errors["token"].error)
    assert "token 48" in str(errors["bias"].error)
    assert "no adapter 'poet' (it has short, long)" in str(errors["adapter"].error)
    assert "`decode`" in str(errors["stop"].error)
    check_empty(scheduler)


@pytest.mark.parametrize(("pages", "context", "length"), [(100, 30, 30), (5, 200, 20)])
def test_an_answer_ends_where_the_context_or_the_pages_end(pages: int, context: int, length: int) -> None:
    scheduler = Scheduler(PagedText(pages, 4, context), draft="ngram")
    request = Request([7] * 11, SamplingParameters(temperature=0))
    outputs = run(scheduler, [request])[request.id]
    assert outputs[-1].finish_reason == "length"
    assert answer(outputs) == expected_answer(request, length)
    assert len(answer(outputs)) == length - 11
    check_empty(scheduler)


def test_end_tokens_and_stop_texts() -> None:
    def decode(tokens: list[int]) -> str:
        return "".join(chr(ord("0") + token) for token in tokens)

    request = Request([5, 6], SamplingParameters(max_tokens=30, temperature=0))
    whole = expected_answer(request)
    end = whole[9]
    before = whole[: whole.index(end)]
    scheduler = Scheduler(PagedText(), end_tokens=[end], draft="ngram", decode=decode)
    outputs = run(scheduler, [request])[request.id]
    assert (answer(outputs), outputs[-1].finish_reason) == (before, "stop")
    ignoring = Request([5, 6], SamplingParameters(max_tokens=30, temperature=0, ignore_eos=True))
    assert answer(run(scheduler, [ignoring])[ignoring.id]) == whole
    text = decode(whole[3:6])
    stopping = Request([5, 6], SamplingParameters(max_tokens=30, temperature=0, stop=(text,), ignore_eos=True))
    outputs = run(scheduler, [stopping])[stopping.id]
    found = answer(outputs)
    assert outputs[-1].finish_reason == "stop"
    assert found == whole[: len(found)] and decode(found).endswith(text) and text not in decode(found[:-1])


def test_cancel_ends_waiting_and_running_requests() -> None:
    scheduler = Scheduler(PagedText(), max_sequences=1)
    requests = [Request([place], SamplingParameters(max_tokens=50), id=str(place)) for place in range(3)]
    for each in requests:
        scheduler.add(each)
    scheduler.step()
    scheduler.cancel("0")
    scheduler.cancel("1")
    scheduler.cancel("unknown")
    ended = [output for output in scheduler.step() if output.finish_reason]
    assert [(output.request.id, output.finish_reason) for output in ended] == [("0", "cancelled"), ("1", "cancelled")]
    with pytest.raises(RelaxError, match="request '2' is not finished"):
        scheduler.add(requests[2])
    scheduler.add(Request([1], SamplingParameters(max_tokens=1), id="0"))
    outputs = run(scheduler)
    assert outputs["0"][-1].finish_reason == "length" and set(outputs) == {"0", "2"}
    check_empty(scheduler)


@pytest.mark.parametrize("window", [1, 3, 8, 21])
@pytest.mark.parametrize("pages", [400, 17])
def test_pages_behind_a_sliding_window_are_given_back(window: int, pages: int) -> None:
    """Restates TVM's test_paged_attention_kv_cache_sliding_window: an answer may be longer than all pages."""
    scheduler = Scheduler(PagedText(pages, 4, window=window), window=window, prefill_chunk=16, draft="ngram")
    requests = [
        Request(list(range(10 + 8 * place)), SamplingParameters(max_tokens=90, seed=place), id=str(place))
        for place in range(3)
    ]
    outputs = run(scheduler, requests)
    for each in requests:
        assert answer(outputs[each.id]) == expected_answer(each, window=window)
    check_empty(scheduler)


@pytest.mark.parametrize("pages", range(2, 8))
def test_the_pages_of_a_sliding_window_suffice_for_any_length(pages: int) -> None:
    scheduler = Scheduler(PagedText(pages, 4, window=7), window=7, prefill_chunk=8, max_batched_tokens=16)
    # 7 tokens that a token sees and 8 tokens of a part of a prompt begin anywhere in a page: 5 pages.
    assert scheduler.memory.capacity == (200 if pages >= 5 else 4 * pages)
    request = Request([3] * min(31, scheduler.memory.capacity - 1), SamplingParameters(max_tokens=60, temperature=0))
    outputs = run(scheduler, [request], most_steps=120)[request.id]
    assert answer(outputs) == expected_answer(request, scheduler.memory.capacity, 7)
    check_empty(scheduler)


def test_a_subclass_replaces_the_policy() -> None:
    class Shortest(Scheduler):
        """Policy with the shortest prompt first and the longest text as the victim."""

        def select_waiting(self) -> SequenceState | None:
            return min(self.waiting, key=lambda each: len(each.tokens), default=None)

        def victim(self) -> SequenceState:
            return max(self.running, key=lambda each: len(each.tokens))

    scheduler = Shortest(PagedText(9), max_sequences=2, prefix_cache=False)
    requests = [
        Request([1] * length, SamplingParameters(max_tokens=12, temperature=0), id=str(length))
        for length in (20, 3, 9, 14)
    ]
    outputs = run(scheduler, requests)
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    assert list(outputs)[:2] == ["3", "9"]
    check_empty(scheduler)


def test_wrong_sizes_are_refused() -> None:
    for arguments, text in [
        ({"max_sequences": 0}, "max_sequences is 0"),
        ({"prefill_chunk": 0}, "prefill_chunk is 0"),
        ({"max_batched_tokens": 4}, "expected at least 16"),
        ({"window": 0}, "window is 0"),
        ({"draft": "eagle"}, "draft is 'eagle', expected 'ngram'"),
    ]:
        with pytest.raises(RelaxError, match=text):
            Scheduler(PagedText(), **arguments)
    other = PagedText()
    other.vocabulary = 50
    with pytest.raises(RelaxError, match="vocabulary of 50 tokens, expected 48"):
        Scheduler(PagedText(), draft=other)


def test_a_failed_call_can_be_repeated() -> None:
    class Flaky(PagedText):
        """Engine that fails in every third call, after it has written its pages."""

        def step(self, step: Step) -> np.ndarray:
            logits = super().step(step)
            if len(self.calls) % 3 == 0:
                raise OSError("device lost")
            return logits

    scheduler = Scheduler(Flaky(24), draft="ngram", prefill_chunk=8)
    requests = some_requests(5)
    outputs: dict[str, list[Output]] = {}
    for each in requests:
        scheduler.add(each)
    failures = 0
    scheduler.add(Request([1], adapter="poet", id="refused"))
    scheduler.engine.calls += [(0, 0)] * 2  # The first call fails.
    while not scheduler.is_idle:
        try:
            for output in scheduler.step():
                outputs.setdefault(output.request.id, []).append(output)
        except OSError:
            failures += 1
        check_pages(scheduler)
    assert failures > 5
    assert [output.finish_reason for output in outputs["refused"]] == ["error"]
    assert [answer(outputs[each.id]) for each in requests] == [expected_answer(each) for each in requests]
    check_empty(scheduler)


def test_wrong_logits_end_only_their_request() -> None:
    class Broken(PagedText):
        """Engine with logits that are no numbers after token 7."""

        def logits(self, token: int, state: np.uint64) -> np.ndarray:
            return super().logits(token, state) * (np.nan if token == 7 else 1)

    scheduler = Scheduler(Broken())
    bad, good = Request([1, 7]), Request([1, 40], SamplingParameters(max_tokens=9, temperature=0))
    outputs = run(scheduler, [bad, good])
    assert outputs[bad.id][-1].error == (
        f"request '{bad.id}': the largest logit of the model is nan, expected a finite number"
    )
    assert answer(outputs[good.id]) == expected_answer(good)


def test_logprobs_and_statistics() -> None:
    scheduler = Scheduler(PagedText(), draft="ngram")
    request = Request([3, 4, 5], SamplingParameters(max_tokens=12, temperature=0, logprobs=2))
    assert scheduler.is_idle
    scheduler.add(request)
    assert not scheduler.is_idle and scheduler.statistics.waiting == 1
    first = scheduler.step()[0]
    statistics = scheduler.statistics
    assert (statistics.running, statistics.waiting, statistics.pages_used, statistics.steps) == (1, 0, 1, 1)
    tokens = [token for output in [first, *run(scheduler)[request.id]] for token in output.tokens]
    assert [token.token for token in tokens] == expected_answer(request)
    assert all(len(token.top) == 2 and token.top[0] == (token.token, token.logprob) for token in tokens)
    statistics = scheduler.statistics
    assert (statistics.tokens, statistics.prompt_tokens, statistics.pages_used) == (12, 3, 0)
    # The answer's last token has no keys and values: 14 tokens are computed, and their full pages are kept.
    assert (statistics.pages_cached, statistics.pages_free) == (3, 61)


def test_parts_of_prompts_end_with_full_pages() -> None:
    """Sequences with the same begin can continue only at the begin of a page."""
    engine = PagedText()
    request = Request(list(range(22)), SamplingParameters(max_tokens=1))
    run(Scheduler(engine, prefill_chunk=10), [request])
    assert [tokens for tokens, _ in engine.calls] == [8, 8, 6]
