# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read elements at indices, legalized by the default rules, compiled and run, against numpy."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy
import pytest
from compiling import array, built
from element_arrays import same
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from onnx_oracle import run_onnx
from prim_jit import run_built, run_op

import relax_mlir as rx
from relax_mlir import relax

DTYPES = (
    *("float16", "float32", "float64", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
INDEX_DTYPES = DTYPES[4:]
NARROW = (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)
AS_DRAWN = draws(40)


def values(shape: Any, dtype: Any = "float32") -> Any:
    return numpy.random.default_rng(11).integers(0, 100, shape).astype(dtype)


def ran(name: str, *arrays: Any, **options: Any) -> Any:
    return run_op(f"relax.{name}", *arrays, **options)


def indices_below(data: Any, size: int, shape: Any, dtype: Any = "int64") -> Any:
    """Draw indices of an axis from both ends, or none for an empty axis."""
    if size == 0 or 0 in shape:
        return numpy.zeros([0 if size == 0 else each for each in shape], dtype)
    count = int(numpy.prod(shape))
    drawn = data.draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count), label="indices")
    return numpy.array(drawn, dtype).reshape(shape)


# ---- take ----


@pytest.mark.parametrize("dtype", [*DTYPES, *NARROW])
def test_take_of_every_element_type(dtype: Any) -> None:
    x = values((4, 3), dtype)
    indices = numpy.array([[3, -1], [0, -4]])
    same(ran("take", x, indices, axis=0), x[indices])
    if x.dtype.kind not in "biu":
        expected = numpy.array([x[3], numpy.full(3, numpy.nan, dtype)])
        same(ran("take", x, numpy.array([3, -1]), axis=0, mode="nan"), expected)


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_take_at_indices_of_every_type(dtype: str) -> None:
    x = values((3, 200))
    indices = numpy.array([127, 0, 5], dtype)
    same(ran("take", x, indices, axis=1), x[:, indices])
    if indices.dtype.kind == "i":
        same(ran("take", x, -indices, axis=1), x[:, -indices])


@AS_DRAWN
@given(st.data())
def test_take_along_drawn_axes(data: Any) -> None:
    axis = data.draw(st.sampled_from([0, 1, -1]))
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)), label="shape")
    x = values(shape)
    indices = indices_below(data, shape[axis], data.draw(st.tuples(st.integers(0, 3), st.integers(0, 2))))
    same(ran("take", x, indices, axis=axis, symbols=[("n", "m"), ("k", "l")]), numpy.take(x, indices, axis))


