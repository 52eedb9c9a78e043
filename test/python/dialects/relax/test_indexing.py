# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices: inferred types against numpy, and symbols."""

from __future__ import annotations

import itertools

import numpy
import pytest
import relax_mlir.dialects.relax  # noqa: F401  # declares the operators
from against_numpy import agrees_with_numpy
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from inferring import infer
from relax_mlir.dialects.core.infos import ScalarInfo
from relax_mlir.dialects.core.symbols import parse, sym
from relax_mlir.dialects.relax.infer.slices import slice_length
from shorthand import tensor, unranked

# Sizes are not 0 where indices, all of them 0, have to be in bounds.
SIZE = st.integers(1, 4)
SHAPE = st.lists(SIZE, max_size=4).map(tuple)
DTYPE = st.sampled_from(["float32", "float16", "int64", "bool"])
INDEX_DTYPE = st.sampled_from(["int64", "int32"])
AXIS = st.integers(-4, 4)
NAMED = st.just(0) | st.integers(0, 2**12 - 1)
OPEN = 2**63 - 1
BOUND = st.integers(-8, 8) | st.sampled_from([OPEN, -OPEN, -(2**63)])
STRIDE = st.integers(-4, 4)

examples = draws(50)


@examples
@given(SHAPE, SHAPE, DTYPE, INDEX_DTYPE, st.none() | AXIS, st.sampled_from(["fast", "wrap", "clip"]), NAMED)
def test_take(shape, indices, dtype, index_dtype, axis, mode, named):
    def taken(x, indices):
        if x.ndim == 0 and axis is not None:  # numpy gives a 0-D array an axis here
            raise ValueError
        return numpy.array(numpy.take(x, indices, axis))

    operands = [numpy.zeros(shape, dtype), numpy.zeros(indices, index_dtype)]
    agrees_with_numpy("relax.take", operands, taken, named, axis=axis, mode=mode)


@st.composite
def slices(draw):
    """Draw a shape, some of its axes, and bounds and strides for them."""
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple))
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), max_size=3))
    lists = [draw(st.lists(kind, min_size=len(axes), max_size=len(axes))) for kind in (BOUND, BOUND, STRIDE)]
    return shape, axes, *lists


@draws(150)
@given(slices(), DTYPE, NAMED)
def test_strided_slice(drawn, dtype, named):
    shape, axes, begin, end, strides = drawn

    def sliced(x):
        if len({axis % x.ndim for axis in axes}) != len(axes):
            raise ValueError
        wanted = [slice(None)] * x.ndim
        for axis, *parts in zip(axes, begin, end, strides, strict=True):
            wanted[axis] = slice(*parts)
        return x[tuple(wanted)]

    attributes = {"axes": axes, "begin": begin, "end": end, "strides": strides}
    agrees_with_numpy("relax.strided_slice", [numpy.zeros(shape, dtype)], sliced, named, **attributes)


def test_the_length_of_every_small_slice():
    """Check all small bounds against all sizes, fixed and symbolic, since hypothesis only samples."""
    n = sym("n")
    bounds = [*range(-5, 6), OPEN, -OPEN]
    for begin, end, stride in itertools.product(bounds, bounds, [-3, -2, -1, 1, 2, 3]):
        symbolic = slice_length(begin, end, stride, n)
        unknown = slice_length(begin, end, stride, None)
        for size in range(5):
            length = len(range(size)[begin:end:stride])
            assert slice_length(begin, end, stride, size) == length
            assert length == (symbolic if isinstance(symbolic, int) else symbolic.evaluate({"n": size}))
            assert unknown in (None, length)


def test_the_length_of_every_small_slice_with_bounds_inside():
    n = sym("n")
    for begin, end, stride in itertools.product(
        [*range(-5, 6), OPEN, -OPEN], [*range(-5, 6), OPEN, -OPEN], [-2, -1, 1, 2]
    ):
        symbolic = slice_length(begin, end, stride, n, inbound=True)
        for size in range(1, 5):
            highest = size if stride > 0 else size - 1
            if all(abs(bound) >= OPEN or -size <= bound <= highest for bound in (begin, end)):
                length = len(range(size)[begin:end:stride])
                assert slice_length(begin, end, stride, size, inbound=True) == length
                assert length == (symbolic if isinstance(symbolic, int) else symbolic.evaluate({"n": size}))


