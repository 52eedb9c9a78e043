# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization: inferred types against numpy, scales for the tensor or for each slice."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir.dialects.relax.qdq  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import tensor, unranked
from symbolic import evaluated, named

REALS = st.sampled_from(["f16", "bf16", "f32"])
QUANTIZED = st.sampled_from(["i4", "ui4", "i8", "ui8", "i16", "ui16", "f8E4M3FN", "f8E5M2", "f4E2M1FN"])
DEQUANTIZABLE = QUANTIZED | st.sampled_from(["i32", "ui32", "f16", "f32"])
ZERO_POINTS = QUANTIZED | st.sampled_from(["i32", "f16"])


@st.composite
def parameters(draw):
    """Draw a shape, one of its axes, and the shapes of scale and zero point: one number, or one for each slice."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    several = st.sampled_from([(), (1,), (shape[axis],)])
    return shape, axis, draw(several), draw(several)


def quantized_shape(shape, axis, scale, zero_point):
    """Return the shape of data / scale + zero_point with slices along the axis."""
    slices = [1] * len(shape)
    slices[axis] = -1
    return (numpy.zeros(shape) / numpy.ones(scale).reshape(slices) + numpy.zeros(zero_point).reshape(slices)).shape


@draws(50)
@given(parameters(), REALS, REALS, ZERO_POINTS, QUANTIZED)
def test_quantize_keeps_the_shape(drawn, dtype, scale_dtype, zero_dtype, out_dtype):
    shape, axis, scale, zero_point = drawn
    operands = [tensor(*scale, dtype=scale_dtype), tensor(*zero_point, dtype=zero_dtype)]
    expected = tensor(*quantized_shape(*drawn), dtype=out_dtype)
    assert infer("relax.quantize", tensor(*shape, dtype=dtype), *operands, axis, out_dtype) == [expected]
    symbolic, sizes = named(shape, dtype)
    assert evaluated(infer("relax.quantize", symbolic, *operands, axis, out_dtype)[0], sizes) == expected


@draws(50)
@given(parameters(), DEQUANTIZABLE, REALS, ZERO_POINTS, REALS)
def test_dequantize_keeps_the_shape(drawn, dtype, scale_dtype, zero_dtype, out_dtype):
    shape, axis, scale, zero_point = drawn
    operands = [tensor(*scale, dtype=scale_dtype), tensor(*zero_point, dtype=zero_dtype)]
    expected = tensor(*quantized_shape(*drawn), dtype=out_dtype)
    assert infer("relax.dequantize", tensor(*shape, dtype=dtype), *operands, axis, out_dtype) == [expected]


def test_defaults():
    assert infer("relax.quantize", tensor("n", 4), tensor(4), tensor(dtype="i8")) == [tensor("n", 4, dtype="i8")]
    assert infer("relax.dequantize", tensor("n", 4, dtype="ui8"), tensor(), tensor(4, dtype="ui8")) == [tensor("n", 4)]


def test_slices_that_may_fit_are_taken():
    for data, scale in [(tensor(2, "n"), tensor(4)), (tensor(2, 4), tensor("n")), (tensor(2, None), tensor("n"))]:
        assert infer("relax.quantize", data, scale, tensor(dtype="i8")) == [data.with_dtype("i8")]
    assert infer("relax.quantize", unranked(), unranked(), tensor(4, dtype="i8"), 7) == [unranked("i8")]


@pytest.mark.parametrize("axis", [0, -1])
def test_a_single_number_is_quantized_as_a_whole(axis):
    assert infer("relax.quantize", tensor(), tensor(1), tensor(dtype="i8"), axis) == [tensor(dtype="i8")]
