# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search of a program's choices: pass by pass, first single choices, then combinations of winners."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import relax_mlir as rx
from relax_mlir.compilation.tuned_programs import TunedProgram, program_key, program_name
from relax_mlir.passes.core.stage_edits import StageEdit
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir.support.plugins import named_plugins
from relax_mlir.targets.core.registry import parse_target

from .program import Candidate, Choice, ProgramSpace, all_choices, are_compatible, check_choice, fitted
from .program_measuring import ProgramJob, arguments_of, measure_program
from .runners import LocalRunner
from .search import FINAL_TURNS, MOST_RATIO, Measure, Outcome, is_faster, noise
from .space import Plans, machine_of
from .trials import Trials

#: Seconds of a trial. The first one compiles the default and all kernels.
LIMIT_S = 900.0
#: Turns of a candidate, gain with which it is combined with others, and combinations that are measured at the end.
_TURNS, _GAIN, _FINALISTS = 5, 0.01, 3
#: Share of the time limit. The rest is for the kernels of the program.
_SHARE = 1 / 3
_MICRO = 1e6


@dataclass
class ProgramTuning:
    """Result of a search of a program's choices."""

    program: str
    #: Candidates by their edits. The default has none.
    outcomes: dict[Plans, Outcome] = field(default_factory=dict)
    #: Choices that were not tried because they change the order of sums.
    refused: list[str] = field(default_factory=list)
    winner: Outcome | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.winner.ratio if self.winner is not None else 1.0

    @property
    def wrong(self) -> list[Outcome]:
        """Return the candidates with results that differ from the default's."""
        return [outcome for outcome in self.outcomes.values() if outcome.is_wrong]

    def lines(self) -> list[str]:
        """Return the result as text."""
        tried = f"program {self.program}: {len(self.outcomes)} candidates"
        found = [f"{tried}, {self.note or f'{self.ratio:.3f} of the default time'}"]
        found += [f"  {edit}" for edit in (self.winner.plans if self.winner is not None else ())]
        found += [f"  refused: {each.plans[-1]}: {each.problem}" for each in self.wrong]
        return [*found, *(f"  not tried without inexact=True: {each}" for each in self.refused)]


