# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization and its inverse: one scale, one for each slice, one for each block."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from against_onnxruntime import Compared, one_node
from fixed_inputs import with_constants
from node_suite import Case, cases, check
from onnx import TensorProto

import relax_mlir as rx

rng = numpy.random.default_rng(2)


def real(*sizes: int) -> Any:
    return (rng.standard_normal(sizes) * 100).astype("float32")


def scale(*sizes: int) -> Any:
    return numpy.asarray(rng.random(sizes) + 0.05, "float32")


def compare(op: str, x: Any, constants: dict[str, Any], opset: int = 21, **attributes: Any) -> None:
    model = one_node(op, {"x": x, **constants}, opset=opset, **attributes)
    Compared(with_constants(model, constants))(x)


@pytest.mark.parametrize(
    "case", cases("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"), ids=lambda case: case.name
)
def test_node_suite(case: Case) -> None:
    check(case)


def test_scales_along_an_axis_of_symbolic_size() -> None:
    zero_points = numpy.array([1, 200, 3, 40], "uint8")
    compare("QuantizeLinear", real(3, 4, 5), {"s": scale(4), "z": zero_points}, opset=13, axis=1)
    compare("QuantizeLinear", real(6), {"s": scale(1)}, opset=13)
    compare("QuantizeLinear", real(3), {"s": scale()}, opset=10)
    compare("DequantizeLinear", rng.integers(0, 256, (6, 4)).astype("uint8"), {"s": scale(4), "z": zero_points}, 13)
    compare("DequantizeLinear", rng.integers(-9999, 9999, (3, 4)).astype("int32"), {"s": scale(3)}, 13, axis=0)


@pytest.mark.parametrize("opset", [19, 21, 22, 23])
def test_scales_of_half_precision(opset: int) -> None:
    """Divided in f32, as onnxruntime does; since version 23 in the scale's type, as the text and the reference do."""
    # Each number from 1 to 31 that f16 has. Computed here: on another CPU onnxruntime and the reference agree.
    x = numpy.arange(0x3C00, 0x4FC0, dtype="uint16").view("float16")
    step, zero_point = numpy.array(0.137, "float16"), numpy.array(3, "uint8")
    quotients = x.astype("float32") / step.astype("float32")
    wide, narrow = (
        numpy.clip(numpy.rint(each.astype("float32")) + 3, 0, 255).astype("uint8")
        for each in (quotients, quotients.astype("float16"))
    )
    assert not numpy.array_equal(wide, narrow)
    model = one_node("QuantizeLinear", {"x": x, "s": step, "z": zero_point}, opset=opset)
    found = numpy.from_dlpack(rx.compile(rx.from_onnx(model))["main"](x, step, zero_point))
    numpy.testing.assert_array_equal(found, wide if opset < 23 else narrow)


@pytest.mark.parametrize("count", [4, 1])
def test_scales_of_half_precision_along_an_axis(count: int) -> None:
    """Quantize along an axis, or with one element for all of the data."""
    inputs = {
        "x": (rng.normal(size=(3, 4, 5)) * 20).astype("float16"),
        "s": scale(count).astype("float16"),
        "z": numpy.arange(count, dtype="uint8") * 40 + 20,
    }
    model = one_node("QuantizeLinear", inputs, opset=23, axis=1)
    expected = numpy.rint(inputs["x"] / inputs["s"][:, None]) + inputs["z"][:, None].astype("float32")
    found = numpy.from_dlpack(rx.compile(rx.from_onnx(model))["main"](*inputs.values()))
    numpy.testing.assert_array_equal(found, numpy.clip(expected, 0, 255).astype("uint8"))


def test_blocks() -> None:
    compare("QuantizeLinear", real(6, 8), {"s": scale(3, 8)}, axis=0, block_size=2)
    compare("QuantizeLinear", real(6, 8), {"s": scale(6, 4)}, axis=1, block_size=2, output_dtype=TensorProto.INT8)
    zero_points = rng.integers(0, 256, (6, 4)).astype("uint8")
    data = rng.integers(0, 256, (6, 8)).astype("uint8")
    compare("DequantizeLinear", data, {"s": scale(6, 4), "z": zero_points}, axis=1, block_size=2)


def test_the_last_block_may_be_shorter() -> None:
    x, scales = numpy.array([[2, 4, 9]], "float32"), numpy.array([[2, 3]], "float32")
    inputs = {"x": x, "s": scales}
    model = one_node("QuantizeLinear", inputs, symbolic=False, axis=1, block_size=2, output_dtype=TensorProto.INT8)
    found = rx.compile(rx.from_onnx(model))["main"](x, scales)
    numpy.testing.assert_array_equal(numpy.from_dlpack(found), [[1, 2, 3]])


@pytest.mark.parametrize("data", [real(3, 4), real(3, 4) * 0, abs(real(30, 4)) + 300])
def test_scale_by_the_range_of_data(data: Any) -> None:
    Compared(one_node("DynamicQuantizeLinear", {"x": data}, outputs=3))(data)


def test_an_axis_that_is_none() -> None:
    with pytest.raises(rx.RelaxError, match="axis 2 is out of range for 2 dimensions"):
        rx.from_onnx(one_node("QuantizeLinear", {"x": real(3, 4), "s": scale(4)}, axis=2))
