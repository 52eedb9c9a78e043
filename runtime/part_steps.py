# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of parts, which a codegen's functions report during a call, for profiles and traces."""

from __future__ import annotations

import math
import numbers
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

#: `report(name, nodes, start, seconds)`: see step_reporter.
StepReporter: TypeAlias = Callable[[str, Sequence[str], "float | None", float], None]

#: Nanoseconds by which a step may exceed its part: clocks of devices are converted.
_SLACK = 1000
_MOST_TEXT = 200


class TimedStep(NamedTuple):
    """Step of a part, in nanoseconds of time.perf_counter_ns."""

    name: str
    nodes: tuple[str, ...]
    begin: int
    end: int


class StepProblem(NamedTuple):
    """Reason why a step is left out, and a key that is equal for all steps with such a reason."""

    kind: str
    text: str


class PartCall:
    """Call of a part's function, with the steps that the function reports."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begin = time.perf_counter_ns()
        self.end = 0
        self.problems: list[StepProblem] = []
        self._reported: list[tuple[object, object, object, object]] = []

    def report(self, name: object, nodes: object = (), start: object = None, seconds: object = None) -> None:
        """Record a step of any form without delay. Problems are reported after the call."""
        self._reported.append((name, nodes, start, seconds))

    def steps(self) -> list[TimedStep]:
        """Return the valid steps. Problems of all other steps are appended to `problems`."""
        timed_steps: list[TimedStep] = []
        for each in self._reported:
            step = self._check(*each, after=timed_steps[-1].end if timed_steps else self.begin)
            if isinstance(step, StepProblem):
                self.problems.append(step)
            else:
                timed_steps.append(step)
        return timed_steps

    def _check(
        self, name: object, nodes: object, start: object, seconds: object, after: int
    ) -> TimedStep | StepProblem:
        if (problem := problem_with_names(name, nodes)) is not None:
            return problem
        first, length = _number(start), _number(seconds)
        if length is None or (first is None and start is not None):
            text = f"begins at {_describe(start)} and takes {_describe(seconds)}, which are no seconds"
            return StepProblem("numbers", f"{_title(name)} {text}")
        if length < 0:
            return StepProblem("negative", f"{_title(name)} takes {length:g} s")
        begin = after if first is None else round(first * 1e9)
        # Round the sum, so that a step ends exactly where the next one begins.
        end = after + round(length * 1e9) if first is None else round((first + length) * 1e9)
        if (off := max(self.begin - begin, end - self.end)) > _SLACK:
            return StepProblem("outside", f"{_title(name)} is outside of its part, by {off * 1e-9:.3g} s")
        inside = max(begin, self.begin)
        return named_step(name, nodes, inside, max(min(end, self.end), inside))


class _Here(threading.local):
    """State of this thread: the calls of parts so far during a profiled call of a program, and the current call."""

    calls: list[PartCall] | None = None
    call: PartCall | None = None


_here = _Here()
#: Number of threads that collect steps. With 0, a call of a part has no further overhead.
_collecting = 0
_counting = threading.Lock()


def step_reporter() -> StepReporter | None:
    """Return `report(name, nodes, start, seconds)` for a Python function of a part, or None if nobody profiles or
    traces.

    The function reports a step of the current call. `nodes` are names of the model's nodes (rx.codegens.node_names,
    step.nodes, while compiling). `start` is a value of time.perf_counter(); with None a step begins where the previous
    one ended, for devices that only know durations. Other threads may call the function while the part is running.
    """
    return _here.call.report if _collecting and _here.call is not None else None


def are_steps_wanted() -> bool:
    return _collecting > 0 and _here.calls is not None


@contextmanager
def collecting_steps() -> Iterator[list[PartCall]]:
    """Yield the list of calls of parts, which grows as this thread makes calls."""
    before, _here.calls = _here.calls, []
    _count(1)
    try:
        yield _here.calls
    finally:
        _count(-1)
        _here.calls = before


def _count(more: int) -> None:
    global _collecting
    with _counting:
        _collecting += more


@contextmanager
def part_call(label: str) -> Iterator[None]:
    """Record a call of a part, which happens inside of the `with`."""
    before = _here.call
    _here.call = made = PartCall(label)
    if _here.calls is not None:
        _here.calls.append(made)
    try:
        yield
    finally:
        made.end = time.perf_counter_ns()
        _here.call = before


def notes_on_steps(problems: Iterable[tuple[str, StepProblem]]) -> list[str]:
    """Return the problems of steps with the labels of their parts: each kind once."""
    found: dict[tuple[str, str], list[str]] = {}
    for label, problem in problems:
        found.setdefault((label, problem.kind), []).append(problem.text)
    return [
        f"{label}: {texts[0]}; it is left out" + (f", and {len(texts) - 1} more like it" if texts[1:] else "")
        for (label, _), texts in found.items()
    ]


def problem_with_names(name: object, nodes: object) -> StepProblem | None:
    if not (isinstance(name, str) and name):
        return StepProblem("name", f"a step is called {_describe(name)}: a name is text")
    if not (isinstance(nodes, (tuple, list)) and all(isinstance(node, str) for node in nodes)):
        return StepProblem("nodes", f"{_title(name)} is of the nodes {_describe(nodes)}: a list of names is needed")
    return None


def named_step(name: Any, nodes: Any, begin: int, end: int) -> TimedStep:
    """Return a step with valid names."""
    return TimedStep(_show(name), tuple(map(_show, nodes)), begin, end)


def _number(seconds: object) -> float | None:
    """Return the number of seconds, or None if it is not a number or not a possible time."""
    try:
        number = float(seconds) if isinstance(seconds, numbers.Real) else math.nan
    except OverflowError:  # an integer of hundreds of digits
        return None
    return number if abs(number) < 1e9 else None


def _title(name: object) -> str:
    return f"step '{_cut(_show(name))}'" if isinstance(name, str) and name else "a step"


def _describe(thing: object) -> str:
    try:
        return _cut(repr(thing))
    except Exception:  # user classes may raise any error; Python cannot print very large numbers
        return f"an object of type {type(thing).__name__}"


def _show(text: str) -> str:
    """Return the text on one line, in printable characters."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