@pytest.mark.parametrize("mode", ["wrap", "clip", "nan"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64"])
def test_take_outside(mode: str, dtype: str) -> None:
    x = values((5, 3))
    limits = numpy.iinfo(dtype)
    indices = numpy.array([0, 4, 5, 6, 11, limits.max, limits.min, limits.max - 1], dtype)
    if dtype != "uint64":
        indices = numpy.concatenate([indices, numpy.array([-1, -5, -6, -128], dtype)])
    for symbols in ((), [("n", 3), ("k",)]):
        actual = ran("take", x, indices, axis=0, mode=mode, symbols=symbols)
        same(actual, taken(x, [int(index) for index in indices], mode))


def taken(x: Any, indices: list[int], mode: str) -> Any:
    size = len(x)
    if mode == "nan":
        return numpy.array([x[index] if 0 <= index < size else x[0] * numpy.nan for index in indices])
    if mode == "wrap":
        # numpy's own wraps by repeated subtraction, which takes forever.
        return x[[index % size for index in indices]]
    return numpy.take(x, numpy.array([min(index, 2**63 - 1) for index in indices]), axis=0, mode=mode)


def test_take_with_a_single_index() -> None:
    x = values((4, 3))
    same(ran("take", x, numpy.array(-2), axis=1), x[:, -2])
    same(ran("take", x, numpy.array(7), axis=0, mode="clip"), x[3])


def test_take_with_a_scalar() -> None:
    x = values((4, 3))
    for mode, index, place in (("fast", -1, -1), ("wrap", 9, 1), ("clip", 9, 3)):
        same(run_built(lambda x, i, mode=mode: rx.relax.take(x, i, axis=0, mode=mode), x, index), x[place])
    with pytest.raises(IndexError, match="index 4 is out of range for axis 0 of size 4"):
        run_built(lambda x, i: rx.relax.take(x, i, axis=0), x, 4)


def test_take_of_the_flattened_tensor() -> None:
    x = values((4, 3))
    same(ran("take", x[0], numpy.array([2, -1])), x[0][[2, -1]])
    same(ran("take", x, numpy.array([[11, -1]])), numpy.take(x, [[11, -1]]))
    same(ran("take", x, numpy.array([[0, -1]]), symbols=[("n", "m"), (1, 2)]), numpy.take(x, [[0, -1]]))


@pytest.mark.parametrize("symbols", [(), [("n", 3), ("k",)]])
@pytest.mark.parametrize("index", [4, -5, 2**63 - 1, -(2**63)])
def test_take_refuses_an_index_outside(index: int, symbols: Any) -> None:
    with pytest.raises(IndexError, match=rf"index {index} is out of range for axis 0 of size 4"):
        ran("take", values((4, 3)), numpy.array([1, index, 0]), axis=0, symbols=symbols)


def test_take_refuses_unsigned_indices_that_look_negative() -> None:
    with pytest.raises(IndexError, match="is out of range for axis 0 of size 4"):
        ran("take", values((4, 3)), numpy.array([2**64 - 1], "uint64"), axis=0)
    with pytest.raises(IndexError, match="index 255 is out of range for axis 0 of size 4"):
        ran("take", values((4, 3)), numpy.array([255], "uint8"), axis=0)


@pytest.mark.parametrize("mode", ["fast", "wrap", "clip", "nan"])
def test_take_along_an_empty_axis(mode: str) -> None:
    empty, symbols = values((0, 3)), [("n", 3), ("k",)]
    same(ran("take", empty, numpy.zeros(0, int), axis=0, mode=mode, symbols=symbols), empty)
    if mode == "nan":
        assert numpy.isnan(ran("take", empty, numpy.array([0, -1]), axis=0, mode=mode, symbols=symbols)).all()
        return
    with pytest.raises(IndexError, match=r"index 0 is out of range|axis 0, which has none"):
        ran("take", empty, numpy.array([0]), axis=0, mode=mode, symbols=symbols)


# ---- slices ----

BOUNDS = st.one_of(st.integers(-7, 7), st.sampled_from([2**63 - 1, -(2**63 - 1), 100, -100]))
STRIDES = st.integers(-3, 3).filter(bool)


@draws(30)
@given(st.data())
def test_strided_slices_of_fixed_sizes(data: Any) -> None:
    shape = data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5)), label="shape")
    axes = data.draw(st.sampled_from([(0,), (1,), (0, 1), (-1, 0), ()]), label="axes")
    begin, end, strides = (tuple(data.draw(each) for _ in axes) for each in (BOUNDS, BOUNDS, STRIDES))
    x = values(shape)
    same(
        ran("strided_slice", x, axes=axes, begin=begin, end=end, strides=strides), sliced(x, axes, begin, end, strides)
    )


def sliced(x: Any, axes: Any, begin: Any, end: Any, strides: Any) -> Any:
    places = [slice(None)] * x.ndim
    for axis, *bounds in zip(axes, begin, end, strides, strict=True):
        places[axis] = slice(*bounds)
    return x[tuple(places)]


