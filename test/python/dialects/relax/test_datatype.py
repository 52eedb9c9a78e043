# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of element types: the shape stays, the element type is the one asked for."""

from __future__ import annotations

import pytest
import relax_mlir.dialects.relax.datatype  # noqa: F401  # declares the operator
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import refusal, tensor, unranked

NAMES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "i1", "int4": "i4",
    "uint8": "ui8", "int64": "i64", "float8_e5m2": "f8E5M2", "float4_e2m1fn": "f4E2M1FN",
}  # fmt: skip


@draws(40)
@given(st.lists(st.integers(0, 4) | st.sampled_from(["n", "2*m"]) | st.none(), max_size=4), st.data())
def test_astype_keeps_the_shape(shape, data):
    source, target = (data.draw(st.sampled_from(sorted(NAMES.values()))), data.draw(st.sampled_from(sorted(NAMES))))
    assert infer("relax.astype", tensor(*shape, dtype=source), target) == [tensor(*shape, dtype=NAMES[target])]


def test_astype_of_unknown_rank():
    assert infer("relax.astype", unranked("i8"), "float32") == [unranked()]


@pytest.mark.parametrize("dtype", ["complex<f32>", "si8"])
def test_refuses_what_is_no_number(dtype):
    message = f"attribute 'dtype' ({dtype}) must be a float or int or bool type"
    assert message in refusal("relax.astype", tensor(4), dtype)


@pytest.mark.parametrize("dtype", ["", "none", "!relax.object", "flot32", "() -> ()", "tensor<f32>"])
def test_refuses_what_is_no_element_type(dtype):
    assert f"attribute 'dtype' '{dtype}' is not an element type" in refusal("relax.astype", tensor(4), dtype)


def test_refusals():
    assert "misses attribute 'dtype' (an element type)" in refusal("relax.astype", tensor(4))
    assert "'floot32' is not an element type" in refusal("relax.astype", tensor(4), "floot32")


# ---- the same bits as another type ----


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("f32", "int32"),
        ("ui8", "bool"),
        ("i1", "uint8"),
        ("i4", "float4_e2m1fn"),
        ("bf16", "uint16"),
        ("f32", "float32"),
    ],
)
def test_bitcast_keeps_the_shape(source, target):
    assert infer("relax.bitcast", tensor("n", None, 3, dtype=source), target) == [
        tensor("n", None, 3, dtype={**NAMES, "int32": "i32", "uint16": "ui16"}[target])
    ]
    assert infer("relax.bitcast", unranked(source), target)[0].shape is None


@pytest.mark.parametrize(
    ("source", "target", "bits"),
    [("f32", "float64", "64 bits and"), ("i1", "int4", "4 bits and"), ("i64", "uint8", "8")],
)
def test_bitcast_keeps_the_number_of_bits(source, target, bits):
    message = refusal("relax.bitcast", tensor(4, dtype=source), target)
    assert f"has {bits}" in message and "bits stay as many as they are" in message