@given(st.integers(0, 9), st.integers(0, 9), st.integers(1, 3), st.integers(0, 9))
def test_the_length_of_a_slice_with_symbolic_bounds(begin, end, stride, size):
    length = slice_length(sym("b"), sym("e"), stride, sym("n"))
    assert length.evaluate({"b": begin, "e": end, "n": size}) == len(range(size)[begin:end:stride])


@examples
@given(SHAPE, SHAPE, DTYPE, INDEX_DTYPE, AXIS, NAMED)
def test_gather_elements(shape, indices, dtype, index_dtype, axis, named):
    def gathered(data, indices):
        if indices.ndim != data.ndim:
            raise ValueError
        places = list(numpy.indices(indices.shape))
        places[axis] = indices
        return data[tuple(places)]

    operands = [numpy.zeros(shape, dtype), numpy.zeros(indices, index_dtype)]
    agrees_with_numpy("relax.gather_elements", operands, gathered, named, axis=axis)


def numpy_gather_nd(data, indices, batch):
    if batch:
        if data.shape[0] != indices.shape[0] or indices.ndim < 2:
            raise ValueError
        return numpy.stack([numpy_gather_nd(*pair, batch - 1) for pair in zip(data, indices, strict=True)])
    if not indices.ndim:
        raise ValueError
    return numpy.array(data[tuple(numpy.moveaxis(indices, -1, 0))])


@examples
@given(st.data(), SHAPE, DTYPE, st.integers(0, 2), NAMED)
def test_gather_nd(data, shape, dtype, batch, named):
    rest = data.draw(st.lists(SIZE, max_size=2))
    depth = data.draw(st.integers(1, 3))
    indices = (*shape[:batch], *rest, depth) if data.draw(st.integers(0, 3)) else (*rest, depth)
    operands = [numpy.zeros(shape, dtype), numpy.zeros(indices, "int64")]
    named &= ~(1 << len(shape) + len(indices) - 1)  # how deep the indices reach is never a symbol
    agrees_with_numpy("relax.gather_nd", operands, lambda x, i: numpy_gather_nd(x, i, batch), named, batch_dims=batch)


INDICES = st.lists(st.lists(st.sampled_from([1, 1, 3]), max_size=2), min_size=1, max_size=3)


@examples
@given(SHAPE, DTYPE, INDICES)
def test_index_tensor(shape, dtype, indices):
    operands = [numpy.zeros(shape, dtype), [numpy.zeros(index, "int64") for index in indices]]
    agrees_with_numpy("relax.index_tensor", operands, lambda data, indices: numpy.array(data[tuple(indices)]))


@examples
@given(SHAPE, DTYPE, INDICES, st.lists(st.sampled_from([1, 1, 2, 3]), max_size=3))
def test_index_put(shape, dtype, indices, values):
    def put(data, indices, values):
        places = data[tuple(indices)]
        numpy.broadcast_to(values, places.shape)
        return data

    arrays = [numpy.zeros(index, "int32") for index in indices]
    agrees_with_numpy("relax.index_put", [numpy.zeros(shape, dtype), arrays, numpy.zeros(values, dtype)], put)


@examples
@given(SHAPE, SHAPE, st.booleans(), DTYPE, AXIS)
def test_scatter_elements(shape, indices, same_shape, dtype, axis):
    def scattered(data, indices, updates):
        places = list(numpy.indices(indices.shape))
        places[axis] = indices
        if indices.ndim != data.ndim or data[tuple(places)].shape != updates.shape:
            raise ValueError
        return data

    updates = indices if same_shape else (*indices[1:], 2)
    operands = [numpy.zeros(shape, dtype), numpy.zeros(indices, "int64"), numpy.zeros(updates, dtype)]
    agrees_with_numpy("relax.scatter_elements", operands, scattered, axis=axis)