@pytest.mark.parametrize(
    "bounds",
    [
        ((1, 0), (-1, 3), (1, 2)),
        ((-3, -2), (2**63 - 1, 2**63 - 1), (2, 1)),
        ((-1, 2**63 - 1), (-(2**63 - 1), -4), (-1, -2)),
        ((3, 4), (0, -100), (-2, -1)),
        ((2, -2), (5, 4), (1, 1)),
    ],
)
def test_strided_slices_of_symbolic_sizes(bounds: Any) -> None:
    for shape in ((0, 0), (1, 1), (2, 3), (5, 4), (8, 7)):
        x = values(shape)
        actual = ran(
            "strided_slice", x, axes=(0, 1), begin=bounds[0], end=bounds[1], strides=bounds[2], symbols=[("n", "m")]
        )
        same(actual, sliced(x, (0, 1), *bounds))


#: No size reaches it: to the end.
OPEN = 2**63 - 1
EXPRESSIONS = [
    (0, "k"), ("k", OPEN), ("k - 2", "n - 1"), ("-k", "n"), (1, "n - k"), ("k", "k + 2"), ("n - 1", "k - n"),
]  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2, -1, -3])
@pytest.mark.parametrize("bounds", EXPRESSIONS, ids=str)
def test_strided_slices_with_expressions_as_bounds(bounds: Any, stride: int) -> None:
    """Slice with sizes that the result's type states, and with sizes that are known at run time only."""
    cut = built(
        [rx.tensor(("n", 3)), rx.tensor(("k",))],
        lambda x, _: relax.strided_slice(x, axes=[0], begin=[bounds[0]], end=[bounds[1]], strides=[stride]),
    )
    for n, k in itertools.product((0, 1, 5, 8), (0, 1, 3, 9)):
        x = values((n, 3)).astype("float32")
        begin, end = (eval(str(bound), {"n": n, "k": k}) for bound in bounds)
        actual = array(cut["main"](x, numpy.zeros(k, "float32")))
        numpy.testing.assert_array_equal(actual, x[begin:end:stride], err_msg=f"n = {n}, k = {k}")


@pytest.mark.parametrize("dtype", [*DTYPES, *NARROW])
def test_strided_slices_of_every_element_type(dtype: Any) -> None:
    x = values((5, 4), dtype)
    same(ran("strided_slice", x, axes=(0,), begin=(1,), end=(5,), strides=(2,)), x[1:5:2])
    same(ran("strided_slice", x, axes=(0,), begin=(1,), end=(5,)), x[1:5])


def test_a_promise_that_bounds_are_inside_is_checked() -> None:
    inbound = {"axes": (0,), "begin": (1,), "end": (4,), "assume_inbound": True, "symbols": [("n", 2)]}
    same(ran("strided_slice", values((6, 2)), **inbound), values((6, 2))[1:4])
    with pytest.raises(ValueError, match="the slice of axis 0 leaves the tensor: sizes 2 and 3 differ"):
        ran("strided_slice", values((3, 2)), **inbound)


WIDE_BOUNDS = st.one_of(BOUNDS, st.just(-(2**63)))


@AS_DRAWN
@given(st.data())
def test_slices_with_bounds_known_at_run_time(data: Any) -> None:
    shape = data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5)), label="shape")
    strides = st.one_of(STRIDES, st.sampled_from([2**63 - 1, -(2**63)]))
    lists = [[data.draw(each) for _ in shape] for each in (WIDE_BOUNDS, WIDE_BOUNDS, strides)]
    x = values(shape)
    arrays = [numpy.array(each, "int64") for each in lists]
    actual = ran("dynamic_strided_slice", x, *arrays, symbols=[("n", "m"), (2,), (2,), (2,)])
    same(actual, sliced(x, (0, 1), *lists))


def test_slices_with_bounds_of_other_types() -> None:
    x = values((6,))
    lists = [numpy.array([1], "int32"), numpy.array([2**64 - 1], "uint64"), numpy.array([2], "int8")]
    same(ran("dynamic_strided_slice", x, *lists), x[1::2])


def test_a_stride_of_0_is_refused() -> None:
    one, zero = numpy.array([1]), numpy.array([0])
    with pytest.raises(ValueError, match="the stride of axis 0 is 0"):
        ran("dynamic_strided_slice", values((6,)), zero, one, zero)


