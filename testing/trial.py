# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case: compiled, called, and compared with the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy

from ..bindings.navigation import operations_in
from ..compilation.compiling import compile, lower
from ..compilation.options import CompileOptions
from ..interpreter.machine import Machine
from ..passes.core.journal import Journal
from ..passes.core.stages import Stages
from ..passes.partition.codegen import find_codegen
from ..passes.relax_run_codegen import RunCodegen
from ..passes.schedule.registry import all_schedules, plan_rules
from ..runtime.arrays import tensor
from ..runtime.guard_pages import guarded
from ..runtime.poisoning import PATTERNS, change_of
from ..runtime.watching import VARIABLE as WATCH_PARTS
from ..support.errors import RefusalError, RelaxError
from ..targets.core.backend import Backend
from ..targets.core.code import find_backend
from . import isolated
from .agreement import MANY_SHAKES, SHAKES
from .c_program import CProgram
from .core.cases import Case, Setup, Unmade
from .noise import Noise
from .usage import (
    Program,
    are_same,
    called,
    change_in_use,
    fault_without_memory,
    memory_leaked,
    wrong_argument_taken,
)
from .verdicts import Error, Verdict, error_of, problem

#: What a process is at when it dies of it.
REFERENCE, CHECKED, WITHOUT_MEMORY = 0, 1, 2
_REPEATS = 3
_TIMED = 5
_MOST_WORDS = 300


class Subject(NamedTuple):
    """What is checked: a codegen, or a target."""

    name: str
    target: str = "llvm"
    codegens: tuple[str, ...] = ()
    #: How far results may be, relative to a result's largest number, beyond what rounding explains.
    tolerance: float | None = None
    #: Whether times are measured beside the target alone.
    is_timed: bool = False


def makes_sources(target: str) -> bool:
    """Whether a target makes source files, no programs that can be loaded."""
    backend = find_backend(target.partition("{")[0])
    return type(backend).sources is not Backend.sources and not backend.makes_both


def tried(subject: Subject, case: Case, seed: int) -> Verdict | None:
    """What came of a case; None where there is no such case. A crash ends the process that this runs in."""
    isolated.enter(REFERENCE)
    try:
        made = case.make(seed)
    except Unmade as error:
        return Verdict(case.name, case.group, "unchecked", error.message)
    except RelaxError:
        return None
    isolated.enter(CHECKED)
    # What parts leave unwritten, or write that is not theirs, is an error then.
    os.environ[WATCH_PARTS] = "1"
    return _Trial(subject, case, made).verdict()


