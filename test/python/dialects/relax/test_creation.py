# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made from shapes and numbers: inferred types against numpy, symbolic sizes."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir.dialects.relax.creation  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import ScalarInfo, ShapeInfo
from relax_mlir.dialects.core.symbols import sym
from shorthand import refusal, tensor, unranked
from symbolic import evaluated, named

SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
DTYPES = st.sampled_from(["f16", "f32", "f64", "i8", "i64", "ui8", "i1", "f8E4M3FN"])
SMALL = st.integers(-20, 20)
I64, F32, I1 = ScalarInfo("i64"), ScalarInfo("f32"), ScalarInfo("i1")


@draws(30)
@given(st.sampled_from(["zeros", "ones"]), SHAPES, DTYPES)
def test_filled_tensors_have_the_shape_asked_for(name, shape, dtype):
    assert infer(f"relax.{name}", shape, dtype) == [tensor(*shape, dtype=dtype)]
    assert infer(f"relax.{name}_like", tensor(*shape), dtype) == [tensor(*shape, dtype=dtype)]
    assert infer("relax.full", shape, tensor(), dtype) == [tensor(*shape, dtype=dtype)]
    assert infer("relax.full_like", tensor(*shape, dtype=dtype), tensor()) == [tensor(*shape, dtype=dtype)]


def test_shapes_may_be_symbolic_or_unknown():
    assert infer("relax.zeros", ("n", 4), "float32") == [tensor("n", 4)]
    assert infer("relax.ones", ShapeInfo(None), "int32") == [unranked("i32")]
    assert infer("relax.full", ShapeInfo((sym("n"), None)), tensor(dtype="i8")) == [tensor("n", None, dtype="i8")]
    assert infer("relax.ones_like", unranked("i8")) == [unranked("i8")]
    assert infer("relax.full_like", tensor("n", None), unranked("i64"), "bool") == [tensor("n", None, dtype="i1")]


def test_full_is_like_its_value():
    assert infer("relax.full", (2,), tensor(dtype="i8")) == [tensor(2, dtype="i8")]


@draws(60)
@given(SMALL, st.none() | SMALL, st.none() | SMALL.filter(bool))
def test_arange_counts_as_numpy_does(start, end, step):
    expected = numpy.arange(0, start, step or 1) if end is None else numpy.arange(start, end, step or 1)
    assert infer("relax.arange", start, end, step) == [tensor(*expected.shape, dtype="i64")]


@draws(60)
@given(st.floats(-9, 9), st.floats(-9, 9), st.floats(-3, 3) | st.integers(-3, 3))
def test_arange_counts_floats_as_numpy_does(start, end, step):
    assume(abs(step) > 0.01)
    assert infer("relax.arange", start, end, step) == [tensor(*numpy.arange(start, end, step).shape)]


@draws(40)
@given(st.integers(0, 20), st.integers(0, 20), SMALL.filter(bool))
def test_arange_over_symbols_is_right_for_all_sizes(start, end, step):
    (info,) = infer("relax.arange", "n", "m", step)
    expected = tensor(*numpy.arange(start, end, step).shape, dtype="i64")
    assert evaluated(info, {"n": start, "m": end}) == expected


def test_arange():
    assert infer("relax.arange", "n") == [tensor("n", dtype="i64")]
    assert infer("relax.arange", "n", "n + m") == [tensor("m", dtype="i64")]
    assert infer("relax.arange", "n", step=2) == [tensor("(n + 1)//2", dtype="i64")]
    assert infer("relax.arange", 5, dtype="float16") == [tensor(5, dtype="f16")]
    assert infer("relax.arange", 0, 1.0) == [tensor(1)]
    assert infer("relax.arange", I64) == [tensor(None, dtype="i64")]
    assert infer("relax.arange", 0, I64) == [tensor(None, dtype="i64")]
    assert infer("relax.arange", 0, F32, "n") == [tensor(None)]
    assert infer("relax.arange", "n", 2.5) == [tensor(None)]


