# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of a case's bits: repeated calls, numbers of threads, code for other CPUs, batches, random schedules.

The base is the subject's target with one thread. If an instruction of the CPU orders sums of a program
(`executable.numerics.kernels`), the program is not compared with code for other CPUs, nor with other batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cpu import host_features, host_triple
from relax_mlir.runtime.guard_pages import guarded
from relax_mlir.support.errors import RelaxError
from relax_mlir.targets.core.backend import ChosenTarget
from relax_mlir.targets.core.registry import host_chain, parse_target
from relax_mlir.targets.llvm.objects.code_target import code_target

from .array_bits import first_difference
from .core.cases import Batch, Setup
from .schedule_variants import Draws, compare_schedules
from .usage import Program, called

if TYPE_CHECKING:
    from numpy import ndarray

#: Numbers of threads of a call. The base is the first one.
_THREADS = (1, 2, 3)
#: CPUs that code is generated for, if this CPU can run it. Both have a fused multiply-add.
_CPUS = ("x86-64-v3", "x86-64-v4")
#: Options of llvm that the same bits do not depend on.
_OPTIONS = (("vector-bytes", "16"), ("cores", "1"), ("cores", "8"))
#: Options that do not change the instructions for sums.
_ALWAYS_COMPARED = frozenset({"cores"})
#: Rows of the calls that together compute a batch.
_PARTS = (5, 8)
#: Static sizes of a batch.
_STATIC = (1, 5)
_MOST_WORDS = 200

_NO_DRAWS = Draws(0)
#: Numbers of threads of a program with a random schedule.
_SCHEDULE_THREADS = (1, 2)

#: Results of a call, or the text of its error.
Outcome: TypeAlias = "Sequence[ndarray] | str"
#: Compile a case's module for a target, with numbers for named sizes.
Compile: TypeAlias = Callable[[str, dict[str, int]], Program]


class BitCheck(NamedTuple):
    """Result of the comparison of a case."""

    #: Variant with other bits, and the first place, or "".
    problem: str = ""
    #: Comparisons that were left out, and the reasons.
    notes: tuple[str, ...] = ()
    #: Index of the call that shows the problem.
    call: int | None = None


