# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower bound of a model's time: its arithmetic at the machine's peak, or its bytes at the memory's bandwidth.

The larger one counts. Both speeds are measured on the same number of threads. Work is that of products and
convolutions, from the graph; bytes are weights, once, and the model's inputs and results.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import ml_dtypes
import numpy
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import operations_in, parent_of
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.work import bytes_of, work_of
from undisturbed import undisturbed

import relax_mlir as rx
from relax_mlir import relax

#: Data, weight and sum types of the product that measures the peak of a precision.
TYPES = {
    "f32": ("float32", "float32", "float32"),
    "bf16": (ml_dtypes.bfloat16, ml_dtypes.bfloat16, "float32"),
    "int8": ("uint8", "int8", "int32"),
}
_SIZE, _STREAM, _TRIES = 1024, 256 << 20, 15
#: Bytes that one core writes and another one reads. Both have room for them in their own caches.
_HANDED = 256 << 10


class Work(NamedTuple):
    """Operations on numbers, and bytes of weights."""

    flops: int
    weights: int


def work_of_model(module: rx.Module) -> Work | None:
    """Return the work of a model, or None if sizes are dynamic or a loop repeats the work."""
    flops = weights = 0
    for operation in operations_in(module.operation):
        row = row_of(operation.opview)
        if row is None:
            continue
        if row.name == "constant" and not _is_looked_up(operation):
            count = bytes_of(decode(operation.result.type))
            weights += count if isinstance(count, int) else 0
        elif row.pattern == "out_ewise_fusable":
            flops_here, around = work_of(operation.opview).flops, parent_of(operation)
            if not isinstance(flops_here, int) or around is None or around.name != "func.func":
                return None
            flops += flops_here
    return Work(flops, weights)


def _is_looked_up(constant: Operation) -> bool:
    """Check whether a constant is a lookup table, of which a call reads some rows."""
    users = [use.owner.name for use in constant.result.uses]
    return users == ["relax.take"]


def floor(work: Work, ends: int, precision: str, threads: int, target: str = "llvm") -> tuple[float, str]:
    """Return the least seconds, and the limiting resource: "F" for arithmetic, "B" for memory.

    Weights of f32 have half their bytes if the computation is in bf16. `ends` are bytes of inputs and results.
    """
    weights = work.weights / 2 if precision == "bf16" else work.weights
    return max((work.flops / peak(precision, threads, target), "F"), ((weights + ends) / stream(threads), "B"))


@cache
def peak(precision: str, threads: int, target: str = "llvm") -> float:
    """Return the operations per second of a matrix product with a constant right operand."""
    data, weights, sums = TYPES[precision]
    module = rx.Module()
    with module.function("main", [rx.tensor((_SIZE, _SIZE), str(numpy.dtype(data)))]) as f:
        f.returns(relax.matmul(*f, relax.const(numpy.ones((_SIZE, _SIZE), weights)), out_dtype=sums))
    return 2 * _SIZE**3 / _fastest(rx.compile(module, target), numpy.ones((_SIZE, _SIZE), data), threads)


@cache
def stream(threads: int) -> float:
    """Return the bytes per second of a product of a row with weights that exceed the caches."""
    return _STREAM / _fastest(_reader(), numpy.ones((1, _SIZE), "float32"), threads)


@cache
def _reader() -> rx.runtime.Executable:
    weights = numpy.ones((_SIZE, _STREAM // (4 * _SIZE)), "float32")
    module = rx.Module()
    with module.function("main", {"x": rx.tensor(("rows", _SIZE))}) as f:
        f.returns(relax.matmul(*f, relax.const(weights)))
    return rx.compile(module)


def handed() -> float | None:
    """Return the bytes per second that a core reads from another core's recent writes, or None with a single core.

    The host of a virtual machine may move its cores apart, so that they share no cache, and back.
    """
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        return None
    written, read = (numpy.zeros(_HANDED, "uint8") for _ in range(2))
    seconds = []
    with ThreadPoolExecutor(1, initializer=os.sched_setaffinity, initargs=(0, usable[1:2])) as other:
        os.sched_setaffinity(0, usable[:1])
        try:
            for number in range(10 * _TRIES):
                other.submit(written.fill, number).result()
                start = time.perf_counter()
                numpy.copyto(read, written)
                seconds.append(time.perf_counter() - start)
        finally:
            os.sched_setaffinity(0, usable)
    return _HANDED / min(seconds)


def _fastest(program: rx.runtime.Executable, x: object, threads: int) -> float:
    program.threads = threads
    main: Callable[[object], object] = program["main"]

    def fastest() -> float:
        seconds = []
        for _ in range(_TRIES):
            start = time.perf_counter()
            main(x)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    return undisturbed(fastest)
