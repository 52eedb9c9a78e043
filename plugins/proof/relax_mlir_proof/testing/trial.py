# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trial of one case: compiled, called, and compared with the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.codegens import RunCodegen
from relax_mlir.compilation.compiling import compile, lower
from relax_mlir.compilation.options import CompileOptions
from relax_mlir.passes.core.journal import Journal
from relax_mlir.passes.core.stages import Stages
from relax_mlir.passes.graph.partition.codegen import find_codegen
from relax_mlir.passes.kernels.schedule.registry import all_schedules, plan_rules
from relax_mlir.runtime.arrays import tensor
from relax_mlir.runtime.guard_pages import guarded
from relax_mlir.runtime.poisoning import PATTERNS, change_of
from relax_mlir.runtime.watching import VARIABLE as WATCH_PARTS
from relax_mlir.support.errors import RefusalError, RelaxError
from relax_mlir.targets.core.backend import Backend
from relax_mlir.targets.core.code import find_backend

from ..interpreter.execution import Machine
from . import isolated
from .agreement import MANY_SHAKES, SHAKES
from .bit_variants import compare_bits
from .c_program import CProgram
from .core.cases import Case, Setup, Unmade
from .diagnosis import Diagnosis, diagnose
from .integer_reference import Expected, expected_of, last_rounding, steps_of, with_axes_of_layers
from .noise import Noise
from .schedule_variants import Draws
from .usage import Program, are_same, called, change_in_use, fault_without_memory, memory_leaked, wrong_argument_taken
from .verdicts import ABSENT, WITHIN_STEPS, Error, Verdict, error_of, problem

if TYPE_CHECKING:
    from numpy import ndarray

#: Phases of a process, for the report if it dies.
REFERENCE, CHECKED, WITHOUT_MEMORY = 0, 1, 2
_REPEATS = 3
_TIMED = 5
_MOST_WORDS = 300


class Subject(NamedTuple):
    """Subject of a check: a codegen, or a target."""

    name: str
    target: str = "llvm"
    codegens: tuple[str, ...] = ()
    #: Allowed error beyond rounding, relative to a result's largest number.
    tolerance: float | None = None
    #: True if times are compared with the target without codegens.
    is_timed: bool = False
    #: True if bits are compared with variants, instead of results with the reference.
    compares_bits: bool = False
    #: Random schedules of each kernel that are compared by bits as well.
    schedule_count: int = 0


def makes_sources(target: str) -> bool:
    """Check whether a target only makes source files, which cannot be loaded."""
    backend = find_backend(target.partition("{")[0])
    return type(backend).sources is not Backend.sources and not backend.makes_both


def tried(subject: Subject, case: Case, seed: int) -> Verdict:
    """Run a case. A crash ends the process."""
    isolated.enter(REFERENCE)
    try:
        made = case.make(seed)
    except Unmade as error:
        return Verdict(case.name, case.group, "unchecked", error.message)
    except RelaxError as error:
        return Verdict(case.name, case.group, ABSENT, error.message)
    isolated.enter(CHECKED)
    with _watching_parts():
        return _Trial(subject, case, made, seed).verdict()


