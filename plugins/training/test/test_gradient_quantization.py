# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Straight-through gradients of quantization, compared with their formulas."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest
import relax_mlir as rx
from compiling import array
from relax_mlir import relax

_CASES = [("int8", -128, 127, True), ("int4", -8, 7, False), ("uint8", 0, 255, False), ("int4", -8, 7, True)]


@pytest.mark.parametrize(("dtype", "low", "high", "by_channel"), _CASES)
def test_gradients_pass_inside_of_the_range(dtype: str, low: int, high: int, by_channel: bool) -> None:
    """Compare the gradients by data and scales (learned step sizes) with the formulas."""
    zero = numpy.array([0, 1, 2] if by_channel else 3)
    scale = numpy.array([0.1, 0.2, 0.3] if by_channel else 0.1, "float32")
    axis = 1 if by_channel else -1
    with rx.Module() as module:
        infos = {"x": rx.tensor((4, 3, 5)), "scale": rx.tensor(scale.shape), "w": rx.tensor((4, 3, 5))}
        with module.function("main", infos) as f:
            x, s, w = f
            numbers = relax.quantize(x, s, relax.const(zero, dtype), axis=axis, out_dtype=dtype)
            real = relax.dequantize(numbers, s, relax.const(zero, dtype), axis=axis)
            f.returns(relax.sum(relax.multiply(w, real)))
    rng = numpy.random.default_rng(0)
    data = rng.normal(0, 0.04 * (high - low), (4, 3, 5)).astype("float32")
    weights = rng.normal(size=data.shape).astype("float32")
    _, by_x, by_scale, by_w = map(array, rx.compile(rx.grad(module))["main_adjoint"](data, scale, weights))

    wide, point = (each.reshape(1, -1, 1) if by_channel else each for each in (scale, zero))
    steps = numpy.rint(data / wide) + point
    inside = (steps >= low) & (steps <= high)
    assert 0 < inside.sum() < inside.size
    clipped = numpy.clip(steps, low, high) - point
    numpy.testing.assert_allclose(by_w, clipped * wide, rtol=1e-5)
    numpy.testing.assert_allclose(by_x, numpy.where(inside, weights, 0), rtol=1e-5)
    slopes = weights * numpy.where(inside, clipped - data / wide, clipped)
    numpy.testing.assert_allclose(by_scale, slopes.sum((0, 2) if by_channel else None), rtol=1e-4, atol=1e-4)


def test_gradients_of_small_floats() -> None:
    with rx.Module() as module, module.function("main", {"x": rx.tensor((4,))}) as f:
        one, zero = relax.const(1.0, "float32"), relax.const(0.0, "float16")
        numbers = relax.quantize(*f, one, zero, axis=0, out_dtype="float8_e4m3fn")
        f.returns(relax.sum(relax.dequantize(numbers, one, zero, axis=0)))
    largest = float(ml_dtypes.finfo("float8_e4m3fn").max)
    given = numpy.array([0.01, -largest, 1.1 * largest, -3 * largest], "float32")
    _, by_x = map(array, rx.compile(rx.grad(module))["main_adjoint"](given))
    assert by_x.tolist() == [1, 1, 0, 0]


def test_other_readers_of_integers_get_no_gradient() -> None:
    with rx.Module() as module, module.function("main", {"x": rx.tensor((3,))}) as f:
        (x,) = f
        numbers = relax.quantize(x, relax.const(0.5, "float32"), relax.const(0, "int8"))
        f.returns(relax.sum(relax.add(x, relax.astype(numbers, dtype="float32"))))
    _, by_x = map(array, rx.compile(rx.grad(module))["main_adjoint"](numpy.ones(3, "float32")))
    assert by_x.tolist() == [1, 1, 1]
