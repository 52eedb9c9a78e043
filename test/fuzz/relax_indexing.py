# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read, write, order or create elements by index: semantics in numpy, and recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from drawing import DTYPES, Drawing, Value
from graphs import Undefined, numpy_dtype
from recipes import RELAX as recipe


def _without_nan(x: Any) -> Any:
    if x.dtype.kind == "f" and numpy.isnan(x).any():
        raise Undefined("an order of NaNs")
    return x


def _reverse_sequence(x: Any, lengths: Any, seq_axis: int, batch_axis: int) -> Any:
    result = x.copy()
    for batch, length in enumerate(lengths):
        row = numpy.moveaxis(result, (batch_axis, seq_axis), (0, 1))
        row[batch, :length] = row[batch, :length][::-1].copy()
    return result


def _index_put(data: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    result = data.copy()
    if accumulate:
        numpy.add.at(result, tuple(indices), values)
    else:
        result[tuple(indices)] = values
    return result


_REDUCTIONS = {"add": numpy.add, "mul": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}


def _scatter_nd(data: Any, indices: Any, updates: Any, reduction: str) -> Any:
    result, places = data.copy(), tuple(numpy.moveaxis(indices, -1, 0))
    if reduction == "update":
        result[places] = updates
    else:
        _REDUCTIONS[reduction].at(result, places, updates)
    return result


def _slice_scatter(data: Any, source: Any, start: int, end: int, step: int, axis: int) -> Any:
    result = data.copy()
    numpy.moveaxis(result, axis, 0)[start:end:step] = numpy.moveaxis(source, axis, 0)
    return result


def _dynamic_slice(x: Any, begin: Any, end: Any, strides: Any) -> Any:
    return x[tuple(slice(int(b), int(e), int(s)) for b, e, s in zip(begin, end, strides, strict=True))]


def _median(x: Any, axis: Sequence[int], keepdims: bool) -> list[Any]:
    """Return the lower of the two medians, and the position of its first occurrence."""
    (along,) = axis
    if not x.shape[along]:
        raise Undefined("the median of nothing")
    ordered = numpy.sort(_without_nan(x), along)
    median = numpy.take(ordered, [(x.shape[along] - 1) // 2], along)
    places = numpy.argmax(x == median, along, keepdims=True)
    return [each if keepdims else numpy.squeeze(each, along) for each in (median, places)]


def _unique(x: Any, return_index: bool, return_inverse: bool, return_counts: bool, **_: Any) -> list[Any]:
    found = numpy.unique(
        _without_nan(x).reshape(-1),
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
    )
    return list(found) if isinstance(found, tuple) else [found]


def _bucketize(x: Any, boundaries: Any, out_int32: bool, right: bool) -> Any:
    return numpy.searchsorted(boundaries, _without_nan(x), side="right" if right else "left")


def _collapse_like(data: Any, target: Any) -> Any:
    lead = data.ndim - target.ndim
    wide = data.astype("float64") if data.dtype.kind == "f" else data
    axes = [axis for axis in range(target.ndim) if target.shape[axis] == 1 != data.shape[lead + axis]]
    summed = wide.sum((*range(lead), *(lead + axis for axis in axes)), dtype=wide.dtype)
    return summed.reshape(target.shape)


def _bitcast(x: Any, dtype: str) -> Any:
    if x.dtype.kind == "f" and numpy.isnan(x).any():
        raise Undefined("the bits of a NaN")
    return x.view(numpy_dtype(dtype))


#: The oracle stores half floats as float32, with other bits.
_OWN_BITS = [each for kind in "fi" for each in DTYPES[kind] if each not in ("float16", "bfloat16")]

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "relax.reverse_sequence": _reverse_sequence,
    "relax.index_tensor": lambda data, indices: data[tuple(indices)],
    "relax.index_put": lambda data, indices, values, accumulate: _index_put(data, indices, values, accumulate),
    "relax.scatter_nd": _scatter_nd,
    "relax.slice_scatter": _slice_scatter,
    "relax.dynamic_strided_slice": _dynamic_slice,
    "relax.meshgrid": lambda tensors, indexing: numpy.meshgrid(*tensors, indexing=indexing),
    "relax.median": _median,
    "relax.unique": _unique,
    "relax.bucketize": _bucketize,
    "relax.collapse_sum_like": _collapse_like,
    "relax.eye_like": lambda x, k: numpy.eye(*x.shape, k=k),
    "relax.bitcast": _bitcast,
}


def _numbers(d: Drawing, bounds: Sequence[int], shape: Sequence[int], *, signed: bool = False) -> Any:
    """Return indices below each bound, in the last dimension."""
    if 0 in bounds:
        raise Undefined("nothing to index")
    rows = int(numpy.prod(shape))
    drawn = [[d.random.randrange(-bound if signed else 0, bound) for bound in bounds] for _ in range(rows)]
    return numpy.array(drawn, "int64").reshape(*shape, len(bounds))


def _least(x: Value) -> list[int]:
    return [min(array.shape[axis] for array in x.arrays) for axis in range(x.rank)]


@recipe(0.4)
def _draw_reverse(d: Drawing) -> None:
    x = d.some(least=2)
    batch, sequence = d.random.sample(range(x.rank), 2)
    if not isinstance(x.sizes[batch], int):
        raise Undefined("lengths of a symbolic size")
    lengths = [d.random.randint(0, _least(x)[sequence]) for _ in range(int(x.sizes[batch]))]
    lengths = d.constant(numpy.array(lengths, d.random.choice(("int32", "int64"))), "fixed")
    d.add("relax.reverse_sequence", [x, lengths], seq_axis=sequence, batch_axis=batch)


@recipe(0.8)
def _draw_indexed(d: Drawing) -> None:
    x = d.some(least=1)
    depth = d.random.randint(1, x.rank)
    shape = d.random.choice(((1,), (3,), (2, 2)))
    columns = [d.constant(_numbers(d, [bound], shape)[..., 0], "fixed") for bound in _least(x)[:depth]]
    if d.random.random() < 0.5:
        return d.add("relax.index_tensor", [x, tuple(columns)])
    values = d.like(x, (*shape, *x.sizes[depth:]))
    accumulate = x.kind == "i" and d.random.random() < 0.5
    if not accumulate:  # which of several values for a place is left is open
        columns = [d.constant(each.arrays[0].reshape(-1)[:1], "fixed") for each in columns]
        values = d.like(x, (1, *x.sizes[depth:]))
    return d.add("relax.index_put", [x, tuple(columns), values], accumulate=accumulate)


@recipe(0.6)
def _draw_scatter(d: Drawing) -> None:
    x = d.some("fi", least=1)
    depth = d.random.randint(1, x.rank)
    reduction = d.random.choice(("update", "add", "mul", "max", "min"))
    count = 3 if reduction in ("max", "min") or (reduction != "update" and x.kind == "i") else 1
    indices = d.constant(_numbers(d, _least(x)[:depth], (count,)), "fixed")
    d.add("relax.scatter_nd", [x, indices, d.like(x, (count, *x.sizes[depth:]))], reduction=reduction)


@recipe(0.5)
def _draw_slice_scatter(d: Drawing) -> None:
    x = d.some(least=1)
    axis = d.random.randrange(x.rank)
    size = x.sizes[axis]
    if not isinstance(size, int):
        raise Undefined("a slice of a symbolic size")
    start, end, step = d.random.randint(0, size), d.random.randint(0, size), d.random.choice((1, 1, 2, 3))
    sizes = [*x.sizes]
    sizes[axis] = len(range(start, end, step))
    source = d.like(x, sizes)
    d.add("relax.slice_scatter", [x, source], start=start, end=end, step=step, axis=axis)


@recipe(0.4)
def _draw_dynamic_slice(d: Drawing) -> None:
    x = d.some(least=1)
    rows = [[d.random.choice(choices) for _ in range(x.rank)] for choices in ((0, 1, -2), (1, 3, -1, 100), (1, 1, 2))]
    d.add("relax.dynamic_strided_slice", [x, *(d.constant(numpy.array(row, "int64"), "fixed") for row in rows)])


@recipe(0.3)
def _draw_grid(d: Drawing) -> None:
    x = d.some(rank=1)
    d.add("relax.meshgrid", [(x, d.like(x, (d.size(),)))], indexing=d.random.choice(("ij", "xy")))


@recipe(0.8)
def _draw_ordered(d: Drawing) -> None:
    x = d.some("fi", least=1)
    choice = d.random.random()
    if choice < 0.4:
        return d.add("relax.median", [x], axis=(d.axis(x),), keepdims=d.random.random() < 0.5)
    if choice < 0.7:
        flags = {name: d.random.random() < 0.4 for name in ("return_index", "return_inverse", "return_counts")}
        return d.add("relax.unique", [x], sorted=True, **flags)
    boundaries = d.constant(numpy.sort(numpy.unique(d.fresh(x.dtype, (5,)).arrays[0])), "fixed")
    right, short = d.random.random() < 0.5, d.random.random() < 0.5
    return d.add("relax.bucketize", [x, boundaries], out_int32=short, right=right)


@recipe(0.4)
def _draw_collapsed(d: Drawing) -> None:
    x = d.some("fi", least=1)
    sizes = [1 if d.random.random() < 0.5 else size for size in x.sizes][d.random.choice((0, 0, 1)) :]
    d.add("relax.collapse_sum_like", [x, d.like(x, sizes)])


@recipe(0.2)
def _draw_eye(d: Drawing) -> None:
    d.add("relax.eye_like", [d.some(rank=2)], k=d.random.randint(-2, 2))


@recipe(0.4)
def _draw_bitcast(d: Drawing) -> None:
    x = d.some("fi", dtypes=_OWN_BITS)
    width = numpy_dtype(x.dtype).itemsize
    fitting = [each for kind in "fi" for each in DTYPES[kind] if numpy_dtype(each).itemsize == width]
    d.add("relax.bitcast", [x], dtype=d.random.choice(fitting))
