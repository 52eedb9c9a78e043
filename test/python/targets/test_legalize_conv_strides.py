# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions with strides for which no vector loads exist, compiled for llvm and run, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx_oracle import run_onnx
from prim_jit import run_op


def normal(*shape: int, seed: int = 3) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize(("taps", "stride"), [(10, 5), (5, 5), (15, 6), (4, 8), (3, 3), (7, 4)])
@pytest.mark.parametrize("shape", [(2, 3, 41), (1, 2, 3, 33)])
def test_long_strides(taps: int, stride: int, shape: tuple[int, ...]) -> None:
    """Split rows by phases if a divisor of taps and stride leaves a stride of 1 or 2; padded, or of dynamic sizes."""
    others = (1,) * (len(shape) - 3)
    data, weight = normal(*shape), normal(5, shape[1], *others, taps, seed=4)
    name, strides = f"relax.nn.conv{len(shape) - 2}d", (*others, stride)
    padding = (*(0 for _ in others), 2)
    padded = run_onnx("Conv", data, weight, strides=strides, pads=padding * 2)[0]
    close(run_op(name, data, weight, strides=strides, padding=padding * 2), padded)
    open_sizes = [("n", "c", "h", "w")[:2] + ("h", "w")[-len(strides) :], weight.shape]
    plain = run_onnx("Conv", data, weight, strides=strides)[0]
    close(run_op(name, data, weight, strides=strides, symbols=open_sizes), plain)


def close(actual: Any, expected: Any) -> None:
    assert actual.shape == expected.shape
    numpy.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def test_windows_longer_than_open_rows_have_no_places() -> None:
    data, weight = normal(2, 3, 7), normal(5, 3, 10)
    symbols = [("n", 3, "w"), weight.shape]
    assert run_op("relax.nn.conv1d", data, weight, strides=(5,), symbols=symbols).shape == (2, 5, 0)