# ---- gathering ----


@AS_DRAWN
@given(st.data())
def test_gather_elements_along_drawn_axes(data: Any) -> None:
    axis = data.draw(st.sampled_from([0, 1, -1]))
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)), label="shape")
    wanted = [data.draw(st.integers(0, size)) for size in shape]
    wanted[axis] = data.draw(st.integers(0, 5))
    x, indices = values(shape), indices_below(data, shape[axis], wanted)
    rows = x[:, : indices.shape[1]] if axis == 0 else x[: indices.shape[0]]
    expected = numpy.take_along_axis(rows, indices, axis)
    same(ran("gather_elements", x, indices, axis=axis, symbols=[("n", "m"), ("k", "l")]), expected)


@pytest.mark.parametrize("dtype", [*DTYPES, *NARROW])
def test_gather_elements_of_every_type(dtype: Any) -> None:
    x = values((4, 3), dtype)
    indices = numpy.array([[0, 3, 1], [2, 2, 0]], dtype if dtype in INDEX_DTYPES else "int32")
    same(ran("gather_elements", x, indices, axis=0), numpy.take_along_axis(x, indices.astype(int), 0))


def test_gather_elements_refuses_what_is_outside() -> None:
    x, symbols = values((4, 3)), [("n", "m"), ("k", "l")]
    with pytest.raises(IndexError, match="index -5 is out of range for axis 0 of size 4"):
        ran("gather_elements", x, numpy.array([[0, -5]]), axis=0, symbols=symbols)
    with pytest.raises(ValueError, match="indices, axis 1: size 4 is larger than 3"):
        ran("gather_elements", x, numpy.zeros((1, 4), int), axis=0, symbols=symbols)


GATHER_ND = [
    ((4, 3, 2), (5, 2), 0),
    ((4, 3, 2), (2, 5, 3), 0),
    ((4, 3, 2), (1,), 0),
    ((4, 3, 2), (4, 5, 1), 1),
    ((4, 3, 2), (4, 2), 1),
    ((2, 3, 4, 2), (2, 3, 1), 2),
    ((4, 3), (0, 2), 0),
    ((4, 3), (3, 2, 2), 0),
]


@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize(("shape", "places", "batch"), GATHER_ND, ids=str)
def test_gather_nd(shape: Any, places: Any, batch: int, is_symbolic: bool) -> None:
    x = values(shape)
    random = numpy.random.default_rng(3)
    limits = shape[batch : batch + places[-1]]
    columns = [random.integers(-limit, limit, places[:-1]) for limit in limits]
    indices = numpy.stack(columns, axis=-1)
    symbols = [
        [f"d{axis}" for axis in range(len(shape))],
        [*(f"i{axis}" for axis in range(len(places) - 1)), places[-1]],
    ]
    actual = ran("gather_nd", x, indices, batch_dims=batch, symbols=symbols if is_symbolic else ())
    (expected,) = run_onnx("GatherND", x, indices, batch_dims=batch)
    same(actual, expected)


def test_gather_nd_with_tuples_of_nothing() -> None:
    x = values((2, 3))
    same(ran("gather_nd", x, numpy.zeros((4, 0), int)), numpy.broadcast_to(x, (4, 2, 3)))


def test_gather_nd_refuses_what_is_outside() -> None:
    x = values((4, 3))
    with pytest.raises(IndexError, match="index 3 is out of range for axis 1 of size 3"):
        ran("gather_nd", x, numpy.array([[0, 0], [-4, 3]]))
    with pytest.raises(ValueError, match="batch dimension 0: sizes 4 and 5 differ"):
        ran("gather_nd", x, numpy.zeros((5, 1), int), batch_dims=1, symbols=[("n", 3), ("m", 1)])


