# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions and scans: inferred types against numpy, symbolic sizes."""

from __future__ import annotations

import numpy
import pytest
import relax_mlir.dialects.relax.reduction  # declares the operators
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from shorthand import refusal, tensor, unranked
from symbolic import evaluated, named

import relax_mlir as rx
from relax_mlir import relax

SHAPES = st.lists(st.integers(1, 4), max_size=4).map(tuple)
NUMBERS = st.sampled_from(["f16", "bf16", "f32", "f64", "i8", "i32", "i64", "ui8", "ui64"])
NUMPY = {
    "sum": numpy.sum, "prod": numpy.prod, "max": numpy.max, "min": numpy.min, "mean": numpy.mean,
    "std": numpy.std, "variance": numpy.var, "median": numpy.median,
}  # fmt: skip


@st.composite
def shapes_and_axes(draw):
    """Draw a shape, and None or some of its axes, each counted from either end, in any order."""
    shape = draw(SHAPES)
    axes = draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))]
    from_end = draw(st.lists(st.booleans(), min_size=len(axes), max_size=len(axes)))
    signed = tuple(axis - len(shape) * flip for axis, flip in zip(axes, from_end, strict=True))
    return shape, draw(st.sampled_from([None, signed]))


@st.composite
def shapes_and_axis(draw):
    """Draw a shape, and None or one of its axes, counted from either end."""
    shape = draw(SHAPES)
    return shape, draw(st.sampled_from([None, *range(-len(shape), len(shape))]))


@draws(60)
@given(st.sampled_from(list(NUMPY)), shapes_and_axes(), st.booleans(), NUMBERS)
def test_reductions_are_shaped_as_in_numpy(name, shape_and_axes, keepdims, dtype):
    shape, axes = shape_and_axes
    expected = NUMPY[name](numpy.zeros(shape), axis=axes, keepdims=keepdims).shape
    results = infer(f"relax.{name}", tensor(*shape, dtype=dtype), axis=axes, keepdims=keepdims)
    assert results[0] == tensor(*expected, dtype=dtype)
    symbolic, sizes = named(shape, dtype)
    assert evaluated(infer(f"relax.{name}", symbolic, axis=axes, keepdims=keepdims)[0], sizes) == results[0]


@draws(40)
@given(st.sampled_from(["argmax", "argmin"]), shapes_and_axis(), st.booleans(), NUMBERS)
def test_positions_are_shaped_as_in_numpy(name, shape_and_axis, keepdims, dtype):
    shape, axis = shape_and_axis
    expected = getattr(numpy, name)(numpy.zeros(shape), axis=axis, keepdims=keepdims)
    assert expected.dtype == numpy.int64
    symbolic, sizes = named(shape, dtype)
    (result,) = infer(f"relax.{name}", symbolic, axis=axis, keepdims=keepdims)
    assert evaluated(result, sizes) == tensor(*expected.shape, dtype="i64")


@draws(40)
@given(st.sampled_from(["cumsum", "cumprod"]), shapes_and_axis(), NUMBERS, st.sampled_from([None, "f32", "i64"]))
def test_scans_are_shaped_as_in_numpy(name, shape_and_axis, dtype, asked):
    shape, axis = shape_and_axis
    expected = tensor(*getattr(numpy, name)(numpy.zeros(shape), axis=axis).shape, dtype=asked or dtype)
    assert infer(f"relax.{name}", tensor(*shape, dtype=dtype), axis, dtype=asked) == [expected]
    symbolic, sizes = named(shape, dtype)
    assert evaluated(infer(f"relax.{name}", symbolic, axis, dtype=asked)[0], sizes) == expected


def test_a_single_axis_needs_no_list():
    assert infer("relax.sum", tensor(2, "n", 4), 1) == [tensor(2, 4)]
    assert infer("relax.sum", tensor(2, "n", 4), -1, True) == [tensor(2, "n", 1)]


def test_no_axes_reduce_nothing():
    assert infer("relax.max", tensor(2, "n"), axis=[]) == [tensor(2, "n")]


@pytest.mark.parametrize("axis", [1, [1], [-2]])
def test_median_over_one_axis_tells_positions(axis):
    values, positions = infer("relax.median", tensor(2, "n", None), axis)
    assert (values, positions) == (tensor(2, None), tensor(2, None, dtype="i64"))


@pytest.mark.parametrize("axis", [None, [], [0, 1]])
def test_median_over_several_axes_tells_none(axis):
    assert len(infer("relax.median", tensor(2, "n", None), axis)) == 1


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "argmin"])
def test_booleans_are_taken_where_they_have_a_meaning(name):
    expected = "i64" if name.startswith("arg") else "i1"
    assert infer(f"relax.{name}", tensor(4, dtype="i1"), 0)[0].dtype == expected


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_a_scan_of_booleans_needs_a_type(name):
    assert "must name the result's type" in refusal(f"relax.{name}", tensor(4, dtype="i1"), 0)
    assert infer(f"relax.{name}", tensor(4, dtype="i1"), 0, "int64") == [tensor(4, dtype="i64")]


def test_unknown_ranks():
    assert infer("relax.sum", unranked()) == [tensor()]
    assert infer("relax.sum", unranked(), keepdims=True) == [unranked()]
    assert infer("relax.sum", unranked(), [0, 3]) == [unranked()]
    assert infer("relax.median", unranked(), 0) == [unranked(), unranked("i64")]
    assert infer("relax.cumsum", unranked()) == [tensor(None)]
    assert infer("relax.cumsum", unranked("i32"), 5, "float32") == [unranked()]


def test_a_scan_without_an_axis_is_flat():
    assert infer("relax.cumsum", tensor(2, "n", 4)) == [tensor("8*n")]
    assert infer("relax.cumprod", tensor(2, None)) == [tensor(None)]


@pytest.mark.parametrize(("axis", "named"), [(None, 0), (0, 0), (-3, 0)])
def test_argmax_refuses_axes_without_elements(axis, named):
    module = rx.Module()
    with module.function("main", [rx.tensor((0, 4, "n"))]) as f:
        (x,) = f
        for operator in (relax.argmax, relax.argmin):
            with pytest.raises(rx.RelaxError, match=rf"operand 'x' .* has no elements along axis {named}, of which"):
                operator(x, axis=axis)
        f.returns(relax.argmax(x, axis=1))
