# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of parts: what the functions of a codegen report of a call, for profiles and traces."""

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

#: Nanoseconds that a step may be outside of its part: clocks of devices are converted.
_SLACK = 1000
_MOST_TEXT = 200


class TimedStep(NamedTuple):
    """What a part has done, in nanoseconds of time.perf_counter_ns."""

    name: str
    nodes: tuple[str, ...]
    begin: int
    end: int


class StepProblem(NamedTuple):
    """Why a step is left out, and what all steps with such a reason have in common."""

    kind: str
    text: str


class PartCall:
    """A call of a part's function, with what it reports."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.begin = time.perf_counter_ns()
        self.end = 0
        self.problems: list[StepProblem] = []
        self._reported: list[tuple[object, object, object, object]] = []

    def report(self, name: object, nodes: object = (), start: object = None, seconds: object = None) -> None:
        """Takes anything, and no time: what is wrong with it is told when the call has ended."""
        self._reported.append((name, nodes, start, seconds))

    def steps(self) -> list[TimedStep]:
        """What was reported, but for what is wrong, which is among the problems from now on."""
        found: list[TimedStep] = []
        for each in self._reported:
            step = self._checked(*each, after=found[-1].end if found else self.begin)
            if isinstance(step, StepProblem):
                self.problems.append(step)
            else:
                found.append(step)
        return found

    def _checked(
        self, name: object, nodes: object, start: object, seconds: object, after: int
    ) -> TimedStep | StepProblem:
        problem = problem_with_names(name, nodes)
        if problem is not None:
            return problem
        first, length = _number(start), _number(seconds)
        if length is None or (first is None and start is not None):
            text = f"begins at {_described(start)} and takes {_described(seconds)}, which are no seconds"
            return StepProblem("numbers", f"{_titled(name)} {text}")
        if length < 0:
            return StepProblem("negative", f"{_titled(name)} takes {length:g} s")
        begin = after if first is None else round(first * 1e9)
        # Of the sum: a step ends where the next one begins, to the nanosecond.
        end = after + round(length * 1e9) if first is None else round((first + length) * 1e9)
        off = max(self.begin - begin, end - self.end)
        if off > _SLACK:
            return StepProblem("outside", f"{_titled(name)} is outside of its part, by {off * 1e-9:.3g} s")
        inside = max(begin, self.begin)
        return named_step(name, nodes, inside, max(min(end, self.end), inside))


class _Here(threading.local):
    """Of this thread: the calls of parts so far while a call of a program is profiled, and the one that is made."""

    calls: list[PartCall] | None = None
    call: PartCall | None = None


_here = _Here()
#: How many threads collect steps: a part that is called where none does asks for nothing else.
_collecting = 0
_counting = threading.Lock()


def step_reporter() -> StepReporter | None:
    """For a Python function of a part: `report(name, nodes, start, seconds)` tells a step of the call that it is
    called for; None where nobody profiles or traces, so that nothing has to be measured.

    `nodes` are names of the model's nodes (rx.codegens.node_names, step.nodes, while compiling), `start` is what
    time.perf_counter() said; None for a step that begins where the one before has ended, on a device that knows
    durations only. Other threads may call it while the part is running.
    """
    return _here.call.report if _collecting and _here.call is not None else None


def are_steps_wanted() -> bool:
    return _collecting > 0 and _here.calls is not None


@contextmanager
def collecting_steps() -> Iterator[list[PartCall]]:
    """The calls of parts that this thread makes inside, as they are made."""
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
    """A call of a part, whose function is called inside."""
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
    """What is wrong with steps, by the labels of their parts: each kind once."""
    found: dict[tuple[str, str], list[str]] = {}
    for label, problem in problems:
        found.setdefault((label, problem.kind), []).append(problem.text)
    return [
        f"{label}: {texts[0]}; it is left out" + (f", and {len(texts) - 1} more like it" if texts[1:] else "")
        for (label, _), texts in found.items()
    ]


def problem_with_names(name: object, nodes: object) -> StepProblem | None:
    if not (isinstance(name, str) and name):
        return StepProblem("name", f"a step is called {_described(name)}: a name is text")
    if not (isinstance(nodes, (tuple, list)) and all(isinstance(each, str) for each in nodes)):
        return StepProblem("nodes", f"{_titled(name)} is of the nodes {_described(nodes)}: a list of names is needed")
    return None


def named_step(name: Any, nodes: Any, begin: int, end: int) -> TimedStep:
    """A step with names that nothing is wrong with."""
    return TimedStep(_shown(name), tuple(map(_shown, nodes)), begin, end)


def _number(seconds: object) -> float | None:
    """None for what is no number, or no time that there can be."""
    try:
        number = float(seconds) if isinstance(seconds, numbers.Real) else math.nan
    except OverflowError:  # an integer of hundreds of digits
        return None
    return number if abs(number) < 1e9 else None


def _titled(name: object) -> str:
    return f"step '{_cut(_shown(name))}'" if isinstance(name, str) and name else "a step"


def _described(thing: object) -> str:
    try:
        return _cut(repr(thing))
    except Exception:  # whatever a stranger's class raises; Python has no text for very large numbers
        return f"an object of type {type(thing).__name__}"


def _shown(text: str) -> str:
    """On one line, in characters that can be written."""
    return text if text.isprintable() else text.encode("unicode_escape").decode()


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."