@contextmanager
def _watching_parts() -> Iterator[None]:
    """Make unwritten results of parts, and writes outside of them, errors."""
    before = os.environ.get(WATCH_PARTS)
    os.environ[WATCH_PARTS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[WATCH_PARTS]
        else:
            os.environ[WATCH_PARTS] = before


class _Trial:
    def __init__(self, subject: Subject, case: Case, made: Setup, seed: int) -> None:
        self._subject, self._case, self._made, self._seed = subject, case, made, seed
        self._journal = Journal()
        self._facts: dict[str, Any] = {}
        #: Declared deviations of operators in the module, and a flag for results that show one.
        self._declared = _declared(subject, made)
        self._deviates = False
        #: Largest distance in steps of results that the recipe allows, or 0.
        self._distance = 0

    @cached_property
    def _expected(self) -> Expected:
        names = self._subject.codegens or (self._subject.target,)
        return expected_of(self._made.module, self._case.group, self._case.subject, names)

    def verdict(self) -> Verdict:
        if self._subject.codegens and not self._is_matched():
            return self._verdict("not taken", _why_not(self._journal.facts))
        try:
            executable = self._compile(self._subject.codegens)
        except RelaxError as error:
            return self._verdict("right" if self._has_no_result() else "refused", _words(error))
        except Exception as error:  # a bug, of whatever kind
            return self._verdict("error", f"{type(error).__name__} while compiling: {_words(error)}")
        if self._subject.codegens:
            self._facts = _take(self._journal.facts)
            if failed := _failure_of_compile(self._journal.facts):
                return self._verdict("error", failed)
            if not self._facts["taken"]:
                return self._verdict("not taken", _why_not(self._journal.facts))
        else:
            self._facts = {"taken": _own_rules(self._journal.facts, self._subject.target)}
        return self._with_bits(executable) if self._subject.compares_bits else self._call(executable)

    def _with_bits(self, program: Program) -> Verdict:
        """Compare the bits of the program for other numbers of threads, CPUs, batches and schedules."""
        is_target, draws = not self._subject.codegens, Draws(self._subject.schedule_count, self._seed)
        try:
            bit_check = compare_bits(
                self._subject.target, self._made, program, self._variant, is_target=is_target, draws=draws
            )
        except RelaxError as error:
            return self._verdict("refused", _words(error))
        except Exception as error:  # a bug, of whatever kind
            return self._verdict("error", f"{type(error).__name__} in a variant: {_words(error)}")
        if bit_check.problem:
            return self._verdict("other bits", bit_check.problem)._replace(call=bit_check.call)
        return self._verdict("right", "; ".join(bit_check.notes))

    def _variant(self, target: str, sizes: Mapping[str, int]) -> Program:
        partition = list(self._subject.codegens)
        return compile(self._made.module, target, partition=partition, bind=dict(sizes), cache=False, jobs=1)

    def _is_matched(self) -> bool:
        """Check whether a codegen is offered a part. Without one the case need not be compiled."""
        options = CompileOptions(self._subject.target, partition=self._subject.codegens)
        stages = _without_code(options.stages())
        last = [name for name in stages.names if name.startswith("partition")][-1]
        seen = Journal()
        try:
            with seen.recording():
                lower(self._made.module, self._subject.target, pipeline=stages.until(last))
        except Exception:  # compiling reports the problem
            return True
        if any(fact["kind"] == "partition" and fact["parts"] for fact in seen.facts):
            return True
        self._journal, self._facts = seen, _take(seen.facts)
        return False

    def _compile(self, codegens: Sequence[str]) -> Program:
        module, target = self._made.module, self._subject.target
        if makes_sources(target):
            with self._journal.recording():
                batch = self._made.batch
            return CProgram(module, target, [*self._made.calls, *([] if batch is None else [batch.arguments])])
        found = compile(module, target, partition=list(codegens), journal=self._journal, cache=False, jobs=1)
        found.threads = 2
        return found

    def _has_no_result(self) -> bool:
        """Check whether the operators are undefined for the inputs by the reference as well, such as an empty image."""
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

    def _call(self, program: Program) -> Verdict:
        isolated.enter(REFERENCE)
        wanted = []
        for number, arguments in enumerate(self._made.calls):
            try:
                wanted.append((number, arguments, self._reference(arguments)))
            except RefusalError as error:
                return self._verdict("unchecked", _words(error))
            except Exception as error:  # undefined results, or a fault of the reference: other calls are still checked
                if not wanted:
                    return self._without_result(program, arguments, error)
        isolated.enter(CHECKED)
        worst = Error()
        for number, arguments, expected in wanted:
            verdict, found = self._compare(program, arguments, expected)
            if verdict is not None:
                return verdict._replace(call=number)
            worst = max(worst, found, key=lambda each: each.ulp)
        if self._deviates:
            return self._verdict("deviates", "; ".join(dict.fromkeys(self._declared.values())), worst)
        reason = f"up to {self._distance} step away: {WITHIN_STEPS}" if self._distance else ""
        return self._with_times(self._verdict("right", reason, worst), program)

    def _without_result(self, program: Program, arguments: Sequence[ndarray], error: Exception) -> Verdict:
        """Return "right" if the program raises the reference's error."""
        isolated.enter(CHECKED)
        try:
            called(program, [guarded(array, at_end=True) for array in arguments])
        except Exception as other:
            if str(other) == str(error):
                return self._verdict("right", _words(error))
        return self._verdict("unchecked", f"the reference fails: {type(error).__name__}: {_words(error)}")

    def _reference(self, arguments: Sequence[ndarray], noise: Noise | None = None) -> list[Any]:
        machine = Machine(self._expected.module.operation, around=None if noise is None else noise.around)
        return machine.call("main", list(arguments))

    def _compare(
        self, program: Program, arguments: Sequence[ndarray], expected: list[ndarray]
    ) -> tuple[Verdict | None, Error]:
        first: list[ndarray] = []
        for number in range(_REPEATS):
            placed = [guarded(array, at_end=number % 2 == 0) for array in arguments]
            try:
                found = called(program, placed, PATTERNS[number % 2])
            except Exception as error:  # the reference has a result, so any exception is an error
                return self._verdict("error", f"{type(error).__name__}: {_words(error)}"), Error()
            if changed := next(filter(None, map(change_of, arguments, placed)), ""):
                return self._verdict("wrong", f"it writes into an argument, from element {changed} on"), Error()
            if number == 0:
                if different := self._different(arguments, found, expected):
                    kind = self._kind(arguments, found, expected)
                    reason = f"{different}; {kind}" if kind else different
                    wrong = self._verdict("wrong", reason, error_of(found, expected))
                    return wrong._replace(kind=kind.kind if kind else ""), Error()
                first = found
            elif not are_same(found, first):
                different = self._different(arguments, found, expected)
                reason = f"call {number + 1} gives other results than the first: {different or 'bits differ'}"
                return self._verdict("wrong" if different else "unsteady", reason), Error()
        return self._check_use(program, arguments, first), error_of(first, expected)

    def _check_use(self, program: Program, arguments: Sequence[ndarray], first: Sequence[ndarray]) -> Verdict | None:
        """Check further use of a model's program that gives the right results. Return a verdict for a fault."""
        if self._case.group != "models" or isinstance(program, CProgram):
            return None
        try:
            if changes := change_in_use(program, arguments, first):
                return self._verdict("unsteady", changes)
            if taken := wrong_argument_taken(program, arguments):
                return self._verdict("error", taken)
            if leaked := memory_leaked(program, arguments):
                return self._verdict("leak", f"each call leaves {leaked} bytes of memory behind")
            isolated.enter(WITHOUT_MEMORY)
            fault = fault_without_memory(program, arguments, first)
            isolated.enter(CHECKED)
            return self._verdict("no memory", f"without memory, {fault}") if fault else None
        except Exception as error:  # earlier calls had results, so any exception is an error
            return self._verdict("error", f"{type(error).__name__}: {_words(error)}")

    def _different(self, arguments: Sequence[ndarray], found: list[ndarray], expected: list[ndarray]) -> str:
        """Describe wrong results, or return "" if there is nothing beyond declared deviations."""
        different = self._beyond_noise(arguments, found, expected)
        if different and self._declared and not self._beyond_noise(arguments, found, expected, self._declared):
            self._deviates = True
            return ""
        if different and self._is_within_steps(found, expected):
            return ""
        return different

    def _is_within_steps(self, found: Sequence[ndarray], expected: Sequence[ndarray]) -> bool:
        """Check whether results are as near as a recipe without `out=` allows, in steps of their scale."""
        if not self._expected.steps or any(a.shape != b.shape for a, b in zip(found, expected, strict=True)):
            return False
        pairs = zip(*(steps_of(self._expected.module, arrays) for arrays in (found, expected)), strict=True)
        distances = [None if a is None or b is None else int(abs(a - b).max(initial=0)) for a, b in pairs]
        if any(distance is None or distance > self._expected.steps for distance in distances):
            return False
        self._distance = max(self._distance, *(distance or 0 for distance in distances))
        return True

    def _kind(
        self, arguments: Sequence[ndarray], found: Sequence[ndarray], expected: Sequence[ndarray]
    ) -> Diagnosis | None:
        """Return the kind of a difference between integers, or between results of a scale."""
        module = self._expected.module
        if any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(found, expected, strict=True)):
            return None
        rounding = last_rounding(module, arguments)
        steps = (with_axes_of_layers(module, steps_of(module, arrays)) for arrays in (found, expected))
        pairs = zip(*steps, strict=True)
        kinds = (diagnose(a, b, rounding) for a, b in pairs if a is not None and b is not None)
        return next(filter(None, kinds), None)

    def _beyond_noise(
        self,
        arguments: Sequence[ndarray],
        found: list[ndarray],
        expected: list[ndarray],
        deviating: Container[str] = (),
    ) -> str:
        different = ""
        if are_same(found, expected):
            return ""
        for count in (SHAKES, MANY_SHAKES):
            isolated.enter(REFERENCE)
            shaken = [self._reference(arguments, Noise(seed, deviating)) for seed in range(count)]
            isolated.enter(CHECKED)
            if not (different := problem(found, expected, shaken, self._subject.tolerance)):
                return ""
        return different

    def _with_times(self, verdict: Verdict, program: Program) -> Verdict:
        if not self._subject.is_timed:
            return verdict
        alone = self._compile(())
        return verdict._replace(seconds=self._time(program), target_seconds=self._time(alone))

    def _time(self, program: Program) -> float | None:
        """Return the shortest time of some calls."""
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


