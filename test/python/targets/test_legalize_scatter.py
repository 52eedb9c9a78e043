# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that write elements at indices, legalized by the default rules, compiled and run, against numpy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy
import pytest
from element_arrays import same
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_built, run_op

import relax_mlir as rx

INTS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "float32", "float64")
NARROW = (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2)
AS_DRAWN = draws(30)

#: numpy's functions for places one after the other; an update replaces.
AT = {
    "add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum,
}  # fmt: skip
OF_BOOL = {"add": numpy.logical_or, "mul": numpy.logical_and, "max": numpy.logical_or, "min": numpy.logical_and}


def values(shape: Any, dtype: Any = "float32") -> Any:
    return numpy.random.default_rng(11).integers(0, 9, shape).astype(dtype)


def ran(name: str, *arguments: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arguments, **options)


def changed(data: Any, places: Any, updates: Any, reduction: str) -> Any:
    """Return numpy's result, with narrow floats summed in f32."""
    if reduction == "update":
        result = data.copy()
        result[places] = updates
        return result
    wide = data.astype("float32") if data.dtype in ("float16", *NARROW) else data.copy()
    (OF_BOOL if data.dtype == bool else AT)[reduction].at(wide, places, updates.astype(wide.dtype))
    return wide.astype(data.dtype)


def places_along(indices: Any, axis: int) -> Any:
    places = list(numpy.indices(indices.shape, sparse=True))
    places[axis] = indices
    return tuple(places)


# ---- scatter_elements ----


@pytest.mark.parametrize("reduction", ["update", *AT])
@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW, "int8", "uint8", "int32", "uint64", "bool"])
def test_scatter_elements_of_every_element_type(dtype: Any, reduction: str) -> None:
    data, updates = values((4, 3), dtype), values((3, 3), dtype)[::-1].copy()
    indices = numpy.array([[0, -1, 1], [0, 3, 1], [0, -4, 1]], "int32")
    expected = changed(data, places_along(indices, 0), updates, reduction)
    same(ran("scatter_elements", data, indices, updates, axis=0, reduction=reduction), expected)


@pytest.mark.parametrize("dtype", INTS)
def test_scatter_elements_at_indices_of_every_type(dtype: str) -> None:
    data, updates = values((3, 200)), values((3, 2))
    indices = numpy.array([[127, 0], [1, 5], [2, 2]], dtype)
    expected = changed(data, places_along(indices.astype(int), 1), updates, "add")
    same(ran("scatter_elements", data, indices, updates, axis=1, reduction="add"), expected)


