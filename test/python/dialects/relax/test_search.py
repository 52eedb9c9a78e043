# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searching, sorting, selecting: inferred types against numpy, symbolic sizes."""

from __future__ import annotations

import numpy
import relax_mlir.dialects.relax.search  # noqa: F401  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from inferring import infer
from relax_mlir.dialects.core.infos import ScalarInfo
from shorthand import refusal, tensor, unranked
from symbolic import evaluated, named

NUMBERS = st.sampled_from(["f16", "f32", "f64", "i8", "i32", "i64", "ui8", "bf16"])
ELEMENTS = NUMBERS | st.just("i1")
I1, I64, F32 = ScalarInfo("i1"), ScalarInfo("i64"), ScalarInfo("f32")


@st.composite
def shapes_and_axis(draw):
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return shape, draw(st.integers(-len(shape), len(shape) - 1))


@draws(60)
@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=4), ELEMENTS)
def test_where_broadcasts_as_in_numpy(shapes, dtype):
    condition, x1, x2 = shapes.input_shapes
    expected = numpy.where(numpy.zeros(condition, bool), numpy.zeros(x1), numpy.zeros(x2)).shape
    operands = [tensor(*condition, dtype="i1"), tensor(*x1, dtype=dtype), tensor(*x2, dtype=dtype)]
    assert infer("relax.where", *operands) == [tensor(*expected, dtype=dtype)]


def test_where():
    condition = tensor("n", 1, dtype="i1")
    assert infer("relax.where", condition, tensor(4), tensor("n", 4)) == [tensor("n", 4)]
    assert infer("relax.where", condition, unranked(), tensor(4)) == [unranked()]


@draws(30)
@given(st.lists(st.integers(0, 4), max_size=4), NUMBERS, st.integers(-5, 5) | st.floats(-5, 5))
def test_clip_keeps_the_type(shape, dtype, bound):
    operand = tensor(*shape, dtype=dtype)
    assert infer("relax.clip", operand, bound, 6) == [operand]


def test_clip_takes_values_and_symbols_as_bounds():
    assert infer("relax.clip", unranked("i64"), I64, "n") == [unranked("i64")]
    assert infer("relax.clip", tensor("n", None), F32, F32) == [tensor("n", None)]


@draws(40)
@given(shapes_and_axis(), st.booleans(), ELEMENTS, st.sampled_from(["i32", "i64", "f32"]))
def test_sorting_keeps_the_shape(shape_and_axis, descending, dtype, positions):
    shape, axis = shape_and_axis
    operand = tensor(*shape, dtype=dtype)
    assert numpy.sort(numpy.zeros(shape), axis).shape == operand.shape
    assert infer("relax.sort", operand, axis, descending) == [operand]
    assert infer("relax.argsort", operand, axis, descending, positions) == [operand.with_dtype(positions)]


def test_sorting_of_symbolic_and_unknown_shapes():
    assert infer("relax.sort", tensor("n", None), 0) == [tensor("n", None)]
    assert infer("relax.argsort", unranked(), 3) == [unranked("i32")]


@draws(60)
@given(shapes_and_axis(), st.integers(-1, 6), st.booleans(), ELEMENTS, st.sampled_from(["i32", "i64"]))
def test_topk_takes_the_first_of_what_numpy_sorts(shape_and_axis, k, largest, dtype, positions):
    shape, axis = shape_and_axis
    order = numpy.argsort(numpy.zeros(shape), axis)
    expected = numpy.take(order, range(min(k, shape[axis])), axis).shape if k > 0 else order.shape
    results = infer("relax.topk", tensor(*shape, dtype=dtype), k, axis, "both", largest, positions)
    assert results == [tensor(*expected, dtype=dtype), tensor(*expected, dtype=positions)]


def test_topk():
    assert infer("relax.topk", tensor("n", 4)) == [tensor("n", 1), tensor("n", 1, dtype="i32")]
    assert infer("relax.topk", tensor("n", 4), 3, 0, "values") == [tensor(3, 4)]
    assert infer("relax.topk", tensor("n", 4), 0, 0, "indices") == [tensor("n", 4, dtype="i32")]
    assert infer("relax.topk", unranked(), ret_type="indices", dtype="int64") == [unranked("i64")]


