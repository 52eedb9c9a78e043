# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurement of programs with parts by codegens: compile, compare the results with the target's, and time in turns.

The functions run in a process of their own, which a codegen may crash.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import relax_mlir as rx
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.runtime import to_numpy
from relax_mlir.support.plugins import load_plugin
from relax_mlir_cluster.turns import time_in_turns

from .tasks import inputs_of

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Generator

#: Largest difference of results from the target's, as a share of the largest result. Codegens may round differently.
MOST_ERROR = 0.05
_NO_SIZE = "the size {} has no value: pass it in sizes="


@dataclass(frozen=True)
class PlacementJob:
    """Program or region to measure, as bytes for another process."""

    module: bytes
    target: str
    threads: int = 1
    precision: str = "f32"
    bind: tuple[tuple[str, int], ...] = ()
    #: Sizes of symbols of the arguments.
    sizes: tuple[tuple[str, int], ...] = ()
    #: Folder of tuned kernels, or "".
    tuned: str = ""
    #: Modules or files with codegens.
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlacementChoice:
    """Codegens in the order of priority, and the planner: the file of a placement, or priority."""

    codegens: tuple[str, ...] = ()
    plan: str = "priority"


@dataclass(frozen=True)
class MeasuredRows:
    """Result of a measurement."""

    #: Seconds of a call of each program, for each turn.
    turns: tuple[tuple[float, ...], ...] = ()
    #: Difference of each program's results from the target's, as a share of the largest result.
    errors: tuple[float, ...] = ()
    #: Why there are no times.
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_wrong(self) -> bool:
        return max(self.errors, default=0.0) > MOST_ERROR


@lru_cache(maxsize=1)
def _prepare(job: PlacementJob) -> tuple[rx.Module, Sequence[ndarray]]:
    """Return the module and its arguments."""
    import numpy

    for name in job.plugins:
        load_plugin(name)
    module = rx.Module.parse(job.module)
    sizes, draw = {**dict(job.bind), **dict(job.sizes)}, numpy.random.default_rng(0)
    return module, [_argument(info, sizes, draw) for info in inputs_of(module)]


@lru_cache(maxsize=8)
def _program(job: PlacementJob, choice: PlacementChoice) -> tuple[Callable[..., object], Sequence[ndarray]]:
    """Return a program and its results."""
    module, arguments = _prepare(job)
    partition = rx.Partition(choice.codegens, plan=choice.plan) if choice.codegens else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts that a codegen declines are the target's
        made = rx.compile(
            module,
            job.target,
            partition=partition,
            bind=dict(job.bind),
            precision=job.precision,
            tuned=job.tuned or None,
            jobs=1,
        )
        made.threads = job.threads
        program = cast("Callable[..., object]", made["main"])
        return program, _arrays(program(*arguments))


def measure_choices(job: PlacementJob, choices: Sequence[PlacementChoice], turns: int) -> MeasuredRows:
    """Compile and time the programs of several choices, in turns."""
    start = time.perf_counter()
    try:
        programs = [_program(job, choice) for choice in choices]
        _, expected = _program(job, PlacementChoice())
        errors = tuple(_error(results, expected) for _, results in programs)
        rows = MeasuredRows(errors=errors, problem="the results differ from those of the target")
        if not rows.is_wrong:
            _, arguments = _prepare(job)
            rows = MeasuredRows(tuple(time_in_turns([program for program, _ in programs], arguments, turns)), errors)
    except Exception as error:  # codegens and their runtimes raise anything
        reason = error.message if isinstance(error, rx.RelaxError) else f"{type(error).__name__}: {error}"
        rows = MeasuredRows(problem=(reason.splitlines() or [""])[0])
    return MeasuredRows(rows.turns, rows.errors, rows.problem, time.perf_counter() - start)


def _argument(info: rx.TensorInfo, sizes: Mapping[str, int], draw: Generator) -> ndarray:
    """Return a random tensor. Integers are 0 or 1, which are places in any tensor."""
    shape = [_size(each, sizes) for each in info.shape or ()]
    numbers = draw.standard_normal(shape) if is_float(info.dtype) else draw.integers(0, 2, shape)
    return numbers.astype(storage_dtype(info.dtype))


def _size(size: object, sizes: Mapping[str, int]) -> int:
    if isinstance(size, int):
        return size
    if not isinstance(size, SymExpr):
        raise rx.RelaxError("an argument has a size without a name")
    if (missing := next((name for name in size.variables if name not in sizes), None)) is not None:
        raise rx.RelaxError(_NO_SIZE.format(missing))
    return size.evaluate(dict(sizes))


def _arrays(results: Any) -> list[ndarray]:
    listed = results if isinstance(results, (list, tuple)) else [results]
    return [to_numpy(each).copy() for each in listed]


def _error(results: Sequence[ndarray], expected: Sequence[ndarray]) -> float:
    """Return the largest difference of results, as a share of the largest one, or infinity for other NaNs."""
    import numpy

    largest = 0.0
    for one, other in zip(results, expected, strict=True):
        if not (numpy.issubdtype(one.dtype, numpy.number) or one.dtype == bool):
            continue
        left, right = one.astype("float64"), other.astype("float64")
        known = numpy.isfinite(right)
        if not numpy.array_equal(known, numpy.isfinite(left)):
            return float("inf")
        scale = float(numpy.abs(right[known]).max(initial=1e-30))
        largest = max(largest, float(numpy.abs(left[known] - right[known]).max(initial=0.0)) / scale)
    return largest