class _Trial:
    def __init__(self, subject: Subject, case: Case, made: Setup) -> None:
        self._subject, self._case, self._made = subject, case, made
        self._journal = Journal()
        self._facts: dict[str, Any] = {}
        #: What its codegens declare of operators in the module, and whether a result shows it.
        self._declared = _declared(subject, made)
        self._deviates = False

    def verdict(self) -> Verdict:
        if self._subject.codegens and not self._is_matched():
            return self._verdict("not taken", _why_not(self._journal.facts))
        try:
            executable = self._compiled(self._subject.codegens)
        except RelaxError as error:
            return self._verdict("right" if self._has_no_result() else "refused", _words(error))
        except Exception as error:  # a bug, of whatever kind
            return self._verdict("error", f"{type(error).__name__} while compiling: {_words(error)}")
        if self._subject.codegens:
            self._facts = _taken(self._journal.facts)
            failed = _failure_of_compile(self._journal.facts)
            if failed:
                return self._verdict("error", failed)
            if not self._facts["taken"]:
                return self._verdict("not taken", _why_not(self._journal.facts))
        else:
            self._facts = {"taken": _own_rules(self._journal.facts, self._subject.target)}
        return self._called(executable)

    def _is_matched(self) -> bool:
        """Whether a codegen is offered a part, or may be: what has none need not be compiled to say so."""
        options = CompileOptions(self._subject.target, partition=self._subject.codegens)
        stages = _without_code(options.stages())
        last = [name for name in stages.names if name.startswith("partition")][-1]
        seen = Journal()
        try:
            with seen.recording():
                lower(self._made.module, self._subject.target, pipeline=stages.until(last))
        except Exception:  # compiling says what is wrong
            return True
        if any(fact["kind"] == "partition" and fact["parts"] for fact in seen.facts):
            return True
        self._journal, self._facts = seen, _taken(seen.facts)
        return False

    def _compiled(self, codegens: Sequence[str]) -> Program:
        module, target = self._made.module, self._subject.target
        if makes_sources(target):
            with self._journal.recording():
                return CProgram(module, target, self._made.calls)
        found = compile(module, target, partition=list(codegens), journal=self._journal, cache=False, jobs=1)
        found.threads = 2
        return found

    def _has_no_result(self) -> bool:
        """Whether the operators have no result for what they are given, by the reference, too: an image of nothing."""
        isolated.enter(REFERENCE)
        for arguments in self._made.calls:
            try:
                self._reference(arguments)
                return False
            except ValueError:
                continue
            except Exception:
                return False
        return bool(self._made.calls)

    def _called(self, program: Program) -> Verdict:
        isolated.enter(REFERENCE)
        wanted = []
        for number, arguments in enumerate(self._made.calls):
            try:
                wanted.append((number, arguments, self._reference(arguments)))
            except RefusalError as error:
                return self._verdict("unchecked", _words(error))
            except Exception as error:  # no result is defined, or a fault of its own: other calls are checked
                if not wanted:
                    return self._without_result(program, arguments, error)
        isolated.enter(CHECKED)
        worst = Error()
        for number, arguments, expected in wanted:
            verdict, found = self._compared(program, arguments, expected)
            if verdict is not None:
                return verdict._replace(call=number)
            worst = max(worst, found, key=lambda each: each.ulp)
        if self._deviates:
            return self._verdict("deviates", "; ".join(dict.fromkeys(self._declared.values())), worst)
        return self._with_times(self._verdict("right", error=worst), program)

    def _without_result(self, program: Program, arguments: Sequence[Any], error: Exception) -> Verdict:
        """The program is right that says the same."""
        isolated.enter(CHECKED)
        try:
            called(program, [guarded(array, at_end=True) for array in arguments])
        except Exception as other:
            if str(other) == str(error):
                return self._verdict("right", _words(error))
        return self._verdict("unchecked", f"the reference fails: {type(error).__name__}: {_words(error)}")

    def _reference(self, arguments: Sequence[Any], noise: Noise | None = None) -> list[Any]:
        machine = Machine(self._made.module.operation, around=None if noise is None else noise.around)
        return machine.call("main", list(arguments))

    def _compared(
        self, program: Program, arguments: Sequence[Any], expected: list[Any]
    ) -> tuple[Verdict | None, Error]:
        first: list[Any] = []
        for number in range(_REPEATS):
            placed = [guarded(array, at_end=number % 2 == 0) for array in arguments]
            try:
                found = called(program, placed, PATTERNS[number % 2])
            except Exception as error:  # whatever a program raises here, the reference has a result
                return self._verdict("error", f"{type(error).__name__}: {_words(error)}"), Error()
            changed = next(filter(None, map(change_of, arguments, placed)), "")
            if changed:
                return self._verdict("wrong", f"it writes into an argument, from element {changed} on"), Error()
            if number == 0:
                different = self._different(arguments, found, expected)
                if different:
                    return self._verdict("wrong", different, error_of(found, expected)), Error()
                first = found
            elif not are_same(found, first):
                different = self._different(arguments, found, expected)
                reason = f"call {number + 1} gives other results than the first: {different or 'bits differ'}"
                return self._verdict("wrong" if different else "unsteady", reason), Error()
        return self._used(program, arguments, first), error_of(first, expected)

    def _used(self, program: Program, arguments: Sequence[Any], first: Sequence[Any]) -> Verdict | None:
        """What is wrong with a model's program that gives the right results."""
        if self._case.group != "models" or isinstance(program, CProgram):
            return None
        try:
            changes = change_in_use(program, arguments, first)
            if changes:
                return self._verdict("unsteady", changes)
            taken = wrong_argument_taken(program, arguments)
            if taken:
                return self._verdict("error", taken)
            leaked = memory_leaked(program, arguments)
            if leaked:
                return self._verdict("leak", f"each call leaves {leaked} bytes of memory behind")
            isolated.enter(WITHOUT_MEMORY)
            fault = fault_without_memory(program, arguments, first)
            isolated.enter(CHECKED)
            return self._verdict("no memory", f"without memory, {fault}") if fault else None
        except Exception as error:  # whatever a program raises here, it has had results before
            return self._verdict("error", f"{type(error).__name__}: {_words(error)}")

    def _different(self, arguments: Sequence[Any], found: list[Any], expected: list[Any]) -> str:
        """What is wrong with results, "" for nothing, or nothing but what is declared."""
        different = self._beyond_noise(arguments, found, expected)
        if different and self._declared and not self._beyond_noise(arguments, found, expected, self._declared):
            self._deviates = True
            return ""
        return different

    def _beyond_noise(
        self, arguments: Sequence[Any], found: list[Any], expected: list[Any], deviating: Container[str] = ()
    ) -> str:
        different = ""
        for count in (SHAKES, MANY_SHAKES):
            isolated.enter(REFERENCE)
            shaken = [self._reference(arguments, Noise(seed, deviating)) for seed in range(count)]
            isolated.enter(CHECKED)
            different = problem(found, expected, shaken, self._subject.tolerance)
            if not different:
                return ""
        return different

    def _with_times(self, verdict: Verdict, program: Program) -> Verdict:
        if not self._subject.is_timed:
            return verdict
        alone = self._compiled(())
        return verdict._replace(seconds=self._timed(program), target_seconds=self._timed(alone))

    def _timed(self, program: Program) -> float | None:
        """The shortest of some calls."""
        if isinstance(program, CProgram):
            return None
        run = program.ready("main", *map(tensor, map(numpy.array, self._made.calls[0])))
        found = []
        for _ in range(_TIMED):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
        return min(found)

    def _verdict(self, verdict: str, reason: str = "", error: Error | None = None) -> Verdict:
        return Verdict(self._case.name, self._case.group, verdict, reason, error, **self._facts)


