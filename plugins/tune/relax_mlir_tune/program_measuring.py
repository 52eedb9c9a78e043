# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurement of whole programs: compile a program with edits, compare its results with the default's, and time both.

The functions run in a process of their own.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import relax_mlir as rx
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.compilation.tuned_programs import program_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.passes.core.stage_edits import edit_stages
from relax_mlir.runtime import to_numpy
from relax_mlir_cluster.turns import time_in_turns

from .measuring import KernelJob, Outcome
from .space import Plans

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.random import Generator

#: Largest difference of inexact results, as a share of the largest number, by bytes of an element.
_CLOSE = {8: 1e-10, 4: 1e-4, 2: 3e-2}


@dataclass(frozen=True)
class ProgramJob(KernelJob):
    """Program to measure. `module` has bound sizes."""

    precision: str = "f32"
    #: True if results may differ in the last bits.
    inexact: bool = False
    #: Modules of Python that define passes.
    imports: tuple[str, ...] = ()
    #: Folder for compiled kernels, which most candidates share.
    cache: str = ""


@dataclass
class _Prepared:
    module: rx.Module
    arguments: Sequence[ndarray]
    default: Callable[..., object]
    expected: list[ndarray] = field(default_factory=list)


def measure_program(job: KernelJob, edits: Plans, turns: int) -> Outcome:
    """Compile and time a program with edits of its stages, in turns with the default."""
    assert isinstance(job, ProgramJob)
    start = time.perf_counter()
    try:
        prepared = _prepare(job)
        program = _compile(prepared.module, edits, job)
        results = _results(program(*prepared.arguments))
    except rx.RelaxError as error:
        return Outcome(edits, problem=error.message.splitlines()[0], seconds=time.perf_counter() - start)
    if problem := difference(prepared.expected, results, job.inexact):
        return Outcome(edits, problem=problem, is_wrong=True, seconds=time.perf_counter() - start)
    times = time_in_turns([prepared.default, program], prepared.arguments, turns)
    return Outcome(edits, tuple((default, tuned) for default, tuned in times), seconds=time.perf_counter() - start)


def difference(expected: Sequence[ndarray], found: Sequence[ndarray], inexact: bool) -> str:
    """Return how results differ, or "" if they are equal, or with `inexact` close."""
    if len(expected) != len(found):
        return f"{len(found)} results instead of {len(expected)}"
    if all(one.tobytes() == other.tobytes() for one, other in zip(expected, found, strict=True)):
        return ""
    if not inexact:
        return "the results differ from the default's: the choice needs inexact=True"
    pairs = zip(expected, found, strict=True)
    return "" if all(_are_close(*pair) for pair in pairs) else "the results are far from the default's"


def _are_close(expected: ndarray, found: ndarray) -> bool:
    import numpy

    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if expected.dtype.kind in "iubc":
        return bool((expected == found).all())
    one, other = expected.astype("float64"), found.astype("float64")
    finite = numpy.isfinite(one)
    if not numpy.array_equal(one[~finite], other[~finite], equal_nan=True):
        return False
    most = _CLOSE.get(expected.dtype.itemsize, _CLOSE[2]) * float(numpy.abs(one[finite]).max(initial=0.0))
    return bool((numpy.abs(one - other)[finite] <= most).all())


@lru_cache(maxsize=1)
def _prepare(job: ProgramJob) -> _Prepared:
    """Compile the default, and draw arguments."""
    import numpy

    for name in job.imports:
        importlib.import_module(name)
    module = rx.Module.parse(job.module)
    default = _compile(module, (), job)
    draw, sizes = numpy.random.default_rng(0), dict(job.sizes)
    arguments = [_argument(info, sizes, draw) for info in arguments_of(module)]
    return _Prepared(module, arguments, default, _results(default(*arguments)))


def arguments_of(module: rx.Module) -> list[rx.TensorInfo]:
    """Return the arguments of a program. Raise RelaxError for an argument that is no tensor of known rank."""
    name = program_name(module.operation)
    function = next(each for each in functions_in(module.operation) if symbol_name(each) == name)
    infos = [decode(argument.type) for argument in body_of(function).arguments]
    arguments = [info for info in infos if isinstance(info, rx.TensorInfo) and info.shape is not None and info.dtype]
    if len(arguments) != len(infos):
        raise rx.RelaxError(f"@{name} has arguments that are no tensors of known rank: it cannot be measured")
    return arguments


def _argument(info: rx.TensorInfo, sizes: Mapping[str, int], draw: Generator) -> ndarray:
    """Return a random tensor. Integers are 0 or 1, which are places in any tensor."""
    shape = [size if isinstance(size, int) else sizes[str(size)] for size in info.shape or ()]
    numbers = draw.standard_normal(shape) if is_float(info.dtype) else draw.integers(0, 2, shape)
    return numbers.astype(storage_dtype(info.dtype))


def _compile(module: rx.Module, edits: Plans, job: ProgramJob) -> Callable[..., object]:
    stages = edit_stages(rx.stages(job.target), edits)
    made = rx.compile(module, job.target, pipeline=stages, precision=job.precision, cache=job.cache or False, jobs=1)
    made.threads = job.threads
    return made[program_name(module.operation)]


def _results(results: Any) -> list[ndarray]:
    listed = results if isinstance(results, (list, tuple)) else [results]
    return [to_numpy(each) for each in listed]
