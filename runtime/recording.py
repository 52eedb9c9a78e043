# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Record of one call of a program: spans of its log, with the steps of parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .errors import ArtifactError
from .event_log import CALL, HOST, EventLog, Span
from .native_calls import step_at
from .part_steps import PartCall, StepProblem, TimedStep, collecting_steps, named_step, problem_with_names


class Recorded(NamedTuple):
    """Record of one call."""

    spans: Sequence[Span] = ()
    #: Steps of parts, each with the number of the enclosing kernel span.
    steps: Sequence[tuple[int, TimedStep]] = ()
    #: Problems of steps, by the parts' labels.
    problems: Sequence[tuple[str, StepProblem]] = ()
    #: Number of records that did not fit.
    lost: int = 0
    #: Thread of the caller.
    thread: int = 0


class Recorder:
    """Recorder of sequential calls of one thread."""

    def __init__(self) -> None:
        self.log = EventLog()
        self._calls: list[PartCall] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record a call that is made inside of the `with`, with the clocks on and this log."""
        self.log.clear()
        with collecting_steps() as self._calls:
            yield

    def recorded(self) -> Recorded:
        """Return the record of the last call."""
        if not self.log.is_known:
            raise ArtifactError(
                "the program's code keeps no log of its calls: it was compiled by an older release; compile it again"
            )
        spans = self.log.spans()
        found, problems = _native_steps(spans)
        for call in self._calls:
            found += call.steps()
            problems += [(call.label, problem) for problem in call.problems]
        kernels = sorted((span.begin, number) for number, span in enumerate(spans) if span.kind in HOST)
        steps = [(place, step) for step in found if (place := _find_around(step, kernels, spans)) is not None]
        return Recorded(spans, sorted(steps, key=lambda step: step[1].begin), problems, self.log.lost, self.log.thread)


def _native_steps(spans: Sequence[Span]) -> tuple[list[TimedStep], list[tuple[str, StepProblem]]]:
    """Return the C calls of parts, which native code makes, and the problems of their names."""
    steps, problems = [], []
    for span in spans:
        if span.kind != CALL:
            continue
        name, nodes = step_at(span.whose, span.number)
        if (problem := problem_with_names(name, nodes)) is not None:
            problems.append((f"call {span.number} of a list of C calls", problem))
        else:
            steps.append(named_step(name, nodes, span.begin, span.end))
    return steps, problems


def _find_around(step: TimedStep, kernels: Sequence[tuple[int, int]], spans: Sequence[Span]) -> int | None:
    """Return the number of the innermost kernel span that encloses a step."""
    for place in range(bisect_right(kernels, (step.begin, len(spans))) - 1, -1, -1):
        _, number = kernels[place]
        if spans[number].end >= step.end:
            return number
    return None