class _OtherBits(Exception):
    """Raised at the first difference."""

    def __init__(self, problem: str, call: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.call = problem, call


def compare_bits(
    target: str, setup: Setup, base: Program, compile_for: Compile, *, is_target: bool, draws: Draws = _NO_DRAWS
) -> BitCheck:
    """Compare the bits of a program and its variants. `is_target` is False for a codegen's program.

    Raise RelaxError if a variant cannot be compiled.
    """
    notes = list(_notes(setup, base))
    try:
        expected = _own_results(base, setup)
        for words, variant in _variants(target, base) if is_target else ():
            _compare_variant(words, compile_for(variant, {}), setup, expected, notes)
        if setup.batch is not None and not _free_kernels(base):
            _compare_batches(setup.batch, base, lambda sizes: compile_for(target, sizes))
        if is_target and draws.schedules and _has_variants(target):
            for note in compare_schedules(setup.module, target, draws, _compare_threads(setup, expected)):
                notes.append(note)
    except _OtherBits as found:
        return BitCheck(found.problem, tuple(notes), found.call)
    return BitCheck("", tuple(notes))


def _notes(setup: Setup, base: Program) -> Iterator[str]:
    if free := _free_kernels(base):
        yield f"not compared with other CPUs and batches: CPU instructions order the sums of {', '.join(free)}"
    if setup.whole_batch:
        yield f"batches not compared: {setup.whole_batch}"


def _free_kernels(program: Program) -> tuple[str, ...]:
    return program.numerics.kernels if isinstance(program, Executable) else ()


# ---- threads and repeated calls ----


def _own_results(base: Program, setup: Setup) -> list[Outcome]:
    """Return the results of the calls. The program repeats each call, and runs it by several threads."""
    expected = [_outcome(_with_threads(base, _THREADS[0]), arguments) for arguments in setup.calls]
    for threads in _THREADS:
        _compare_calls(f"called again, threads={threads}", _with_threads(base, threads), setup, expected)
    return expected


def _with_threads(program: Program, threads: int) -> Program:
    if isinstance(program, Executable):
        program.threads = threads
    return program


def _compare_calls(words: str, program: Program, setup: Setup, expected: Sequence[Outcome]) -> None:
    for number, (arguments, outcome) in enumerate(zip(setup.calls, expected, strict=True)):
        if problem := _problem(outcome, _outcome(program, arguments, at_end=True), words):
            raise _OtherBits(problem, number)


def _outcome(program: Program, arguments: Sequence[ndarray], *, at_end: bool = False) -> Outcome:
    """Return the results of a call, or its error: both programs may refuse arguments."""
    try:
        return called(program, [guarded(array, at_end=at_end) for array in arguments])
    except Exception as error:  # programs may raise anything
        return f"{type(error).__name__}: {' '.join(str(error).split())[:_MOST_WORDS]}"


def _problem(wanted: Outcome, found: Outcome, words: str) -> str:
    if isinstance(wanted, str) or isinstance(found, str):
        first, second = (outcome if isinstance(outcome, str) else "results" for outcome in (wanted, found))
        return "" if first == second else f"{words}: the call gives {second} instead of {first}"
    difference = first_difference(wanted, found)
    return "" if difference is None else f"{words}: {difference.between('the base', 'the variant')}"


# ---- other CPUs ----


def _has_variants(target: str) -> bool:
    """Check for llvm, and targets with its code."""
    chain = host_chain(parse_target(target).name)
    return next((each.name for each in chain if each.backend is not None), "") == "llvm"


def _variants(target: str, base: Program) -> Iterator[tuple[str, str]]:
    """Yield the options of each variant, and the target with these options."""
    if not _has_variants(target):
        return
    chosen, free = parse_target(target), _free_kernels(base)
    for option, value in (*(("cpu", each) for each in _CPUS if _can_run(each)), *_OPTIONS):
        if free and option not in _ALWAYS_COMPARED:
            continue
        options = {**dict(chosen.options), option: value}
        yield f"{option}={value}", str(ChosenTarget(chosen.name, tuple(sorted(options.items()))))


def _can_run(cpu: str) -> bool:
    """Check whether this CPU can run code for another one."""
    if not host_triple().startswith("x86_64"):
        return False
    return set(code_target(ChosenTarget("llvm", (("cpu", cpu),))).required) <= host_features()


def _compare_variant(words: str, program: Program, setup: Setup, expected: Sequence[Outcome], notes: list[str]) -> None:
    free = _free_kernels(program)
    if free and words.partition("=")[0] not in _ALWAYS_COMPARED:
        notes.append(f"{words} not compared: CPU instructions order the sums of {', '.join(free)}")
        return
    for threads in _THREADS:
        _compare_calls(f"{words} threads={threads}", _with_threads(program, threads), setup, expected)


def _compare_threads(setup: Setup, expected: Sequence[Outcome]) -> Callable[[str, Program], None]:
    def compare(words: str, program: Program) -> None:
        for threads in _SCHEDULE_THREADS:
            _compare_calls(f"{words}, threads={threads}", _with_threads(program, threads), setup, expected)

    return compare


# ---- batches ----


def _compare_batches(batch: Batch, base: Program, compile_for: Callable[[dict[str, int]], Program]) -> None:
    """Compare a batch with its rows in single calls, in two calls, and in programs for static batches."""
    whole = _results(base, batch.arguments, f"{batch.size}={batch.row_count}")
    axes = batch.result_axes
    for counts in ([1] * batch.row_count, list(_PARTS)):
        _compare_parts(f"{batch.size} in calls of {counts[0]}", base, batch, counts, whole, axes)
    if not isinstance(base, Executable):
        return  # a C program is compiled for all sizes of its calls
    for count in _STATIC:
        program, counts = compile_for({batch.size: count}), [count] * (batch.row_count // count)
        _compare_parts(f"static {batch.size}={count}", program, batch, counts, whole, axes)


def _results(program: Program, arguments: Sequence[ndarray], words: str) -> Sequence[ndarray]:
    if isinstance(results := _outcome(program, arguments), str):
        raise RelaxError(f"{words}: {results}")
    return results


def _compare_parts(
    words: str,
    program: Program,
    batch: Batch,
    counts: Sequence[int],
    whole: Sequence[ndarray],
    axes: Sequence[int | None],
) -> None:
    start = 0
    for count in counts:
        rows = range(start, start + count)
        results = _results(program, batch.rows(rows), words)
        pairs = [(_take(a, rows, axis), b) for a, b, axis in zip(whole, results, axes, strict=True) if axis is not None]
        if (difference := first_difference([a for a, _ in pairs], [b for _, b in pairs])) is not None:
            names = f"the {batch.size} of {batch.row_count}", f"the call of rows {start} to {start + count - 1}"
            raise _OtherBits(f"{words}: {difference.between(*names)}")
        start += count


def _take(array: ndarray, rows: range, axis: int) -> ndarray:
    return numpy.take(array, list(rows), axis=axis)
