# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers on denormal numbers, with the target options `denormals=keep` and `denormals=flush`, and on ordinary numbers.

    python bench/denormals.py              prints the table
    python bench/denormals.py --threads 2  on two threads

All calls of a row take turns. Figures are medians by the clock.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy

import relax_mlir as rx
from relax_mlir import relax

KEEP, FLUSH = "llvm", "llvm{denormals=flush}"
ROUNDS = 30
#: Denormal in f32, also after a product with 0.5.
SMALL = 1e-40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    threads = parser.parse_args().threads
    print("milliseconds                  denormal, keep  denormal, flush  ordinary, keep  flush/ordinary")
    for name, shape, layer in layers():
        row(name, shape, layer, threads)


def layers() -> list[tuple[str, tuple[int, ...], Callable[..., Any]]]:
    """Return the name, the shape of the data, and the layer of each row."""
    random = numpy.random.default_rng(0)
    dense, kernel = (random.uniform(0.25, 0.75, size=size).astype("float32") for size in ((512, 512), (64, 64, 3, 3)))
    half = numpy.float32(0.5)
    return [
        ("x * 0.5, 1048576", (1 << 20,), lambda x: relax.multiply(x, relax.const(half))),
        ("sums of rows, 1024x1024", (1024, 1024), lambda x: relax.sum(x, axis=[1])),
        ("dense 256x512x512, relu", (256, 512), lambda x: relax.nn.relu(relax.matmul(x, relax.const(dense)))),
        ("conv 3x3 64, 56x56, relu", (1, 64, 56, 56), lambda x: conv_relu(x, kernel)),
    ]


def conv_relu(data: Any, kernel: Any) -> Any:
    return relax.nn.relu(relax.nn.conv2d(data, relax.const(kernel), padding=1))


def row(name: str, shape: tuple[int, ...], layer: Callable[..., Any], threads: int) -> None:
    denormal = numpy.full(shape, SMALL, "float32")
    ordinary = numpy.random.default_rng(1).uniform(0.5, 1, size=shape).astype("float32")
    keep, flush = (compiled(shape, layer, target, threads) for target in (KEEP, FLUSH))
    times = medians([lambda: keep(denormal), lambda: flush(denormal), lambda: keep(ordinary)])
    kept, flushed, usual = (each * 1e3 for each in times)
    print(f"{name:28}  {kept:14.3f}  {flushed:15.3f}  {usual:14.3f}  {flushed / usual:14.2f}", flush=True)


def compiled(shape: tuple[int, ...], layer: Callable[..., Any], target: str, threads: int) -> Callable[..., Any]:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        f.returns(layer(*f))
    executable = rx.compile(module, target)
    executable.threads = threads
    return executable["main"]


def medians(calls: list[Callable[[], Any]]) -> list[float]:
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for taken, call in zip(times, calls, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return list(map(statistics.median, times))


if __name__ == "__main__":
    main()
