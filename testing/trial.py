# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case: compiled, called, and compared with the reference."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from ..compilation.compiling import compile
from ..interpreter.machine import Machine
from ..passes.core.journal import Journal
from ..runtime import Executable
from ..runtime.arrays import tensor
from ..runtime.guard_pages import guarded
from ..runtime.poisoning import PATTERNS, change_of
from ..runtime.watching import VARIABLE as WATCH_PARTS
from ..support.errors import RefusalError, RelaxError
from . import isolated
from .agreement import MANY_SHAKES, SHAKES
from .core.cases import Case, Setup, Unmade
from .noise import Noise
from .usage import (
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

#: A compiled module as something to call: arrays in, arrays out.
Call = Callable[[Sequence[Any]], list[Any]]


class Subject(NamedTuple):
    """What is checked: a codegen, or a target."""

    name: str
    target: str = "llvm"
    codegens: tuple[str, ...] = ()
    #: How far results may be, relative to a result's largest number, beyond what rounding explains.
    tolerance: float | None = None
    #: Whether times are measured beside the target alone.
    is_timed: bool = False


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

    def verdict(self) -> Verdict:
        try:
            executable = self._compiled(self._subject.codegens)
        except RelaxError as error:
            return self._verdict("refused", _words(error))
        except Exception as error:  # a bug, of whatever kind
            return self._verdict("error", f"{type(error).__name__} while compiling: {_words(error)}")
        if self._subject.codegens:
            self._facts = _taken(self._journal.facts)
            if not self._facts["taken"]:
                return self._verdict("not taken", _why_not(self._journal.facts))
        return self._called(executable)

    def _compiled(self, codegens: Sequence[str]) -> Executable:
        module, target = self._made.module, self._subject.target
        found = compile(module, target, partition=list(codegens), journal=self._journal, cache=False, jobs=1)
        found.threads = 2
        return found

    def _called(self, executable: Executable) -> Verdict:
        isolated.enter(REFERENCE)
        wanted = []
        for arguments in self._made.calls:
            try:
                wanted.append((arguments, self._reference(arguments)))
            except RefusalError as error:
                return self._verdict("unchecked", _words(error))
            except Exception as error:  # no result is defined, or a fault of its own: other calls are checked
                if not wanted:
                    return self._verdict("unchecked", f"the reference fails: {type(error).__name__}: {_words(error)}")
        isolated.enter(CHECKED)
        worst = Error()
        for arguments, expected in wanted:
            verdict, found = self._compared(executable, arguments, expected)
            if verdict is not None:
                return verdict
            worst = max(worst, found, key=lambda each: each.ulp)
        return self._with_times(self._verdict("right", error=worst), executable)

    def _reference(self, arguments: Sequence[Any], noise: Noise | None = None) -> list[Any]:
        machine = Machine(self._made.module.operation, around=None if noise is None else noise.around)
        return machine.call("main", list(arguments))

    def _compared(
        self, executable: Executable, arguments: Sequence[Any], expected: list[Any]
    ) -> tuple[Verdict | None, Error]:
        first: list[Any] = []
        for number in range(_REPEATS):
            placed = [guarded(array, at_end=number % 2 == 0) for array in arguments]
            try:
                found = called(executable, placed, PATTERNS[number % 2])
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
        return self._used(executable, arguments, first), error_of(first, expected)

    def _used(self, executable: Executable, arguments: Sequence[Any], first: Sequence[Any]) -> Verdict | None:
        """What is wrong with a model's program that gives the right results."""
        if self._case.group != "models":
            return None
        try:
            changes = change_in_use(executable, arguments, first)
            if changes:
                return self._verdict("unsteady", changes)
            taken = wrong_argument_taken(executable, arguments)
            if taken:
                return self._verdict("error", taken)
            leaked = memory_leaked(executable, arguments)
            if leaked:
                return self._verdict("leak", f"each call leaves {leaked} bytes of memory behind")
            isolated.enter(WITHOUT_MEMORY)
            fault = fault_without_memory(executable, arguments, first)
            isolated.enter(CHECKED)
            return self._verdict("no memory", f"without memory, {fault}") if fault else None
        except Exception as error:  # whatever a program raises here, it has had results before
            return self._verdict("error", f"{type(error).__name__}: {_words(error)}")

    def _different(self, arguments: Sequence[Any], found: list[Any], expected: list[Any]) -> str:
        different = ""
        for count in (SHAKES, MANY_SHAKES):
            isolated.enter(REFERENCE)
            shaken = [self._reference(arguments, Noise(seed)) for seed in range(count)]
            isolated.enter(CHECKED)
            different = problem(found, expected, shaken, self._subject.tolerance)
            if not different:
                return ""
        return different

    def _with_times(self, verdict: Verdict, executable: Executable) -> Verdict:
        if not self._subject.is_timed:
            return verdict
        alone = self._compiled(())
        return verdict._replace(seconds=self._timed(executable), target_seconds=self._timed(alone))

    def _timed(self, executable: Executable) -> float:
        """The shortest of some calls."""
        run = executable.ready("main", *map(tensor, map(numpy.array, self._made.calls[0])))
        found = []
        for _ in range(_TIMED):
            start = time.perf_counter()
            run()
            found.append(time.perf_counter() - start)
        return min(found)

    def _verdict(self, verdict: str, reason: str = "", error: Error | None = None) -> Verdict:
        return Verdict(self._case.name, self._case.group, verdict, reason, error, **self._facts)


def _taken(facts: Sequence[Any]) -> dict[str, Any]:
    given = [fact for fact in facts if fact["kind"] == "partition"]
    made = {fact["name"]: fact for fact in facts if fact["kind"] == "external"}
    parts = [(fact, name) for fact in given for name in fact["parts"] if not made.get(name, {}).get("reason")]
    taken = sum(sum(fact["of_parts"].get(name, {}).values()) for fact, name in parts)
    sizes = [fact[way] for fact in given if fact["parts"] for way in ("bytes_in", "bytes_out")]
    across = sum(sizes) if sizes and all(isinstance(size, int) for size in sizes) else None
    return {"taken": taken, "operators": max((fact["operators"] for fact in given), default=0), "bytes_across": across}


def _why_not(facts: Sequence[Any]) -> str:
    declined = [fact["reason"] for fact in facts if fact["kind"] == "external" and fact["reason"]]
    kept = [f"{fact['operator']}: {fact['reason']}" for fact in facts if fact["kind"] == "kept"]
    return "; ".join(dict.fromkeys([*declined, *kept]))[:_MOST_WORDS]


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MOST_WORDS]