def _declared(subject: Subject, made: Setup) -> dict[str, str]:
    """Why operators of a module may give other results for special values, by name."""
    names = {operation.name for operation in operations_in(made.module.operation)}
    codegens = [find_codegen(each.partition("{")[0]) for each in subject.codegens]
    return {name: why for each in codegens for name, why in each.deviations.items() if name in names}


def _taken(facts: Sequence[Any]) -> dict[str, Any]:
    given = [fact for fact in facts if fact["kind"] == "partition"]
    made = {fact["name"]: fact for fact in facts if fact["kind"] == "external"}
    parts = [(fact, name) for fact in given for name in fact["parts"] if not made.get(name, {}).get("reason")]
    taken = sum(sum(fact["of_parts"].get(name, {}).values()) for fact, name in parts)
    sizes = [fact[way] for fact in given if fact["parts"] for way in ("bytes_in", "bytes_out")]
    across = sum(sizes) if sizes and all(isinstance(size, int) for size in sizes) else None
    return {"taken": taken, "operators": max((fact["operators"] for fact in given), default=0), "bytes_across": across}


def _own_rules(facts: Sequence[Any], target: str) -> int:
    """Return how many operators and kernels the target's own rules took, and not those of its parents."""
    name = target.partition("{")[0]
    places = {each.place for each in all_schedules(name) if each.target == name}
    plans = {each.name for each in plan_rules(name) if each.target == name}
    is_own: dict[str, Callable[[Any], bool]] = {
        "legalized": lambda fact: fact["target"] == name,
        "schedule": lambda fact: fact["place"] in places,
        "loops": lambda fact: fact["plan"] in plans,
    }
    return sum(fact["kind"] in is_own and is_own[fact["kind"]](fact) for fact in facts)


def _failure_of_compile(facts: Sequence[Any]) -> str:
    """Return what a codegen's `compile` raised that is no refusal, or an empty text. The target takes the part over."""
    failed = (fact["reason"] for fact in facts if fact["kind"] == "external" and fact["verb"] != "declined")
    return " ".join(next(failed, "").split())[:_MOST_WORDS]


def _without_code(stages: Stages) -> Stages:
    """The stages, without what makes code of parts."""
    kept = (
        replace(stage, passes=tuple(each for each in stage.passes if not isinstance(each, RunCodegen)))
        for stage in stages.stages
    )
    return replace(stages, stages=tuple(kept))


def _why_not(facts: Sequence[Any]) -> str:
    declined = [fact["reason"] for fact in facts if fact["kind"] == "external" and fact["reason"]]
    kept = [f"{fact['operator']}: {fact['reason']}" for fact in facts if fact["kind"] == "kept"]
    return "; ".join(dict.fromkeys([*declined, *kept]))[:_MOST_WORDS]


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MOST_WORDS]
