# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of a case's bits with the bits of its kernels under random schedules.

A schedule that changes the order of a sum has to be refused, or without `numerics=same` the kernel has to be listed in
`executable.numerics.kernels`. Both are counted, and are no faults. All other schedules have to keep the bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import symbol_name
from relax_mlir.compilation.compiling import compile, lower
from relax_mlir.compilation.options import CompileOptions
from relax_mlir.compilation.schedules import until_scheduled
from relax_mlir.dialects.core.ir_attributes import SCHEDULE
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.frontends.module import Module
from relax_mlir.passes.kernels.loops.schedule import Schedule
from relax_mlir.passes.kernels.loops.schedule_files import is_writable
from relax_mlir.runtime import Executable
from relax_mlir.support.errors import RelaxError

from .random_schedules import changes, draw_schedule

_SAME, _OTHER_ORDER, _REFUSED = "with the same bits", "refused for the order of a sum", "refused for another reason"
_LISTED = "with another order that the program states"
#: Words of the refusals of an order.
_ORDER_WORDS = ("changes the order of a sum", "adds in the order of its loops")
_MOST_WORDS = 160

#: Raises an exception if a program has other bits. The words name the program.
Compare = Callable[[str, Executable], None]


class Draws(NamedTuple):
    """Random schedules of each kernel."""

    schedules: int
    seed: int = 0


def compare_schedules(module: Module, target: str, draws: Draws, compare: Compare) -> Iterator[str]:
    """Compile a module with random schedules of one kernel at a time, and compare each program.

    Yield a note with the counts for each kernel.
    """
    lowered = lower(module, target, pipeline=until_scheduled(CompileOptions(target).stages()))
    for function in prim_funcs_in(lowered.operation):
        name = symbol_name(function)
        if problem := _problem(function):
            yield f"@{name} has no random schedules: {problem}"
            continue
        counts, reason = Counter[str](), ""
        for number in range(draws.schedules):
            seed = f"{draws.seed} {name} {number}"
            schedule = draw_schedule(function, seed)
            if not changes(schedule):
                counts["without steps"] += 1
                continue
            kind, words = _compare_schedule(module, target, name, schedule, seed, compare)
            counts[kind] += 1
            reason = reason or (words if kind == _REFUSED else "")
        listed = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        yield f"schedules of @{name}: {listed}{f' ({reason})' if reason else ''}"


def _problem(function: Operation) -> str:
    """Return the reason why a PrimFunc cannot have a random schedule, or ""."""
    if SCHEDULE in function.attributes:
        return "it has a schedule"
    if not is_writable(symbol_name(function)):
        return "its name is no name in Python"
    try:
        return "" if Schedule(function).trees() else "it has no blocks"
    except RelaxError as error:
        return _words(error)


def _compare_schedule(
    module: Module, target: str, name: str, schedule: Schedule, seed: str, compare: Compare
) -> tuple[str, str]:
    """Compare a program with a schedule. Return what has become of the schedule, and the words of a refusal."""
    trace = str(schedule.trace)
    schedules: Mapping[str, object] = {name: trace}
    try:
        program = compile(module, target, schedules=schedules, cache=False, jobs=1)
    except RelaxError as error:
        is_order = any(words in str(error) for words in _ORDER_WORDS)
        return (_OTHER_ORDER if is_order else _REFUSED), _words(error)
    if name in program.numerics.kernels:
        return _LISTED, ""
    compare(f"schedule of @{name}, seed '{seed}' [{'; '.join(trace.splitlines()[1:])}]", program)
    return _SAME, ""


def _words(error: RelaxError) -> str:
    return " ".join(str(error).split())[:_MOST_WORDS]