@examples
@given(st.data(), SHAPE, DTYPE)
def test_scatter_nd(data, shape, dtype):
    depth = data.draw(st.integers(1, 3))
    rest = data.draw(st.lists(SIZE, max_size=2))
    updates = (*rest, *shape[depth:]) if data.draw(st.integers(0, 3)) else (*rest, 2)

    def scattered(data, indices, updates):
        if data[tuple(numpy.moveaxis(indices, -1, 0))].shape != updates.shape:
            raise ValueError
        return data

    operands = [numpy.zeros(shape, dtype), numpy.zeros((*rest, depth), "int64"), numpy.zeros(updates, dtype)]
    agrees_with_numpy("relax.scatter_nd", operands, scattered)


@examples
@given(SHAPE, DTYPE, BOUND, BOUND, st.integers(1, 3), AXIS, st.booleans())
def test_slice_scatter(shape, dtype, start, end, step, axis, fits):
    def sliced(x):
        if not -x.ndim <= axis < x.ndim:
            raise ValueError
        return numpy.moveaxis(numpy.moveaxis(x, axis, 0)[start:end:step], 0, axis)

    def scattered(x, src, *_):
        if sliced(x).shape != src.shape:
            raise ValueError
        return x

    x = numpy.zeros(shape, dtype)
    try:
        src = sliced(x) if fits else x
    except ValueError:
        src = x
    agrees_with_numpy("relax.slice_scatter", [x, src, start, end, step], scattered, axis=axis)


@examples
@given(SHAPE, DTYPE, INDEX_DTYPE, AXIS, AXIS, st.booleans(), NAMED)
def test_reverse_sequence(shape, dtype, length_dtype, sequence, batch, fits, named):
    def reversed_sequences(data, lengths):
        numpy.moveaxis(data, (sequence, batch), (0, 1))
        if data.shape[batch] != len(lengths):
            raise ValueError
        return data

    lengths = shape[batch] if fits and -len(shape) <= batch < len(shape) else 5
    operands = [numpy.zeros(shape, dtype), numpy.zeros(lengths, length_dtype)]
    attributes = {"seq_axis": sequence, "batch_axis": batch}
    agrees_with_numpy("relax.reverse_sequence", operands, reversed_sequences, named, **attributes)


def i64(*dims):
    return tensor(*dims, dtype="i64")


