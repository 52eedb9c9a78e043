# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of an operator's arguments: numbers become scalars of their type, None leaves out an attribute."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from inferring import infer
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import ScalarInfo
from shorthand import refusal, tensor

import relax_mlir as rx
from relax_mlir import relax


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "i64"), (1.5, "f64"), (True, "i1"),
        (numpy.float32(1.5), "f32"), (numpy.float64(1), "f64"), (numpy.float16(1), "f16"),
        (ml_dtypes.bfloat16(1), "bf16"), (ml_dtypes.float8_e4m3fn(1), "f8E4M3FN"), (ml_dtypes.int4(-3), "i4"),
        (numpy.int8(-1), "i8"), (numpy.int32(-7), "i32"), (numpy.bool_(True), "i1"), (numpy.array(2, "int16"), "i16"),
        # Scalars have no sign.
        (numpy.uint8(200), "i64"),
    ],
)  # fmt: skip
def test_a_number_keeps_its_element_type(value: Any, dtype: str) -> None:
    (result,) = infer("relax.one_hot", tensor(3, dtype="i32"), value, value, depth=5)
    assert result == tensor(3, 5, dtype=dtype)


@pytest.mark.parametrize("value", [numpy.array([1.0]), numpy.array([[1]]), numpy.complex64(1), b"n"])
def test_scalar_operands_must_be_numbers(value: Any) -> None:
    message = refusal("relax.one_hot", tensor(3, dtype="i32"), value, value, depth=5)
    assert "operand 'on_value' must be a number or a scalar value" in message


def test_an_unsigned_number_too_large_for_a_scalar_is_refused() -> None:
    message = refusal("relax.one_hot", tensor(3, dtype="i32"), numpy.uint64(2**63), 0, depth=5)
    assert "operand 'on_value' expects an integer of 64 bits" in message


def test_a_scalar_value_is_a_tensor_where_one_is_expected() -> None:
    assert infer("relax.add", tensor(3, dtype="i32"), ScalarInfo("i32")) == [tensor(3, dtype="i32")]
    assert infer("relax.astype", ScalarInfo("index"), "float32") == [tensor()]
    message = refusal("relax.add", tensor(3), ScalarInfo("i64"))
    assert "operand 'x1' (tensor<3xf32>) and operand 'x2' (tensor<i64>) must have the same element type" in message


def test_a_location_and_a_place_decide_the_context() -> None:
    module = rx.Module()
    with module.function("main", [tensor(3)]) as f:
        f.returns(*f)
    block, here = module.body.operations[0].regions[0].blocks[0], ir.Location.name("here", context=module.context)
    first = relax.exp(*f, loc=here, ip=ir.InsertionPoint.at_block_begin(block)).owner
    second = relax.exp(first.results[0], ip=ir.InsertionPoint(block.operations[1])).owner
    assert [first, second] == list(block.operations)[:2] and "here" in str(first.location)
    assert "here" not in str(second.location)


@pytest.mark.parametrize("index", [0, -1, numpy.int32(1), numpy.array(1)])
def test_a_single_index_is_a_number(index: Any) -> None:
    assert infer("relax.take", tensor(3, 4), index, axis=1) == [tensor(3)]


@pytest.mark.parametrize("indices", [[0, 1], numpy.array([0, 1])])
def test_several_indices_are_a_tensor(indices: Any) -> None:
    message = refusal("relax.take", tensor(3, 4), indices, axis=1)
    assert "operand 'indices' must be an SSA value" in message and "relax.const" in message


@pytest.mark.parametrize(
    ("operator", "operands", "expected"),
    [
        ("relax.concat", [[tensor(3, 4)] * 2], "attribute 'axis' expects an integer, got None; leave it out for 0"),
        ("relax.nn.softmax", [tensor(3, 4)], "attribute 'axis' expects an integer, got None; leave it out for -1"),
        ("relax.nn.prelu", [tensor(3, 4), tensor(4)], "attribute 'axis' expects an integer, got None"),
    ],
)
def test_none_is_no_value_of_an_attribute_that_has_a_default(operator: str, operands: Any, expected: str) -> None:
    assert expected in refusal(operator, *operands, axis=None)


def test_none_is_the_value_of_an_attribute_that_may_be_absent() -> None:
    assert infer("relax.sum", tensor(3, 4), axis=None) == [tensor()]
