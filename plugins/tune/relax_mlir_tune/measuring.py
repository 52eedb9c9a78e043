# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurement of plans: compile a kernel with them, compare its results with the default's, and time both.

The functions run in a process of their own, on this machine or on a board.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import relax_mlir as rx
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.compilation.schedules import from_rules
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.schedule.tuned_plans import use_plans
from relax_mlir.runtime import to_numpy
from relax_mlir.support.plugins import load_plugin
from relax_mlir.targets.core.registry import parse_target
from relax_mlir_cluster.remote_calls import ProgramBytes
from relax_mlir_cluster.turns import time_in_turns

from .decisions import has_decisions, schedule_kernel
from .space import Plans, machine_of
from .tasks import inputs_of

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Generator

#: Problem of plans that never win.
DIFFERENT = "the results differ from those of the default plans"


@dataclass(frozen=True)
class KernelJob:
    """Kernel to measure, as bytes for another process."""

    key: str
    #: Bytecode of the task's module.
    module: bytes
    target: str
    threads: int
    #: Sizes of symbols of the arguments.
    sizes: tuple[tuple[str, int], ...] = ()
    #: Modules or files that register the target, loaded before anything else.
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """Result of a trial."""

    plans: Plans
    #: Seconds of a call by the default's plans and by these, for each turn.
    turns: tuple[tuple[float, float], ...] = ()
    #: Why the plans have no times.
    problem: str = ""
    #: True if a result differs from the default's.
    is_wrong: bool = False
    seconds: float = 0.0

    @property
    def ratio(self) -> float:
        """Return the median ratio of the times to the default's, or infinity without times."""
        return statistics.median(tuned / default for default, tuned in self.turns) if self.turns else float("inf")


@dataclass
class Prepared:
    """Kernel in a measuring process: its module, arguments, and the program with the default's plans."""

    module: rx.Module
    arguments: Sequence[ndarray]
    #: Call of the default's program with the arguments.
    default: Callable[[], object]
    expected: list[bytes] = field(default_factory=list)


@lru_cache(maxsize=4)
def prepare(job: KernelJob) -> Prepared:
    """Compile the default, and draw arguments."""
    module = module_of(job)
    default, arguments = _compile(module, None, job), arguments_of(module, job)
    expected = _bytes(default.copying()["main"](*arguments))
    return Prepared(module, arguments, default.ready("main", *arguments), expected)


def module_of(job: KernelJob) -> rx.Module:
    """Return the module of a job, after the plug-ins that it needs."""
    for plugin in job.plugins:
        load_plugin(plugin)
    return rx.Module.parse(job.module)


def arguments_of(module: rx.Module, job: KernelJob) -> list[ndarray]:
    """Return random arguments, which are the same in each process."""
    import numpy

    draw, sizes = numpy.random.default_rng(0), dict(job.sizes)
    return [_argument(info, sizes, draw) for info in inputs_of(module)]


def measure(job: KernelJob, plans: Plans, turns: int) -> Outcome:
    """Compile and time a kernel with other plans, in turns with the default."""
    start = time.perf_counter()
    try:
        prepared = prepare(job)
        program = _compile(prepared.module, plans, job)
        if _bytes(program.copying()["main"](*prepared.arguments)) != prepared.expected:
            return Outcome(plans, problem=DIFFERENT, is_wrong=True, seconds=time.perf_counter() - start)
        calls = [prepared.default, program.ready("main", *prepared.arguments)]
        times = time_in_turns(calls, (), turns, clock_of(job.target))
    except Exception as error:  # backends and runtimes of other packages may raise anything
        return Outcome(plans, problem=reason_of(error), seconds=time.perf_counter() - start)
    return Outcome(plans, tuple((default, tuned) for default, tuned in times), seconds=time.perf_counter() - start)


@dataclass(frozen=True)
class Built:
    """Program for a board."""

    program: ProgramBytes
    #: Arguments of a call. Programs with plans have the default's.
    arguments: Sequence[ndarray] | None
    seconds: float


def build(job: KernelJob, plans: Plans | None) -> Built:
    """Compile a kernel for a board with plans, or by the target's rules. Raise RelaxError."""
    start = time.perf_counter()
    module = module_of(job)
    try:
        program = _compile(module, plans, job)
    except Decline as error:
        raise rx.RelaxError(error.reason) from None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.rxa")
        program.save(path)
        with open(path, "rb") as file:
            data = ProgramBytes.of(file.read())
    arguments = arguments_of(module, job) if plans is None else None
    return Built(data, arguments, time.perf_counter() - start)


def reason_of(error: Exception) -> str:
    """Return an error as one sentence."""
    if isinstance(error, Decline):
        reason = error.reason
    elif isinstance(error, rx.RelaxError):
        reason = error.message
    else:
        reason = f"{type(error).__name__}: {error}"
    return reason.partition("\n")[0]


def _compile(module: rx.Module, plans: Plans | None, job: KernelJob) -> rx.runtime.Executable:
    copied = module.copy()
    if plans is not None and has_decisions(plans):
        schedule_kernel(copied, job.target, plans)
    elif plans is not None:
        (function,) = prim_funcs_in(copied.operation)
        use_plans(function, plans, machine_of(job.target))
    made = rx.compile(copied, job.target, pipeline=from_rules(rx.stages(job.target)), cache=False, jobs=1)
    made.threads = job.threads
    return made


def _argument(info: rx.TensorInfo, sizes: Mapping[str, int], draw: Generator) -> ndarray:
    """Return a random tensor. Integers are 0 or 1, which are places in any tensor."""
    shape = [size if isinstance(size, int) else sizes[str(size)] for size in info.shape or ()]
    numbers = draw.standard_normal(shape) if is_float(info.dtype) else draw.integers(0, 2, shape)
    return numbers.astype(storage_dtype(info.dtype))


def clock_of(target: str) -> Callable[[], float] | None:
    """Return the clock of a target's device, or None for this machine's."""
    chosen = parse_target(target)
    return rx.find_backend(chosen.name).clock(chosen)


def _bytes(results: Any) -> list[bytes]:
    listed = results if isinstance(results, (list, tuple)) else [results]
    return [to_numpy(each).tobytes() for each in listed]