@draws(40)
@given(st.integers(0, 6), st.none() | st.integers(0, 6), st.none() | SMALL, DTYPES)
def test_eye_is_shaped_as_in_numpy(n, m, k, dtype):
    assert infer("relax.eye", n, m, k, dtype) == [tensor(*numpy.eye(n, m, k or 0).shape, dtype=dtype)]


def test_eye():
    assert infer("relax.eye", "n") == [tensor("n", "n")]
    assert infer("relax.eye", I64, "m + 1", I64) == [tensor(None, "m + 1")]
    assert infer("relax.eye_like", tensor("n", 4)) == [tensor("n", 4)]
    assert infer("relax.eye_like", unranked(), -1, "int8") == [tensor(None, None, dtype="i8")]


@draws(30)
@given(
    st.sampled_from(["tril", "triu"]), st.lists(st.integers(0, 4), min_size=2, max_size=4), st.none() | SMALL, DTYPES
)
def test_triangles_are_shaped_as_in_numpy(name, shape, k, dtype):
    expected = getattr(numpy, name)(numpy.zeros(shape), k or 0).shape
    assert infer(f"relax.{name}", tensor(*shape, dtype=dtype), k) == [tensor(*expected, dtype=dtype)]


def test_triangles_of_symbolic_and_unknown_shapes():
    assert infer("relax.tril", tensor("n", None), I64) == [tensor("n", None)]
    assert infer("relax.triu", unranked("i32"), "n - 1") == [unranked("i32")]


@draws(40)
@given(st.lists(st.integers(1, 4), max_size=3), st.integers(1, 5), st.data())
def test_one_hot_inserts_an_axis(shape, depth, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    indices = numpy.expand_dims(numpy.zeros(shape, dtype=int), axis)
    along_axis = [1] * indices.ndim
    along_axis[axis] = depth
    classes = numpy.arange(depth).reshape(along_axis)
    expected = (indices == classes).shape
    symbolic, sizes = named(shape, "i32")
    (result,) = infer("relax.one_hot", symbolic, 1, 0, depth, axis)
    assert evaluated(result, sizes) == tensor(*expected, dtype="i64")


def test_one_hot():
    assert infer("relax.one_hot", tensor("n", dtype="i64"), 1.0, 0.0, 5) == [tensor("n", 5, dtype="f64")]
    assert infer("relax.one_hot", tensor("n", dtype="ui8"), F32, F32, 5) == [tensor("n", 5)]
    assert infer("relax.one_hot", unranked("i64"), True, False, depth=5) == [unranked("i1")]


def test_hamming_window():
    assert infer("relax.hamming_window", 10, True, 0.54, 0.46, "float32") == [tensor(10)]
    assert infer("relax.hamming_window", "n + 1", 0, 0.5, 1, "float16") == [tensor("n + 1", dtype="f16")]
    assert infer("relax.hamming_window", I64, I1, F32, F32, "float64") == [tensor(None, dtype="f64")]


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("full", [(2,), 1.0], "operand 'fill_value' must be an SSA value, got float (make it one with relax.const)"),
        ("zeros", [(2,)], "misses attribute 'dtype' (an element type)"),
        ("arange", [], "misses operand 'start'"),
        ("arange", [0, 10, 0.0], "operand 'step' must not be zero"),
        ("arange", [0, float("nan")], "cannot count from 0 to nan by 1"),
        ("arange", [0, 1e308, 1e-308], "cannot count from 0 to 1e+308 by 1e-308"),
        ("arange", [0, "n", "0*n"], "operand 'step' must not be zero"),
        ("eye", [], "misses operand 'n'"),
    ],
)
def test_builders_of_creation_operators_refuse_wrong_operands(name, operands, message):
    assert message in refusal(f"relax.{name}", *operands)
