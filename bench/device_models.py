# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on devices of Vulkan and OpenCL against CPU code: launches, copied bytes, times of calls and of compilation.

    python bench/device_models.py

Weights are random. A call has its arguments on the device and ends when its results are there. Compilation starts with
a module and ends with a program in memory that is not loaded. Times are medians, in turns.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
from relax_mlir.runtime.errors import DeviceError
from relax_mlir_spirv.opencl_runtime.driver import driver as opencl
from relax_mlir_spirv.vulkan_runtime.driver import driver as vulkan

import relax_mlir as rx
from relax_mlir import relax

_DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "digits.onnx"
_CALLS, _COMPILES = 7, 3


class Weights:
    """Constants of a model, with small values since many are summed."""

    def __init__(self) -> None:
        self._random = numpy.random.default_rng(3)

    def __call__(self, *shape: int, around: float = 0.0) -> Any:
        added = numpy.prod(shape[1:]) if len(shape) > 2 else shape[0]
        return relax.const((around + self._random.normal(size=shape) / numpy.sqrt(added)).astype("float32"))


def digits() -> tuple[rx.Module, list[Any]]:
    return rx.from_onnx(_DIGITS), [numpy.random.default_rng(0).random((32, 1, 8, 8), "float32")]


def encoder(layers: int, width: int, heads: int, words: int, *, is_causal: bool) -> tuple[rx.Module, list[Any]]:
    """Return layers of attention and two products over one sequence."""
    w = Weights()

    def normed(x: Any) -> Any:
        return relax.nn.layer_norm(x, w(width, around=1.0), w(width), axes=[-1], epsilon=1e-5)

    def linear(x: Any, inputs: int, outputs: int) -> Any:
        return relax.add(relax.matmul(x, w(inputs, outputs)), w(outputs))

    module = rx.Module()
    with module.function("main", [rx.tensor((1, "length", width))]) as f:
        (x,) = f
        split = (1, "length", heads, width // heads)
        for _ in range(layers):
            query, key, value = (relax.reshape(linear(x, width, width), split) for _ in range(3))
            met = relax.nn.attention(query, key, value, causal_mask="TopLeft" if is_causal else None)
            x = normed(relax.add(x, linear(relax.reshape(met, (1, "length", width)), width, width)))
            x = normed(relax.add(x, linear(relax.nn.gelu(linear(x, width, 4 * width)), 4 * width, width)))
        f.returns(x)
    return module, [numpy.random.default_rng(1).normal(size=(1, words, width)).astype("float32")]


def mobilenet_blocks() -> tuple[rx.Module, list[Any]]:
    """Return MobileNetV2's inverted residuals of 24 channels, 28 x 28, and one that halves the image."""
    w = Weights()

    def conv(x: Any, inputs: int, outputs: int, size: int, stride: int = 1, groups: int = 1) -> Any:
        filters = w(outputs, inputs // groups, size, size)
        x = relax.nn.conv2d(x, filters, strides=stride, padding=size // 2, groups=groups)
        return relax.add(x, relax.reshape(w(outputs), (1, outputs, 1, 1)))

    def relu6(x: Any) -> Any:
        return relax.clip(x, min=0, max=6)

    module = rx.Module()
    with module.function("main", [rx.tensor((1, 24, 28, 28))]) as f:
        (x,), inputs = f, 24
        for outputs, stride in ((24, 1), (24, 1), (32, 2), (32, 1)):
            y = relu6(conv(x, inputs, 6 * inputs, 1))
            y = relu6(conv(y, 6 * inputs, 6 * inputs, 3, stride, 6 * inputs))
            y = conv(y, 6 * inputs, outputs, 1)
            x = relax.add(x, y) if stride == 1 and inputs == outputs else y
            inputs = outputs
        f.returns(relax.nn.adaptive_avg_pool2d(x, output_size=1))
    return module, [numpy.random.default_rng(2).random((1, 24, 28, 28), "float32")]


MODELS: Mapping[str, Callable[[], tuple[rx.Module, list[Any]]]] = {
    "digits, 32 of them": digits,
    "transformer, 2 layers of 64, 32 words": lambda: encoder(2, 64, 4, 32, is_causal=True),
    "MobileNetV2, 4 blocks": mobilenet_blocks,
    "BERT, 2 layers of 128, 32 words": lambda: encoder(2, 128, 4, 32, is_causal=False),
}


def targets() -> dict[str, str]:
    """Return the target for each available device, by the device's name."""
    found = {}
    for kind, driver in (("vulkan", vulkan), ("opencl", opencl)):
        try:
            device = driver().device(0)
        except DeviceError as error:
            print(f"no {kind}: {error}")
            continue
        found[str(device)] = getattr(device, "target", kind)
    return found


def main() -> None:
    there = targets()
    print("| | launches | KB in | KB out | ms a call | llvm, 1 thread | 2 threads | s to compile | llvm |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, build in MODELS.items():
        module, arguments = build()
        on_cpu = rx.compile(module.copy(), cache=False)
        expected = rx.runtime.to_numpy(on_cpu["main"](*map(rx.runtime.tensor, arguments)))
        for device, target in there.items():
            program = rx.compile(module.copy(), target, cache=False)
            found = rx.runtime.to_numpy(program.copying()["main"](*map(rx.runtime.tensor, arguments)))
            numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * numpy.abs(expected).max())
            moved = sum(each.nbytes for each in arguments), found.nbytes
            launches = len(list(program.trace("main", *arguments).of_kind("launch")))
            called, one, two = calls(program, on_cpu, arguments)
            compiled, by_llvm = compiling(module, target)
            shown = f"{moved[0] / 1024:.1f} | {moved[1] / 1024:.1f} | {called:.2f} | {one:.2f} | {two:.2f}"
            print(f"| {name}: {device} | {launches} | {shown} | {compiled:.2f} | {by_llvm:.2f} |", flush=True)


def calls(program: rx.runtime.Executable, on_cpu: rx.runtime.Executable, arguments: list[Any]) -> list[float]:
    """Return the milliseconds of a call on the device, and on the CPU with one thread and two."""
    ways: list[tuple[rx.runtime.Executable, int]] = [(program, 1), (on_cpu, 1), (on_cpu, 2)]
    times: list[list[float]] = [[] for _ in ways]
    for turn in range(_CALLS + 2):
        for place, (executable, threads) in enumerate(ways):
            executable.threads = threads
            run = executable.ready("main", *arguments)
            run()
            begin = time.perf_counter()
            run()
            if turn >= 2:
                times[place].append(1e3 * (time.perf_counter() - begin))
    return list(map(statistics.median, times))


def compiling(module: rx.Module, target: str) -> list[float]:
    """Return seconds of processor time, of all processes that compile, for a target and for llvm."""
    times: list[list[float]] = [[], []]
    for _ in range(_COMPILES):
        for place, each in enumerate((target, "llvm")):
            begin = _processor_seconds()
            rx.compile(module.copy(), each, cache=False, jobs=1)
            times[place].append(_processor_seconds() - begin)
    return list(map(statistics.median, times))


def _processor_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    main()