def _declared(subject: Subject, setup: Setup) -> dict[str, str]:
    """Return the declared reasons for deviations on special values, by operator."""
    names = {operation.name for operation in operations_in(setup.module.operation)}
    codegens = [find_codegen(codegen.partition("{")[0]) for codegen in subject.codegens]
    return {name: why for codegen in codegens for name, why in codegen.deviations.items() if name in names}


def _take(facts: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    given = [fact for fact in facts if fact["kind"] == "partition"]
    made = {fact["name"]: fact for fact in facts if fact["kind"] == "external"}
    parts = [(fact, name) for fact in given for name in fact["parts"] if not made.get(name, {}).get("reason")]
    taken = sum(sum(fact["of_parts"].get(name, {}).values()) for fact, name in parts)
    sizes = [fact[way] for fact in given if fact["parts"] for way in ("bytes_in", "bytes_out")]
    across = sum(sizes) if sizes and all(isinstance(size, int) for size in sizes) else None
    return {"taken": taken, "operators": max((fact["operators"] for fact in given), default=0), "bytes_across": across}


def _own_rules(facts: Sequence[Mapping[str, Any]], target: str) -> int:
    """Count the operators and kernels that the target's own rules took, without its parents' rules."""
    name = target.partition("{")[0]
    places = {schedule.place for schedule in all_schedules(name) if schedule.target == name}
    plans = {rule.name for rule in plan_rules(name) if rule.target == name}
    is_own: dict[str, Callable[[Mapping[str, Any]], bool]] = {
        "legalized": lambda fact: fact["target"] == name,
        "schedule": lambda fact: fact["place"] in places,
        "loops": lambda fact: fact["plan"] in plans,
    }
    return sum(fact["kind"] in is_own and is_own[fact["kind"]](fact) for fact in facts)


def _failure_of_compile(facts: Sequence[Mapping[str, Any]]) -> str:
    """Return an exception of a codegen's `compile` other than a refusal, or "".

    The target computes the part instead.
    """
    failed = (fact["reason"] for fact in facts if fact["kind"] == "external" and fact["verb"] != "declined")
    return " ".join(next(failed, "").split())[:_MOST_WORDS]


def _without_code(stages: Stages) -> Stages:
    """Return the stages without passes that compile parts."""
    kept = (
        replace(stage, passes=tuple(pass_ for pass_ in stage.passes if not isinstance(pass_, RunCodegen)))
        for stage in stages.stages
    )
    return replace(stages, stages=tuple(kept))


def _why_not(facts: Sequence[Mapping[str, Any]]) -> str:
    declined = [fact["reason"] for fact in facts if fact["kind"] == "external" and fact["reason"]]
    kept = [f"{fact['operator']}: {fact['reason']}" for fact in facts if fact["kind"] == "kept"]
    return "; ".join(dict.fromkeys([*declined, *kept]))[:_MOST_WORDS]


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MOST_WORDS]
