# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Log-probabilities of prompts: what a scheduler computes for these, and failures."""

from __future__ import annotations

import numpy as np
import pytest
from paged_text import PagedText, answer, check_empty, expected_answer, expected_prompt, run
from relax_mlir import RelaxError
from relax_mlir_llm.requests import Output, Request, SamplingParameters
from relax_mlir_llm.scheduler import Scheduler

PROMPT = [1, 2, 3, 4] * 5


def scoring(identity: str, prompt: list[int] = PROMPT) -> Request:
    return Request(prompt, SamplingParameters(max_tokens=3, temperature=0, prompt_logprobs=2), id=identity)


def check(request: Request, outputs: list[Output]) -> None:
    assert [each for output in outputs for each in output.prompt] == list(expected_prompt(request))
    assert answer(outputs) == expected_answer(request)


def test_equal_prompts_are_computed_each_and_do_not_wait() -> None:
    engine = PagedText()
    scheduler = Scheduler(engine)
    requests = [scoring("first"), scoring("second")]
    outputs = run(scheduler, requests)
    assert engine.calls[0] == (2 * len(PROMPT), 2)
    for each in requests:
        check(each, outputs[each.id])
    # Another request reuses the pages, and a scored prompt uses none.
    plain = Request(PROMPT, SamplingParameters(max_tokens=3, temperature=0), id="plain")
    third = scoring("third")
    outputs = run(scheduler, [plain, third])
    assert outputs["plain"][0].cached_tokens >= 16 and outputs["third"][0].cached_tokens == 0
    check(third, outputs["third"])
    check_empty(scheduler)


@pytest.mark.parametrize("draft", ["ngram", PagedText(100, 3)])
def test_parts_of_a_prompt_have_no_drafts(draft: str | PagedText) -> None:
    engine = PagedText()
    scheduler = Scheduler(engine, prefill_chunk=8, draft=draft)
    request = scoring("parts")
    outputs = run(scheduler, [request])
    assert [tokens for tokens, _ in engine.calls[:2]] == [8, 8] and engine.calls[2][0] > 4
    check(request, outputs["parts"])


def test_a_preempted_prompt_is_scored_once() -> None:
    # Two answers grow by a token in each step, like the part of the prompt that is computed, until pages are missing.
    scheduler = Scheduler(PagedText(13), prefill_chunk=1)
    requests = [Request([n], SamplingParameters(max_tokens=20, temperature=0), id=str(n)) for n in range(2)]
    requests.append(scoring("scored", [*PROMPT, 5, 6]))
    outputs = run(scheduler, requests)
    assert scheduler.statistics.preempted > 0
    check(requests[-1], outputs["scored"])


def test_wrong_logits_in_a_prompt_end_only_their_request() -> None:
    class Broken(PagedText):
        def logits(self, token: int, state: np.uint64) -> np.ndarray:
            return super().logits(token, state) * (np.nan if token == 7 else 1)

    scheduler = Scheduler(Broken(), prefill_chunk=4)
    good, bad = scoring("good"), scoring("bad", [1, 7, *PROMPT])
    outputs = run(scheduler, [bad, good])
    (end,) = outputs["bad"]
    assert end.finish_reason == "error" and not end.prompt
    assert end.error == "request 'bad': the largest logit of the model is nan, expected a finite number"
    check(good, outputs["good"])
    check_empty(scheduler)


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_wrong_counts_are_refused(count: object) -> None:
    with pytest.raises(RelaxError, match=r"prompt_logprobs is .*, expected an integer of at least 0"):
        SamplingParameters(prompt_logprobs=count)  # type: ignore[arg-type]