@AS_DRAWN
@given(st.data())
def test_scatter_elements_along_drawn_axes(data: Any) -> None:
    axis = data.draw(st.sampled_from([0, -1]))
    reduction = data.draw(st.sampled_from(["update", "add"]))
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)), label="shape")
    wanted = [data.draw(st.integers(0, size)) for size in shape]
    wanted[axis] = data.draw(st.integers(0, 5)) if shape[axis] else 0
    limit = max(1, shape[axis])
    count = wanted[0] * wanted[1]
    drawn = data.draw(st.lists(st.integers(-limit, limit - 1), min_size=count, max_size=count), label="indices")
    indices = numpy.array(drawn, "int64").reshape(wanted)
    x, updates = values(shape), values(wanted) + 10
    expected = changed(x, places_along(indices, axis), updates, reduction)
    symbols = [("n", "m"), ("k", "l"), ("k", "l")]
    same(ran("scatter_elements", x, indices, updates, axis=axis, reduction=reduction, symbols=symbols), expected)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements_against_onnxruntime(reduction: str) -> None:
    data, updates = values((5, 4)), values((2, 4))
    indices = numpy.array([[0, 1, -1, 4], [0, 3, -1, 2]])
    (expected,) = run_onnx("ScatterElements", data, indices, updates, axis=0, reduction=reduction)
    own = "update" if reduction == "none" else reduction
    same(ran("scatter_elements", data, indices, updates, axis=0, reduction=own), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("symbols", [(), [("n", 2), ("k", 2), ("k", 2)]])
def test_the_mean_is_of_the_data_and_all_updates(dtype: str, symbols: Any) -> None:
    data = numpy.array([[100, 7], [3, 4], [5, 6]], dtype)
    indices = numpy.array([[0, 1], [0, 1], [0, 0]])
    updates = numpy.array([[100, 1], [100, 2], [120, 8]], dtype)
    if dtype.startswith("int"):
        updates = -updates
    total, counts = data.astype("float64"), numpy.ones((3, 2))
    numpy.add.at(total, places_along(indices, 0), updates)
    numpy.add.at(counts, places_along(indices, 0), 1)
    expected = total / counts
    expected = (expected if dtype in FLOATS else numpy.floor(expected)).astype(dtype)
    actual = ran("scatter_elements", data, indices, updates, axis=0, reduction="mean", symbols=symbols)
    numpy.testing.assert_allclose(actual, expected, rtol=1e-6 if dtype in FLOATS else 0)
    assert actual.dtype == expected.dtype


def test_the_mean_of_booleans_is_declined() -> None:
    x = numpy.zeros((2,), bool)
    with pytest.raises(Exception, match="there is no mean of booleans"):
        ran("scatter_elements", x, numpy.zeros((2,), int), x, reduction="mean")


@pytest.mark.parametrize("reduction", ["max", "min", "add", "mul"])
def test_nan_stays(reduction: str) -> None:
    data, updates = numpy.array([1, numpy.nan, 3], "float32"), numpy.array([numpy.nan, 2, numpy.inf], "float32")
    indices = numpy.array([0, 1, 2])
    expected = changed(data, (indices,), updates, reduction)
    same(ran("scatter_elements", data, indices, updates, axis=0, reduction=reduction), expected)


def test_many_narrow_updates_are_summed_without_losses() -> None:
    count = 4096
    data, updates = numpy.zeros(1, "float16"), numpy.ones(count, "float16")
    actual = ran("scatter_elements", data, numpy.zeros(count, int), updates, reduction="add")
    same(actual, numpy.array([count], "float16"))


@pytest.mark.parametrize(("index", "dtype"), [(4, "int64"), (-5, "int64"), (200, "uint8"), (-128, "int8")])
def test_scatter_elements_refuses_an_index_outside(index: int, dtype: str) -> None:
    indices = numpy.array([[0], [index]], dtype)
    for symbols in ((), [("n", 3), ("k", "l"), ("k", "l")]):
        with pytest.raises(IndexError, match=f"index {index} is out of range for axis 0 of size 4"):
            ran("scatter_elements", values((4, 3)), indices, values((2, 1)), axis=0, symbols=symbols)


def test_scatter_elements_refuses_sizes_that_do_not_fit() -> None:
    data, indices = values((4, 3)), numpy.zeros((2, 4), int)
    with pytest.raises(ValueError, match="indices, axis 1: size 4 is larger than 3"):
        ran("scatter_elements", data, indices, values((2, 4)), symbols=[("n", "m"), ("k", "l"), ("k", "l")])
    with pytest.raises(ValueError, match="updates and indices, axis 0: sizes 1 and 2 differ"):
        ran("scatter_elements", data, indices[:, :3].copy(), values((1, 3)), symbols=[("n", 3), ("k", 3), ("l", 3)])


# ---- scatter_nd ----

SCATTER_ND = [((4, 3, 2), (5, 1)), ((4, 3, 2), (5, 2)), ((4, 3, 2), (2, 3, 3)), ((6,), (9, 1)), ((4, 3), (0, 2))]


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize(("shape", "places"), SCATTER_ND, ids=str)
def test_scatter_nd(shape: Any, places: Any, is_symbolic: bool) -> None:
    random = numpy.random.default_rng(3)
    depth = places[-1]
    columns = [random.integers(-limit, limit, places[:-1]) for limit in shape[:depth]]
    data, indices = values(shape), numpy.stack(columns, axis=-1)
    updates = values((*places[:-1], *shape[depth:]))
    inner = [f"d{axis}" for axis in range(len(shape))]
    outer = [f"i{axis}" for axis in range(len(places) - 1)]
    symbols = [inner, [*outer, depth], [*outer, *inner[depth:]]] if is_symbolic else ()
    for reduction in ("update", "add", "max"):
        actual = ran("scatter_nd", data, indices, updates, reduction=reduction, symbols=symbols)
        same(actual, changed(data, tuple(columns), updates, reduction))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_nd_against_onnxruntime(reduction: str) -> None:
    data, updates = values((5, 4)), values((3, 4))
    indices = numpy.array([[0], [-1], [0]])
    (expected,) = run_onnx("ScatterND", data, indices, updates, reduction=reduction)
    same(ran("scatter_nd", data, indices, updates, reduction="update" if reduction == "none" else reduction), expected)


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint64", "bool"])
def test_scatter_nd_of_other_element_types(dtype: str) -> None:
    data, updates, indices = values((4, 2), dtype), values((3, 2), dtype), numpy.array([[0], [3], [0]], "uint8")
    for reduction in AT:
        actual = ran("scatter_nd", data, indices, updates, reduction=reduction)
        same(actual, changed(data, (indices[:, 0],), updates, reduction))


def test_scatter_nd_refuses_what_is_outside() -> None:
    data = values((4, 3))
    with pytest.raises(IndexError, match="index -4 is out of range for axis 1 of size 3"):
        ran("scatter_nd", data, numpy.array([[0, 0], [-4, -4]]), values((2,)))
    symbols = [("n", "m"), ("k", 1), ("l", "m")]
    with pytest.raises(ValueError, match="updates, axis 0: sizes 3 and 2 differ"):
        ran("scatter_nd", data, numpy.array([[0], [1]]), values((3, 3)), symbols=symbols)


# ---- index_put ----


def put(data: Any, indices: Any, given_values: Any, symbols: Any = (), accumulate: bool = False) -> Any:
    def build(tensor: Any, *others: Any) -> Any:
        *places, new = others
        return rx.relax.index_put(tensor, places, new, accumulate=accumulate)

    return run_built(build, data, *indices, given_values, symbols=symbols)


INDEX_PUTS = [
    ((4, 3, 2), [(5,)], (5, 3, 2), ()),
    ((4, 3, 2), [(5,), (5,)], (5, 2), ()),
    ((4, 3, 2), [(5, 1), (3,)], (5, 3, 2), ()),
    ((4, 3, 2), [(5,)], (1,), ()),
    ((4, 3, 2), [(2, 2), (2, 2), (2, 2)], (), ()),
    ((4, 3, 2), [(5,), (1,)], (5, 1), [("n", "m", 2), ("a",), ("b",), ("c", "d")]),
    ((4, 3), [(0,)], (1, 3), [("n", "m"), ("a",), ("b", "m")]),
    ((4, 3), [(2, 3)], (2, 3, 3), [("n", "m"), ("a", "b"), ("a", "b", "m")]),
]


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize(("shape", "places", "sizes", "symbols"), INDEX_PUTS, ids=str)
def test_index_put(shape: Any, places: Any, sizes: Any, symbols: Any, accumulate: bool) -> None:
    random = numpy.random.default_rng(3)
    data, given_values = values(shape), numpy.asarray(values(sizes) + numpy.float32(0.5))
    indices = tuple(random.integers(-size, size, place) for size, place in zip(shape, places, strict=False))
    expected = changed(data, indices, numpy.asarray(given_values), "add" if accumulate else "update")
    actual = put(data, indices, given_values, accumulate=accumulate, symbols=symbols)
    same(actual, expected)


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint64", "bool", "float64"])
def test_index_put_of_other_element_types(dtype: str) -> None:
    data, given_values, indices = values((4, 2), dtype), values((3, 2), dtype), numpy.array([0, 3, 0], "int16")
    for accumulate in (False, True):
        expected = changed(data, (indices,), given_values, "add" if accumulate else "update")
        same(put(data, [indices], given_values, accumulate=accumulate), expected)


def test_index_put_refuses_what_is_outside() -> None:
    data, symbols = values((4, 3)), [("n", "m"), ("a",), ("b",), ("c",)]
    with pytest.raises(IndexError, match="index 3 is out of range for axis 1 of size 3"):
        put(data, [numpy.array([0, 1]), numpy.array([0, 3])], values((2,)), symbols=symbols)
    with pytest.raises(ValueError, match="operands do not broadcast: sizes 3 and 2 differ"):
        put(data, [numpy.array([0, 1]), numpy.array([0, 1, 2])], values((1,)), symbols=symbols)
    with pytest.raises(ValueError, match="operands do not broadcast: sizes 3 and 2 differ"):
        put(data, [numpy.array([0, 1]), numpy.array([0, 1])], values((3,)), symbols=symbols)


# ---- slice_scatter ----

SLICES = [(0, 4, 1), (1, 100, 2), (-3, 2**63 - 1, 1), (3, 1, 1), (-100, -1, 3), (1, -1, 1)]


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("bounds", SLICES, ids=str)
def test_slice_scatter(bounds: Any, axis: int) -> None:
    data = values((5, 4))
    places = [slice(None), slice(None)]
    places[axis] = slice(*bounds)
    expected = data.copy()
    source = values(expected[tuple(places)].shape) + 10
    expected[tuple(places)] = source
    start, end, step = bounds
    symbolic = [("n", "m"), ("n", "k") if axis else ("k", "m")]
    for symbols in ((), symbolic):
        actual = ran("slice_scatter", data, source, axis=axis, start=start, end=end, step=step, symbols=symbols)
        same(actual, expected)


def test_slice_scatter_with_symbolic_bounds() -> None:
    data, source = values((6, 2)), values((3, 2)) + 10
    expected = data.copy()
    expected[1:4] = source
    options = {"axis": 0, "start": "n - 5", "end": "n - 2", "step": 1, "symbols": [("n", 2), ("k", 2)]}
    same(ran("slice_scatter", data, source, **options), expected)
    with pytest.raises(ValueError, match="src and the slice, axis 0: sizes 2 and 3 differ"):
        ran("slice_scatter", data, source[:2], **options)
    with pytest.raises(ValueError, match="the step of the slice must be positive, got 0"):
        ran("slice_scatter", data, source, **{**options, "step": "n - 6"})


def test_slice_scatter_with_bounds_known_at_run_time() -> None:
    data, source = values((8,)), values((3,)) + 10
    for start, end, step in ((1, 7, 2), (-3, 2**63 - 1, 1), (0, 9, 3)):
        expected = data.copy()
        expected[start:end:step] = source
        actual = run_built(rx.relax.slice_scatter, data, source, start, end, step, symbols=[("n",), ("k",)])
        same(actual, expected)


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int64", "bool"])
def test_slice_scatter_of_other_element_types(dtype: str) -> None:
    data, source = values((5,), dtype), values((2,), dtype)
    expected = data.copy()
    expected[1:4:2] = source
    same(ran("slice_scatter", data, source, start=1, end=4, step=2), expected)
