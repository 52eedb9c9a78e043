# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values, symbolic scalars, match_cast: inferred types, arguments of the builder, and refusals."""

from __future__ import annotations

import numpy
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import build_function, built_op, infer
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import ObjectInfo, ScalarInfo, ShapeInfo
from relax_mlir.dialects.core.symbols import parse, sym
from shorthand import refusal, tensor, unranked

SHAPES = st.lists(st.integers(0, 9), max_size=5).map(tuple)
DTYPES = st.sampled_from(["f32", "i8", "i1", "bf16", "ui64"])


def shape(*dims):
    return ShapeInfo(tensor(*dims).shape)


@draws(40)
@given(SHAPES, DTYPES)
def test_shape_of_is_what_numpy_says(sizes, dtype):
    array = numpy.zeros(sizes)
    assert infer("relax.shape_of", tensor(*sizes, dtype=dtype)) == [shape(*array.shape)]
    assert infer("relax.shape_to_tensor", shape(*sizes)) == [tensor(*numpy.array(array.shape).shape, dtype="i64")]
    assert infer("relax.size", tensor(*sizes, dtype=dtype)) == [tensor(*numpy.shape(array.size), dtype="i64")]


@draws(40)
@given(SHAPES)
def test_a_shape_is_built_from_numbers(sizes):
    assert infer("relax.shape_expr", sizes) == [shape(*sizes)]
    assert infer("relax.shape_expr", numpy.array(sizes, dtype=int)) == [shape(*sizes)]


def test_a_shape_is_built_from_expressions():
    n = sym("n")
    assert infer("relax.shape_expr", [n, "n", 2 * n + 1, "m//2", 4]) == [shape("n", "n", "2*n+1", "m//2", 4)]


def test_one_dimension_that_is_known_when_it_runs():
    assert infer("relax.tensor_to_shape", tensor(3, dtype="i64")) == [shape(None, None, None)]
    assert infer("relax.tensor_to_shape", tensor(0, dtype="i64")) == [shape()]
    for unknown in (tensor(None, dtype="i64"), tensor("n", dtype="i64"), unranked("i64")):
        assert infer("relax.tensor_to_shape", unknown) == [ShapeInfo(None)]


def test_unknown_ranks():
    assert infer("relax.shape_of", unranked()) == [ShapeInfo(None)]
    assert infer("relax.shape_of", tensor("n", None, 2)) == [shape("n", None, 2)]
    assert infer("relax.shape_to_tensor", ShapeInfo(None)) == [tensor(None, dtype="i64")]
    assert infer("relax.size", unranked()) == [tensor(dtype="i64")]


@pytest.mark.parametrize("value", ["2*n + 1", "1 + n*2", 2 * sym("n") + 1])
def test_a_symbolic_scalar_has_one_spelling(value):
    module = build_function("relax.prim_value", value)
    assert str(parse("2*n+1")) in str(module)
    assert built_op(module).value == parse("2*n+1")
    assert infer("relax.prim_value", value) == [ScalarInfo("i64")]


def test_attributes_of_the_operations_are_python_values():
    module = build_function("relax.shape_expr", ["n", 2])
    assert built_op(module).dims == (sym("n"), 2)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (unranked(), tensor("n", 4)),
        (tensor(None, 4), tensor("n", 4)),
        (tensor("n"), tensor("m")),
        (tensor("n"), tensor(4)),
        (tensor("n"), unranked()),
        (ObjectInfo(), tensor("n")),
        (tensor("n"), ObjectInfo()),
        (ShapeInfo(None), shape("n", 2)),
        (shape(None, 2), shape("n", "m")),
        (ScalarInfo("i64"), ScalarInfo("i64")),
    ],
)
def test_match_cast_to_what_the_value_may_be(source, target):
    assert infer("relax.match_cast", source, ty=target) == [target]


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        (tensor(2), tensor(3), "can never hold: operand 'value' (tensor<2xf32>) is not a tensor<3xf32>"),
        (tensor("n"), tensor("n+1"), "can never hold"),
        (tensor(2), tensor(2, 1), "can never hold"),
        (tensor(2), tensor(2, dtype="f16"), "use relax.astype to convert elements"),
        (shape(2), shape(3), "can never hold"),
        (shape(2), tensor(2), "can never hold"),
        (ScalarInfo("i64"), ScalarInfo("i32"), "can never hold"),
        (tensor(2), "memref<2xf32>", "can never hold"),
    ],
)
def test_match_cast_to_what_the_value_can_never_be(source, target, problem):
    # Result types are the caller's, so it is MLIR's verifier that refuses them.
    with pytest.raises(ir.MLIRError) as caught:
        build_function("relax.match_cast", source, ty=target)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("op", "value", "problem"),
    [
        ("shape_expr", 4, "attribute 'dims' expects a list of sizes, got 4"),
        ("shape_expr", "n", "attribute 'dims' expects a list of sizes, got 'n'"),
        ("shape_expr", [-1], "attribute 'dims' expects a list of sizes, got [-1]"),
        ("shape_expr", ["-1"], "attribute 'dims' expects a list of sizes, got ['-1']"),
        ("shape_expr", ["n +"], "attribute 'dims' expects an expression over symbols: column"),
        ("shape_expr", [1.5], "attribute 'dims' expects an integer, got 1.5"),
        ("shape_expr", [None], "attribute 'dims' expects an integer, got None"),
        ("shape_expr", ["?"], "attribute 'dims' expects an expression over symbols: column 1"),
        ("prim_value", "n +", "attribute 'value' expects an expression over symbols: column"),
        ("prim_value", 1.5, "attribute 'value' expects an integer, got 1.5"),
    ],
)
def test_the_builder_refuses_what_is_no_size(op, value, problem):
    assert problem in refusal(f"relax.{op}", value)


def test_a_tensor_of_too_many_sizes_is_refused():
    assert "must list 64 sizes at most" in refusal("relax.tensor_to_shape", tensor(65, dtype="i64"))
    assert infer("relax.tensor_to_shape", tensor(64, dtype="i64"))[0].dims == (None,) * 64
