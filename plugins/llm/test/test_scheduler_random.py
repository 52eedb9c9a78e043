# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random runs with arrivals and cancels at random times: right answers, checks in each step, no page lost."""

from __future__ import annotations

import random

import pytest
from paged_text import (
    ADAPTERS,
    VOCABULARY,
    PagedText,
    answer,
    check_empty,
    check_pages,
    expected_answer,
    expected_prompt,
)
from relax_mlir_llm.requests import Output, Request, SamplingParameters
from relax_mlir_llm.scheduler import Scheduler


def random_scheduler(draw: random.Random) -> Scheduler:
    drafts = [None, None, "ngram", PagedText(draw.choice([4, 20, 100]), 3, salt=draw.choice([0, 5]))]
    sequences = draw.choice([1, 2, 4, 16])
    window = draw.choice([None, None, None, 6])
    return Scheduler(
        PagedText(draw.choice([14, 20, 40, 200]), draw.choice([3, 4, 8]), context=90, window=window),
        max_sequences=sequences,
        prefill_chunk=draw.choice([1, 3, 8, 64]),
        max_batched_tokens=sequences + draw.choice([0, 2, 9, 100]),
        prefix_cache=draw.random() < 0.7,
        draft=draw.choice(drafts),
        window=window,
    )


def random_request(draw: random.Random, texts: list[list[int]], place: int) -> Request:
    """Return a request. Its prompt often begins like an earlier text."""
    prompt = [draw.randrange(VOCABULARY) for _ in range(draw.randrange(1, 12))]
    if texts and draw.random() < 0.6:
        text = draw.choice(texts)
        prompt = text[: draw.randrange(1, len(text) + 1)] + prompt * (draw.random() < 0.7)
    temperature = draw.choice([0, 0.8])
    parameters = SamplingParameters(
        max_tokens=draw.randrange(1, 25),
        temperature=temperature,
        seed=place % 3,
        prompt_logprobs=draw.choice([None, None, 0, 2]),
    )
    return Request(prompt, parameters, adapter=draw.choice([None, None, *ADAPTERS]), id=str(place))


@pytest.mark.parametrize("seed", range(24))
def test_random_runs(seed: int) -> None:
    draw = random.Random(seed)
    scheduler = random_scheduler(draw)
    requests: dict[str, Request] = {}
    texts: list[list[int]] = []
    outputs: dict[str, list[Output]] = {}
    cancelled: set[str] = set()
    for _ in range(3000):
        if len(requests) < 30 and draw.random() < 0.4:
            request = random_request(draw, texts, len(requests))
            requests[request.id] = request
            texts.append(list(request.prompt))
            scheduler.add(request)
        if requests and draw.random() < 0.05:
            cancelled.add(victim := draw.choice(list(requests)))
            scheduler.cancel(victim)
        for output in scheduler.step():
            outputs.setdefault(output.request.id, []).append(output)
        check_pages(scheduler)
        for each in scheduler.running:
            texts[int(each.request.id)] = list(each.tokens)
        if len(requests) == 30 and scheduler.is_idle:
            break
    assert scheduler.is_idle and set(outputs) == set(requests)
    capacity = scheduler.memory.capacity
    ends = set()
    for identity, request in requests.items():
        reason, found = outputs[identity][-1].finish_reason, answer(outputs[identity])
        ends.add(reason)
        if len(request.prompt) >= capacity:
            assert reason == "error" and not found
            continue
        wanted = expected_answer(request, capacity, scheduler.engine.window)
        assert reason == "length" or (reason == "cancelled" and identity in cancelled)
        assert found == (wanted if reason == "length" else wanted[: len(found)])
        scored = [token for output in outputs[identity] for token in output.prompt]
        assert tuple(scored) == (expected_prompt(request, scheduler.engine.window) if found else ())
    assert "length" in ends
    check_empty(scheduler)