TYPES = [
    ("take", [tensor("n", "m"), i64("k", 2)], {"axis": 0}, tensor("k", 2, "m")),
    ("take", [tensor("n", "m"), i64("k")], {}, tensor("k")),
    ("take", [tensor("n", "m"), ScalarInfo("i64")], {"axis": -1}, tensor("n")),
    ("take", [tensor("n"), i64("k")], {"mode": "nan"}, tensor("k")),
    ("take", [unranked(), i64("k")], {"axis": 5}, unranked()),
    ("take", [unranked(), i64("k")], {}, tensor("k")),
    ("take", [tensor("n", "m"), unranked("i64")], {"axis": 0}, unranked()),
    ("strided_slice", [tensor("n", "m")], {"axes": [0], "begin": [1], "end": [OPEN]}, tensor("max(n - 1, 0)", "m")),
    ("strided_slice", [tensor("n + 1")], {"axes": [0], "begin": [1], "end": [OPEN]}, tensor("n")),
    ("strided_slice", [tensor("n + 4")], {"axes": [0], "begin": [1], "end": [3]}, tensor(2)),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": 0, "end": 3}, tensor("min(n, 3)")),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": -3, "end": OPEN}, tensor("min(n, 3)")),
    ("strided_slice", [tensor("2*n")], {"axes": 0, "begin": 0, "end": OPEN, "strides": 2}, tensor("n")),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": -1, "end": -OPEN, "strides": -1}, tensor("n")),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": 1, "end": OPEN, "assume_inbound": True}, tensor("n - 1")),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": 1, "end": 3, "assume_inbound": True}, tensor(2)),
    ("strided_slice", [tensor("n")], {"axes": 0, "begin": 0, "end": -2, "assume_inbound": True}, tensor("n - 2")),
    ("strided_slice", [tensor(None, "m")], {"axes": 0, "begin": 1, "end": OPEN}, tensor(None, "m")),
    ("strided_slice", [tensor(None, "m")], {"axes": 0, "begin": 3, "end": 3}, tensor(0, "m")),
    ("strided_slice", [tensor("n")], {"axes": [], "begin": [], "end": []}, tensor("n")),
    ("strided_slice", [unranked()], {"axes": 7, "begin": 1, "end": 2}, unranked()),
    ("dynamic_strided_slice", [tensor("n", 2), i64(2), i64(2), i64(2)], {}, tensor(None, None)),
    ("dynamic_strided_slice", [unranked(), i64(None), i64(2), unranked("i64")], {}, tensor(None, None)),
    ("dynamic_strided_slice", [unranked(), i64("n"), i64("n"), i64("n")], {}, unranked()),
    ("gather_elements", [tensor("n", "m"), i64("n", 3)], {"axis": 1}, tensor("n", 3)),
    ("gather_elements", [tensor("n", "m"), unranked("i64")], {"axis": 1}, tensor(None, None)),
    ("gather_elements", [unranked(), i64("n", 3)], {"axis": 7}, tensor("n", 3)),
    ("gather_nd", [tensor("n", "m", 4), i64("k", 1)], {}, tensor("k", "m", 4)),
    ("gather_nd", [tensor("n", "m", 4), i64("n", "k", 1)], {"batch_dims": 1}, tensor("n", "k", 4)),
    ("gather_nd", [tensor(None, 4), i64("n", 1)], {"batch_dims": 1}, tensor("n")),
    ("gather_nd", [tensor("n", "m", 4), i64("k", "l")], {}, unranked()),
    ("gather_nd", [unranked(), i64("k", 1)], {}, unranked()),
    ("gather_nd", [tensor("n"), unranked("i64")], {}, unranked()),
    ("index_tensor", [tensor("n", "m", 4), [i64("k", 1), i64(3)]], {}, tensor("k", 3, 4)),
    ("index_tensor", [unranked(), [i64("k")]], {}, unranked()),
    ("index_tensor", [tensor("n"), [unranked("i64")]], {}, unranked()),
    ("index_put", [tensor("n", "m"), [i64("k")], tensor("k", "m")], {"accumulate": True}, tensor("n", "m")),
    ("index_put", [unranked(), [i64("k")], tensor("k", "m")], {}, unranked()),
    ("scatter_elements", [tensor("n", "m"), i64("k", "l"), tensor("k", "l")], {"reduction": "mean"}, tensor("n", "m")),
    ("scatter_elements", [unranked(), i64("k"), unranked()], {"axis": 3}, unranked()),
    ("scatter_nd", [tensor("n", "m"), i64("k", 1), tensor("k", "m")], {"reduction": "add"}, tensor("n", "m")),
    ("scatter_nd", [tensor("n", "m"), i64("k", "l"), tensor(3)], {}, tensor("n", "m")),
    ("scatter_nd", [tensor("n", "m"), unranked("i64"), tensor(3)], {}, tensor("n", "m")),
    ("slice_scatter", [tensor("n", 4), tensor("m", 4), "a", "a + m", 1], {}, tensor("n", 4)),
    ("slice_scatter", [tensor("n", 4), tensor("n - 2", 4), 1, -1, 1], {}, tensor("n", 4)),
    ("slice_scatter", [tensor("n", 4), tensor(2, 4), ScalarInfo("i64"), 3, ScalarInfo("i32")], {}, tensor("n", 4)),
    ("slice_scatter", [unranked(), tensor(2, 4), 0, 3, 2], {"axis": 8}, unranked()),
    ("reverse_sequence", [tensor("n", "m"), i64("n")], {}, tensor("n", "m")),
    ("reverse_sequence", [tensor(None, "m"), i64(3)], {}, tensor(3, "m")),
    ("reverse_sequence", [unranked(), unranked("i64")], {}, unranked()),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "attributes", "expected"), TYPES)
def test_symbols_and_unknowns(op, operands, attributes, expected):
    assert infer(f"relax.{op}", *operands, **attributes) == [expected]


@pytest.mark.parametrize("index", ["n", "n // 2", sym("n") - 1, 3])
def test_take_by_a_number_or_a_symbol(index):
    assert infer("relax.take", tensor("n", 4), index, axis=0) == [tensor(4)]


def test_a_symbolic_slice_is_not_negative_for_any_size():
    for size in range(4):
        (info,) = infer("relax.strided_slice", tensor("n"), axes=0, begin=2, end=OPEN)
        assert info.shape[0].evaluate({"n": size}) == len(range(size)[2:])
    assert parse("max(n - 2, 0)") == info.shape[0]