@dataclass
class ProgramSearch:
    """Search of one program."""

    space: ProgramSpace
    inexact: bool
    most: int
    is_over: Callable[[], bool]
    #: Outcomes so far, also of an earlier search.
    outcomes: dict[Plans, Outcome] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def run(self, measure: Measure) -> None:
        """Search pass by pass. Edits of earlier passes stay when they win."""
        chosen: list[Candidate] = []
        for anchor in self.space.anchors():
            if self._is_done():
                return
            allowed = self._filter(self.space.candidates(anchor, _texts(chosen)))
            self._measure(measure, [_texts([*chosen, candidate]) for candidate in allowed])
            chosen = self._combine(measure, chosen, allowed)

    def winner(self, measure: Measure) -> Outcome | None:
        """Measure the best candidates again. Return the fastest that is faster with confidence."""
        faster = [outcome for outcome in self.outcomes.values() if outcome.ratio < MOST_RATIO]
        finalists = sorted(faster, key=lambda each: each.ratio)[:_FINALISTS]
        if not finalists:
            return None
        again = [each for each in measure([finalist.plans for finalist in finalists], FINAL_TURNS) if is_faster(each)]
        return min(again, key=lambda each: each.ratio, default=None)

    def _is_done(self) -> bool:
        return self.is_over() or len(self.outcomes) >= self.most

    def _filter(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates that the search may try, and note the others."""
        refused = [candidate.edit for candidate in candidates if not (candidate.choice.exact or self.inexact)]
        self.refused += [edit for edit in refused if edit not in self.refused]
        return [candidate for candidate in candidates if candidate.choice.exact or self.inexact]

    def _combine(
        self, measure: Measure, before: Sequence[Candidate], candidates: Sequence[Candidate]
    ) -> list[Candidate]:
        """Return the chosen candidates, with each further candidate that gains. The best one comes first."""
        chosen, best = list(before), self._ratio(before)
        for candidate in sorted(candidates, key=lambda each: self._ratio([*before, each])):
            if self._ratio([*before, candidate]) > self._ratio(before) * (1 - _GAIN):
                break
            if not all(are_compatible(candidate, other) for other in chosen):
                continue
            self._measure(measure, [_texts([*chosen, candidate])])
            if self._ratio([*chosen, candidate]) < best * (1 - _GAIN):
                chosen.append(candidate)
                best = self._ratio(chosen)
        return chosen

    def _ratio(self, chosen: Sequence[Candidate]) -> float:
        edits = _texts(chosen)
        found = self.outcomes.get(edits)
        return found.ratio if found is not None else float("inf") if edits else 1.0

    def _measure(self, measure: Measure, plans: Iterable[Plans]) -> None:
        for edits in plans:
            if edits in self.outcomes:
                continue
            if self._is_done():
                return
            for outcome in measure([edits], _TURNS):
                self.outcomes[edits] = outcome


def _texts(chosen: Sequence[Candidate]) -> Plans:
    return tuple(candidate.edit for candidate in chosen)


def tune_program(
    module: rx.Module,
    target: str,
    folder: str | os.PathLike[str],
    limits: tuple[int, float | None],
    bind: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
    precision: str = "f32",
    threads: int = 1,
    inexact: bool = False,
    choices: Sequence[Choice] = (),
    told: Callable[[str, int, float], object] = lambda name, trial, best: None,
) -> ProgramTuning:
    """Search faster choices of a program, and write the winner to a file in the folder.

    limits: number of trials, and minutes of the whole search with its kernels, or None. choices: choices beside the
    registered ones. told: a function that is called after each trial: with the program's name, the number of trials and
    the best ratio.
    """
    for each in choices:
        check_choice(each)
    program = fitted(module, target, bind)
    name, key = program_name(program.operation), program_key(program.operation, target, precision)
    if missing := _why_not_measured(program, sizes or {}):
        return ProgramTuning(name, note=missing)
    space = ProgramSpace(program, target, precision, (*all_choices(), *choices))
    search = ProgramSearch(space, inexact, limits[0], _clock(limits[1]))
    trials, known = Trials(Path(folder), f"{cpu_name()} x{threads}"), f"{key} inexact" if inexact else key
    search.outcomes.update(trials.known(known))
    runner = LocalRunner(LIMIT_S, measure_program)
    with tempfile.TemporaryDirectory() as cache:
        job = ProgramJob(
            *(key, program.bytecode(), target, threads, tuple((sizes or {}).items()), named_plugins()),
            precision=precision,
            inexact=inexact,
            imports=imports_of(space.choices, target),
            cache=cache,
        )

        def measure(plans: Sequence[Plans], turns: int) -> Iterable[Outcome]:
            for outcome in runner.measured(job, plans, turns):
                trials.add(known, f"program {name}", outcome)
                yield outcome
                told(name, len(search.outcomes), min([1.0, *(each.ratio for each in search.outcomes.values())]))

        try:
            search.run(measure)
            found = ProgramTuning(name, search.outcomes, search.refused, search.winner(measure))
        finally:
            runner.close()
            trials.close()
    if found.winner is not None:
        tuned_program(found, key, target, inexact).write(folder)
    return found


def _clock(minutes: float | None) -> Callable[[], bool]:
    """Return a function that says when the program's share of the time is over."""
    if minutes is None:
        return lambda: False
    end = time.monotonic() + 60 * minutes * _SHARE
    return lambda: time.monotonic() > end


def tuned_program(tuning: ProgramTuning, key: str, target: str, inexact: bool) -> TunedProgram:
    """Return the file of a winner."""
    assert tuning.winner is not None
    default, tuned = (statistics.median(each) * _MICRO for each in zip(*tuning.winner.turns, strict=True))
    times = Times(round(default, 2), round(tuned, 2), round(noise(tuning.winner), 4))
    machine, name = MachineFacts.of(machine_of(target)), rx.stages(target).target.partition("{")[0]
    edits, trials = tuning.winner.plans, len(tuning.outcomes)
    return TunedProgram(tuning.program, key, name, machine, edits, times, trials, inexact, cpu_name())


def _why_not_measured(program: rx.Module, sizes: Mapping[str, int]) -> str:
    """Return why a program cannot be measured, or ""."""
    try:
        shapes = [argument.shape or () for argument in arguments_of(program)]
    except rx.RelaxError as error:
        return error.message
    named = (str(size) for shape in shapes for size in shape if not isinstance(size, int))
    missing = next((name for name in named if name not in sizes), None)
    return f"the size {missing} has no value: pass it in sizes=" if missing else ""


def imports_of(choices: Iterable[Choice], target: str) -> tuple[str, ...]:
    """Return the modules of a target, of choices' passes and of their functions that are not this project's."""
    found = {type(rx.find_backend(parse_target(target).name)).__module__}
    for choice in choices:
        if callable(choice.edits):
            found.add(choice.edits.__module__)
            continue
        names = {name for text in choice.edits for name in StageEdit.parse(text).passes}
        found |= {each.__module__ for name in names if (each := rx.find_pass(name)) is not None}
    others = (each for each in found if each.partition(".")[0] not in ("__main__", "relax_mlir", "relax_mlir_tune"))
    return tuple(sorted(others))