@draws(60)
@given(st.lists(st.integers(1, 4), max_size=3), ELEMENTS, st.booleans(), st.booleans(), st.booleans(), st.data())
def test_unique_has_the_results_that_numpy_gives(shape, dtype, index, inverse, counts, data):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    flags = {"return_index": index, "return_inverse": inverse, "return_counts": counts}
    expected = numpy.unique(numpy.zeros(shape), **flags, axis=axis)
    expected = list(expected) if isinstance(expected, tuple) else [expected]
    if inverse:  # Relax's is flat, as ONNX's
        expected[1 + index] = expected[1 + index].ravel()
    results = infer("relax.unique", tensor(*shape, dtype=dtype), None, index, inverse, counts, axis)
    assert [result.dtype for result in results] == [dtype, *["i64"] * sum(flags.values())]
    for result, array in zip(results, expected, strict=True):
        assert len(result.shape) == array.ndim
        assert all(dim in (None, size) for dim, size in zip(result.shape, array.shape, strict=True))


def test_the_size_of_the_inverse_is_known():
    for axis, size in [(None, "4*n"), (0, "n"), (-1, 4)]:
        inverse = infer("relax.unique", tensor("n", 4), return_inverse=True, axis=axis)[1]
        assert inverse == tensor(size, dtype="i64")
    for operand, axis in [(unranked(), None), (unranked(), 0), (tensor("n", 4), I64)]:
        assert infer("relax.unique", operand, True, False, True, False, axis)[1] == tensor(None, dtype="i64")


def test_unique():
    assert infer("relax.unique", tensor("n", 4)) == [tensor(None)]
    assert infer("relax.unique", tensor("n", 4), I1, axis=0) == [tensor(None, 4)]
    assert infer("relax.unique", tensor("n", 4), True, False, False, False, I64) == [tensor(None, None)]
    assert infer("relax.unique", unranked("i8"), return_counts=1) == [
        tensor(None, dtype="i8"),
        tensor(None, dtype="i64"),
    ]
    assert infer("relax.unique", unranked(), axis=2) == [unranked()]
    assert infer("relax.unique", tensor(), return_index=True) == [tensor(1), tensor(1, dtype="i64")]


@draws(30)
@given(st.lists(st.integers(0, 4), max_size=4), ELEMENTS)
def test_nonzero_has_a_row_for_each_dimension(shape, dtype):
    rows = numpy.array(numpy.nonzero(numpy.atleast_1d(numpy.zeros(shape)))).shape[0]
    assert infer("relax.nonzero", tensor(*shape, dtype=dtype)) == [tensor(rows, None, dtype="i64")]


def test_nonzero_of_unknown_rank():
    assert infer("relax.nonzero", unranked()) == [tensor(None, None, dtype="i64")]


@draws(40)
@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 4), NUMBERS, NUMBERS, st.booleans(), st.booleans())
def test_bucketize_is_shaped_as_in_numpy(shape, count, dtype, boundary_dtype, out_int32, right):
    expected = numpy.digitize(numpy.zeros(shape), numpy.arange(count), right).shape
    symbolic, sizes = named(shape, dtype)
    (result,) = infer("relax.bucketize", symbolic, tensor(count, dtype=boundary_dtype), out_int32, right)
    assert evaluated(result, sizes) == tensor(*expected, dtype="i32" if out_int32 else "i64")


def test_bucketize_of_unknown_ranks():
    assert infer("relax.bucketize", unranked(), unranked()) == [unranked("i64")]


@draws(30)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["i32", "i64", "f32"]))
def test_multinomial_has_a_sample_per_uniform_number(batch, classes, samples, dtype):
    cumulative = numpy.cumsum(numpy.zeros((batch, classes)), axis=1)
    picked = cumulative[numpy.zeros(samples, int)]
    expected = (numpy.zeros((samples, 1)) > picked).sum(axis=1, keepdims=True).shape
    operands = [tensor(batch, classes), tensor(samples, 1), tensor(samples, 1, dtype="i64")]
    assert infer("relax.multinomial_from_uniform", *operands, dtype) == [tensor(*expected, dtype=dtype)]


def test_multinomial_from_uniform():
    indices = tensor(None, 1, dtype="i32")
    for uniform, samples in [(tensor("n", 1), "n"), (tensor("n", None), "n"), (unranked(), None)]:
        operands = [tensor("b", None), uniform, indices]
        assert infer("relax.multinomial_from_uniform", *operands) == [tensor(samples, 1, dtype="i64")]


def test_builders_of_search_operators_refuse_wrong_operands():
    assert "misses operand 'max'" in refusal("relax.clip", tensor(4), 0)
    message = refusal("relax.unique", tensor(4), return_counts="n")
    assert "operand 'return_counts' (i64) must be a constant: the number of results depends on it" in message