INDEX_TENSORS = [
    (((4,), (4,)), ()),
    (((2, 3), (3,)), ()),
    (((2, 1), (1, 3)), [("n", "m", 2), ("a", 1), (1, "b")]),
    (((2, 3),), [("n", "m", 2), ("a", "b")]),
    (((), (3,)), ()),
    (((3,), (3,), (1,)), [("n", "m", 2), ("a",), ("a",), (1,)]),
    (((3,), (1,)), [("n", "m", 2), ("a",), ("b",)]),
    (((0,), (1,)), [("n", "m", 2), ("a",), ("b",)]),
]


@pytest.mark.parametrize(("shapes", "symbols"), INDEX_TENSORS, ids=str)
def test_index_tensor(shapes: Any, symbols: Any) -> None:
    x, random = values((4, 3, 2)), numpy.random.default_rng(3)
    indices = [random.integers(-size, size, shape) for size, shape in zip(x.shape, shapes, strict=False)]
    same(ran("index_tensor", x, *indices, symbols=symbols), x[tuple(indices)])


def test_index_tensor_refuses_what_is_outside() -> None:
    x, symbols = values((4, 3, 2)), [("n", "m", 2), ("a",), ("b",)]
    with pytest.raises(IndexError, match="index 3 is out of range for axis 1 of size 3"):
        ran("index_tensor", x, numpy.array([0, 3]), numpy.array([0, 3]), symbols=symbols)
    with pytest.raises(ValueError, match="do not broadcast"):
        ran("index_tensor", x, numpy.array([0, 3]), numpy.array([0, 1, 2]), symbols=symbols)


# ---- reversing ----


@pytest.mark.parametrize(("sequence", "batch"), [(1, 0), (0, 1), (-1, 0), (2, 1)])
@pytest.mark.parametrize("symbols", [(), [("a", "b", "c"), ("d",)]])
def test_reverse_sequence(sequence: int, batch: int, symbols: Any) -> None:
    x = values((3, 4, 5))
    sequence_size = x.shape[sequence]
    lengths = numpy.array([0, 1, sequence_size, 2][: x.shape[batch]])
    expected = x.copy()
    for row, length in enumerate(lengths):
        target = numpy.moveaxis(expected, (batch, sequence), (0, 1))[row]
        target[:length] = target[:length][::-1].copy()
    actual = ran("reverse_sequence", x, lengths, seq_axis=sequence, batch_axis=batch, symbols=symbols)
    same(actual, expected)


def test_reverse_sequence_against_onnxruntime() -> None:
    x, lengths = values((5, 3)), numpy.array([4, 1, 5])
    (expected,) = run_onnx("ReverseSequence", x, lengths, time_axis=0, batch_axis=1)
    same(ran("reverse_sequence", x, lengths, seq_axis=0, batch_axis=1), expected)


def test_reverse_sequence_of_lengths_that_mean_nothing() -> None:
    x = values((3, 4))
    lengths = numpy.array([-1, 0, -(2**31)], "int32")
    same(ran("reverse_sequence", x, lengths, seq_axis=1, batch_axis=0), x)
    with pytest.raises(ValueError, match="length 5 is larger than the sequence, which has 4"):
        ran("reverse_sequence", x, numpy.array([1, 5, 2]), seq_axis=1, batch_axis=0)
    with pytest.raises(ValueError, match="lengths and batches: sizes 2 and 3 differ"):
        ran("reverse_sequence", x, numpy.array([1, 2]), seq_axis=1, batch_axis=0, symbols=[("n", 4), ("m",)])


# ---- forms ----


def test_a_rank_that_is_not_known_is_declined() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor(None), rx.tensor((2,), "int64")]) as f:
        f.returns(rx.relax.take(*f, axis=0))
    with pytest.raises(rx.RelaxError, match="the rank of an operand"):
        rx.LegalizeOps()(module)


def test_sizes_without_a_name_get_one() -> None:
    x, indices = values((4, 3)), numpy.array([2, -1])
    same(ran("take", x, indices, axis=0, symbols=[(None, 3), (None,)]), x[indices])
