# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations after a product are in its kernel, also several; quantized models multiply bytes."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_gpu import run_emulated
from relax_mlir.runtime import Executable, tensor, to_numpy

import relax_mlir as rx
from relax_mlir import relax


def run(program: Executable, *arrays: np.ndarray) -> np.ndarray:
    return to_numpy(run_emulated(program, *map(tensor, arrays)))


def code_of(program: Executable) -> str:
    return bytes(program._artifact.devices[0].data).decode()


@pytest.mark.parametrize("rows", [40, "n"])
def test_rounding_bias_and_relu_are_one_kernel(rows: int | str) -> None:
    """Round halves before the bias is added, as two operations."""
    module = rx.Module()
    shapes = ((rows, 72), (72, 33), (33,))
    with module.function("main", [rx.tensor(shape, "float16") for shape in shapes]) as f:
        x, w, b = f
        f.returns(relax.nn.relu(relax.add(relax.matmul(x, w), b)))
    program = rx.compile(module, "cuda")
    assert len(program._artifact.devices[0].kernels) == 1
    random = np.random.default_rng(5)
    x, w, b = ((random.integers(-16, 16, shape) / 16).astype(np.float16) for shape in ((40, 72), (72, 33), (33,)))
    expected = np.maximum((x.astype(np.float32) @ w.astype(np.float32)).astype(np.float16) + b, np.float16(0))
    np.testing.assert_array_equal(run(program, x, w, b), expected)


def test_functions_of_many_registers_stay_apart() -> None:
    module = rx.Module()
    shapes = ((128, 72), (72, 128), (128,))
    with module.function("main", [rx.tensor(shape, "float16") for shape in shapes]) as f:
        x, w, b = f
        f.returns(relax.nn.gelu(relax.add(relax.matmul(x, w), b)))
    assert len(rx.compile(module, "cuda")._artifact.devices[0].kernels) == 2


def quantized() -> rx.Module:
    """Return a convolution of dequantized bytes with a quantized result, in the form of onnxruntime's tools."""
    module = rx.Module()
    weights = np.random.default_rng(2).integers(-127, 128, (16, 8, 3, 3)).astype(np.int8)

    def real(x: object, scale: float, zero: int, dtype: str) -> object:
        return relax.dequantize(x, relax.const(np.float32(scale)), relax.const(np.array(zero, dtype)), axis=-1)

    with module.function("main", [rx.tensor((1, 8, 10, 10), "uint8")]) as f:
        x = real(*f, 0.05, 113, "uint8")
        w = real(relax.const(weights), 0.01, 0, "int8")
        y = relax.nn.relu(relax.nn.conv2d(x, w, padding=[1, 1, 1, 1]))
        f.returns(relax.quantize(y, relax.const(np.float32(0.3)), relax.const(np.array(0, "int8")), axis=-1))
    return module


def test_quantized_convolutions_multiply_bytes() -> None:
    program, on_cpu = rx.compile(quantized(), "cuda"), rx.compile(quantized())
    assert "m16n8k32" in code_of(program)
    x = np.random.default_rng(4).integers(0, 256, (1, 8, 10, 10)).astype(np.uint8)
    found, expected = run(program, x), to_numpy(on_cpu["main"](tensor(x)))
    # A result between two steps may be rounded to either.
    apart = np.abs(found.astype(int) - expected.astype(int))
    assert expected.std() > 10 and apart.max() <= 1 and (apart > 0).mean() < 0.01


def test_pools_are_no_products() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((1, 4, 9, 9))]) as f:
        f.returns(relax.nn.max_pool2d(*f, pool_size=[3, 3], strides=[2, 2]))
    planned = str(rx.stages("cuda").until("plan").run(module, "cuda") or module)
    assert "it does not reduce over two inputs" in planned and '"order' not in planned
