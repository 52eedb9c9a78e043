# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products in compiled programs: with the codegen `blas`, without it, and in NumPy; each on one thread.

OPENBLAS_NUM_THREADS=1 python bench/blas.py        microseconds per call, the fastest of some rounds, in turns
python bench/blas.py --parts                       overhead of a part relative to its product
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy
import parts

import relax_mlir as rx
from relax_mlir import relax

SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1, 64), (64, 64)), ((64, 64), (64, 64)), ((256, 256), (256, 256)), ((1024, 1024), (1024, 1024)),
    ((8, 128, 768), (768, 768)), ((8, 12, 128, 64), (8, 12, 64, 128)),
]  # fmt: skip
ROUNDS = 7
# A measurement of calls must take at least this long.
LEAST_SECONDS = 0.02


def compiled(shapes: tuple[tuple[int, ...], ...], codegens: list[str]) -> Any:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape) for shape in shapes]) as f:
        f.returns(relax.matmul(*f))
    return rx.compile(module, partition=codegens)["main"].packed


def microseconds(calls: list[Callable[[], object]]) -> list[float]:
    """Return the microseconds of each call, measured in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for place, call in enumerate(calls):
            count, start = 0, time.thread_time()
            while (taken := time.thread_time() - start) < LEAST_SECONDS or not count:
                call()
                count += 1
            best[place] = min(best[place], taken / count * 1e6)
    return best


def main() -> None:
    if "--parts" in sys.argv[1:]:
        weight = numpy.full((4, 4), 0.1, "float32")
        print(parts.HEAD)
        print(parts.row("blas", lambda x: relax.matmul(x, relax.const(weight)), (2, 4)))
        return
    print(f"{'shapes':>36}{'blas, us':>12}{'without, us':>14}{'numpy, us':>12}")
    for shapes in SHAPES:
        rng = numpy.random.default_rng(0)
        a, b = (rng.standard_normal(shape).astype("float32") for shape in shapes)
        programs = [compiled(shapes, codegens) for codegens in (["blas"], [])]
        calls: list[Any] = [lambda p=p, a=a, b=b: p(a, b) for p in programs]
        times = microseconds([*calls, lambda a=a, b=b: a @ b])
        print(f"{'x'.join(map(str, shapes[0])):>18}{'x'.join(map(str, shapes[1])):>18}"
              f"{times[0]:>12.1f}{times[1]:>14.1f}{times[2]:>12.1f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
