# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""3x3 convolutions by Winograd's minimal filtering, against direct sums: times, and errors relative to sums in f64.

    python bench/winograd.py                             prints the table
    python bench/winograd.py --batch 8                   for that many pictures
    python bench/winograd.py build/models/resnet18.onnx  a call of a model, its outputs against direct sums

Eight convolutions follow each other, with kernels of their own and a relu, as in networks, so that kernels come from
memory. All take turns in one run. Figures are of the fastest call, by its thread's CPU time, or with --threads by the
clock. An error is the largest difference relative to the largest number of the result.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from numpy.lib.stride_tricks import sliding_window_view

import relax_mlir as rx
from relax_mlir import relax

TARGETS = {"direct": "llvm", "F(2,3)": "llvm{winograd=2}", "F(4,3)": "llvm{winograd=4}"}
#: Channels and the side of a picture: of ResNets' four stages, of VGG; few.
SHAPES = [(64, 56), (128, 28), (256, 14), (512, 7), (64, 224), (128, 112), (256, 56), (32, 112), (16, 112)]
COUNT = 8
ROUNDS = 20
GIGA = 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.model:
        of_model(given.model, given.batch, given.threads)
        return
    print("convolutions            direct, GFLOP/s  F(2,3)  F(4,3)   errors: direct, F(2,3), F(4,3)")
    for channels, side in SHAPES:
        row(channels, side, given.batch, given.threads)


def row(channels: int, side: int, batch: int, threads: int) -> None:
    random = numpy.random.default_rng(0)
    weights = [kernel(random, channels) for _ in range(COUNT)]
    data = random.normal(size=(batch, channels, side, side)).astype("float32")
    calls = {name: compiled(network(weights, data.shape), target, threads) for name, target in TARGETS.items()}
    errors = [error(weights[0], data, target) for target in TARGETS.values()]
    times = fastest({name: lambda call=call: call(data) for name, call in calls.items()}, threads)
    work = COUNT * 2 * 9 * channels**2 * side**2 * batch
    ratios = "  ".join(f"{times[name] / times['direct']:6.2f}" for name in list(TARGETS)[1:])
    shown = "  ".join(f"{each:.1e}" for each in errors)
    name = f"{batch}x{channels}x{side}x{side}"
    print(f"{name:22}  {work / times['direct'] / GIGA:15.0f}  {ratios}   {shown}", flush=True)


def kernel(random: Any, channels: int) -> Any:
    """Return a random kernel that preserves the magnitude of numbers."""
    return (random.normal(size=(channels, channels, 3, 3)) * (2 / 9 / channels) ** 0.5).astype("float32")


def network(weights: list[Any], shape: tuple[int, ...], relu: bool = True) -> rx.Module:
    module = rx.Module()
    with module.function("main", [rx.tensor(shape)]) as f:
        (value,) = f
        for weight in weights:
            value = relax.nn.conv2d(value, relax.const(weight), padding=1)
            value = relax.nn.relu(value) if relu else value
        f.returns(value)
    return module


def compiled(module: rx.Module, target: str, threads: int) -> Callable[..., Any]:
    executable = rx.compile(module, target)
    executable.threads = threads
    return executable["main"]


def error(weight: Any, data: Any, target: str) -> float:
    """Return the error of one convolution."""
    actual = numpy.asarray(compiled(network([weight], data.shape, relu=False), target, 1)(data)[:1])
    padded = numpy.pad(data[:1].astype("float64"), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = sliding_window_view(padded, (3, 3), (2, 3))[0]
    expected = numpy.tensordot(weight.astype("float64"), windows, ([1, 2, 3], [0, 3, 4]))
    return float(abs(actual[0] - expected).max() / abs(expected).max())


def of_model(path: str, batch: int, threads: int) -> None:
    data = numpy.random.default_rng(0).normal(size=(batch, 3, 224, 224)).astype("float32")
    calls = {name: compiled(rx.from_onnx(path), target, threads) for name, target in TARGETS.items()}
    results = {name: numpy.asarray(call(data)) for name, call in calls.items()}
    times = fastest({name: lambda call=call: call(data) for name, call in calls.items()}, threads)
    for name, seconds in times.items():
        apart = abs(results[name] - results["direct"]).max() / abs(results["direct"]).max()
        print(f"{name:8} {seconds * 1e3:8.2f} ms  {seconds / times['direct']:.2f}  {apart:.1e} apart")


def fastest(calls: Mapping[str, Callable[[], Any]], threads: int) -> dict[str, float]:
    clock = time.thread_time if threads == 1 else time.perf_counter
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


if __name__ == "__main__":
    os.environ.setdefault("RELAX_NUM_THREADS", "1")
    main()
