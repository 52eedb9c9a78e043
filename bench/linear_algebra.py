# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eigenvalues and singular values: compiled, in NumPy and in XLA, in milliseconds per call, the fastest of some rounds.

OPENBLAS_NUM_THREADS=1 build/env-jax/bin/python bench/linear_algebra.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

import relax_mlir as rx
from relax_mlir import relax

SIZES = (16, 256, 1024)
DTYPES = ("float32", "float64")
#: All calls of a row are measured for so many seconds together.
SECONDS, LEAST_ROUNDS = 12.0, 3


def compile_call(operator: Callable[..., Any], matrix: numpy.ndarray) -> Callable[..., Any]:
    module = rx.Module()
    with module.function("main", [rx.tensor(matrix.shape, matrix.dtype.name)]) as f:
        f.returns(*operator(*f))
    return rx.compile(module)["main"]


def measure(calls: list[Callable[[], object]]) -> list[float]:
    """Return the milliseconds of each call, measured in turns."""
    best, rounds, end = [float("inf")] * len(calls), 0, time.perf_counter() + SECONDS
    while rounds < LEAST_ROUNDS or (time.perf_counter() < end and rounds < 3000):
        rounds += 1
        for place, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[place] = min(best[place], (time.perf_counter() - start) * 1e3)
    return best


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(f"{'':24}{'compiled':>10}{'NumPy':>10}{'XLA':>10}{'ratio to the better':>22}")
    functions: dict[str, tuple[Callable[..., Any], ...]] = {
        "eigh": (relax.linalg.eigh, numpy.linalg.eigh, jnp.linalg.eigh),
        "svd": (relax.linalg.svd, numpy.linalg.svd, jnp.linalg.svd),
    }
    for dtype in DTYPES:
        for size in SIZES:
            matrix = numpy.random.default_rng(0).standard_normal((size, size)).astype(dtype)
            for name, (operator, in_numpy, in_jax) in functions.items():
                operand = matrix + matrix.T if name == "eigh" else matrix
                ours, jitted, on_device = compile_call(operator, operand), jax.jit(in_jax), jnp.asarray(operand)
                calls = [
                    lambda ours=ours, x=operand: ours(x),
                    lambda in_numpy=in_numpy, x=operand: in_numpy(x),
                    lambda jitted=jitted, x=on_device: jax.block_until_ready(jitted(x)),
                ]
                times = measure(calls)
                shown = "".join(f"{milliseconds:10.3f}" for milliseconds in times)
                print(f"{f'{name} {dtype} {size}':24}{shown}{times[0] / min(times[1:]):22.2f}", flush=True)


if __name__ == "__main__":
    main()
