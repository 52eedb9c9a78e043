# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts and times for Prometheus, in its text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..requests import Statistics

#: Upper bounds of the buckets of times, in seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Histogram:
    """Counts of values by upper bounds."""

    def __init__(self, bounds: tuple[float, ...] = _SECONDS) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float, times: int = 1) -> None:
        """Count a value, `times` times."""
        with self._lock:
            self._counts[bisect_left(self._bounds, value)] += times
            self._sum += value * times

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Yield the samples."""
        with self._lock:
            counts, total = list(self._counts), self._sum
        below = 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            below += count
            end = "+Inf" if bound == float("inf") else f"{bound:g}"
            yield sample(f"{name}_bucket", {**labels, "le": end}, below)
        yield sample(f"{name}_sum", labels, total)
        yield sample(f"{name}_count", labels, below)


class ModelMetrics:
    """Times and ends of the requests to one model."""

    def __init__(self) -> None:
        self.first_token = Histogram()
        self.between_tokens = Histogram()
        self._ends: Counter[str] = Counter({"stop": 0, "length": 0, "cancelled": 0, "error": 0})
        self._embedded = 0
        self._lock = threading.Lock()

    def count_embedded(self, tokens: int) -> None:
        """Count the tokens of embedded texts."""
        with self._lock:
            self._embedded += tokens

    @property
    def embedded(self) -> int:
        """Return the number of tokens of embedded texts."""
        return self._embedded

    def count_end(self, reason: str) -> None:
        """Count a finished request."""
        with self._lock:
            self._ends[reason] += 1

    @property
    def ends(self) -> dict[str, int]:
        """Return the number of finished requests by reason."""
        with self._lock:
            return dict(self._ends)


def sample(name: str, labels: Mapping[str, str], value: float) -> str:
    """Return a line of Prometheus' text format."""
    inside = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:g}" if isinstance(value, float) else f"{name}{{{inside}}} {value}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class _Family(NamedTuple):
    name: str
    kind: str
    help: str
    value: Callable[[Statistics], int]


#: Metrics of a scheduler that are one number each.
_FAMILIES = (
    _Family("requests_running", "gauge", "Requests with pages.", lambda each: each.running),
    _Family("requests_waiting", "gauge", "Requests without pages.", lambda each: each.waiting),
    _Family("pages_used", "gauge", "Pages of running requests.", lambda each: each.pages_used),
    _Family("pages_cached", "gauge", "Pages that only the prefix cache has.", lambda each: each.pages_cached),
    _Family("pages_free", "gauge", "Empty pages.", lambda each: each.pages_free),
    _Family("prompt_tokens_total", "counter", "Tokens of prompts.", lambda each: each.prompt_tokens),
    _Family("prefix_hit_tokens_total", "counter", "Prompt tokens found in the cache.", lambda each: each.prefix_hits),
    _Family("answer_tokens_total", "counter", "Tokens of answers.", lambda each: each.tokens),
    _Family("draft_tokens_total", "counter", "Proposed tokens of drafts.", lambda each: each.proposed_drafts),
    _Family("accepted_draft_tokens_total", "counter", "Accepted drafts.", lambda each: each.accepted_drafts),
    _Family("preemptions_total", "counter", "Requests that gave their pages away.", lambda each: each.preempted),
    _Family("steps_total", "counter", "Calls of the model.", lambda each: each.steps),
)
_PREFIX = "relax_"


class MeasuredModel(NamedTuple):
    """Model with its present counts."""

    name: str
    metrics: ModelMetrics
    statistics: Statistics


def scheduler_lines(models: Iterable[MeasuredModel]) -> Iterator[str]:
    """Yield the metrics of language models."""
    models = list(models)
    for family in _FAMILIES:
        yield from heading(_PREFIX + family.name, family.kind, family.help)
        for each in models:
            yield sample(_PREFIX + family.name, {"model": each.name}, family.value(each.statistics))
    name = f"{_PREFIX}requests_total"
    yield from heading(name, "counter", "Finished requests.")
    for model in models:
        for reason, count in model.metrics.ends.items():
            yield sample(name, {"model": model.name, "reason": reason}, count)
    name = f"{_PREFIX}embedded_tokens_total"
    yield from heading(name, "counter", "Tokens of embedded texts.")
    for measured_model in models:
        yield sample(name, {"model": measured_model.name}, measured_model.metrics.embedded)
    name = f"{_PREFIX}time_to_first_token_seconds"
    yield from heading(name, "histogram", "Time from the arrival of a request to its first token.")
    for each in models:
        yield from each.metrics.first_token.lines(name, {"model": each.name})
    name = f"{_PREFIX}time_between_tokens_seconds"
    yield from heading(name, "histogram", "Time from one token of an answer to the next one.")
    for each in models:
        yield from each.metrics.between_tokens.lines(name, {"model": each.name})


def heading(name: str, kind: str, text: str) -> Iterator[str]:
    """Yield the two lines before the samples of a metric."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
