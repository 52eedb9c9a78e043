# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices. Negative indices count from the end, others raise IndexError.

Updates are written one after the other. The last of several updates to a position remains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_at_most, require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _positions(indices: ndarray, size: int, axis: int) -> ndarray:
    """Return indices counted from the front."""
    whole = numpy.asarray(indices).astype(object)  # any integer type
    for index in whole.reshape(-1).tolist():
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range for axis {axis} of size {size}")
    return numpy.asarray(whole % max(size, 1)).astype(numpy.int64)


# ---- read ----


@register_reference("relax.take", stored=True)
def take(call: EvaluationCall, x: ndarray, indices: ndarray) -> ndarray:
    """Take elements.

    An index out of bounds is an error ("fast"), is clamped ("clip"), wraps around ("wrap"), or yields NaN ("nan"). With
    "nan", negative indices yield NaN, too.
    """
    axis = 0 if call.axis is None else call.axis % x.ndim
    source = x.reshape(-1) if call.axis is None else x
    size, whole = source.shape[axis], numpy.asarray(indices).astype(object)
    if call.mode in ("clip", "wrap") and not size and whole.size:
        raise IndexError(f"cannot take elements along axis {axis}, which has none")
    if call.mode == "nan":
        return _or_nan(source, whole, axis)
    if call.mode == "fast":
        places = _positions(whole, size, axis)
    else:
        places = numpy.asarray(numpy.clip(whole, 0, size - 1) if call.mode == "clip" else whole % size, numpy.int64)
    return source.take(places, axis)


def _or_nan(x: ndarray, indices: ndarray, axis: int) -> ndarray:
    nan = numpy.full([*x.shape[:axis], 1, *x.shape[axis + 1 :]], numpy.nan).astype(x.dtype)
    padded = numpy.concatenate([x, nan], axis)
    is_inside = (indices >= 0) & (indices < x.shape[axis])
    return padded.take(numpy.asarray(numpy.where(is_inside, indices, x.shape[axis]), numpy.int64), axis)


@register_reference("relax.dynamic_strided_slice", stored=True)
def dynamic_strided_slice(call: EvaluationCall, x: ndarray, begin: ndarray, end: ndarray, strides: ndarray) -> ndarray:
    if 0 in strides:
        raise ValueError(f"the stride of axis {strides.tolist().index(0)} is 0")
    return x[tuple(slice(*each) for each in zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True))]


@register_reference("relax.gather_elements", stored=True)
def gather_elements(call: EvaluationCall, data: ndarray, indices: ndarray) -> ndarray:
    axis = call.axis % data.ndim
    _require_inside(indices, data, axis)
    return data[_make_indices_along(axis, _positions(indices, data.shape[axis], axis))]


def _require_inside(indices: ndarray, data: ndarray, axis: int) -> None:
    for other in (index for index in range(data.ndim) if index != axis):
        require_at_most(indices.shape[other], data.shape[other], f"indices, axis {other}")


def _make_indices_along(axis: int, positions: ndarray) -> tuple[ndarray, ...]:
    """Return the position of each element, with `positions` along the axis."""
    places: list[ndarray] = list(numpy.indices(positions.shape, sparse=True))
    places[axis] = positions
    return tuple(places)


@register_reference("relax.gather_nd", stored=True)
def gather_nd(call: EvaluationCall, data: ndarray, indices: ndarray) -> ndarray:
    batch, outer = call.batch_dims, indices.shape[:-1]
    places: list[ndarray] = [*numpy.indices(outer)[:batch], *_tuples(indices, data.shape[batch:], batch)]
    return data[tuple(places)] if places else numpy.broadcast_to(data, (*outer, *data.shape))


def _tuples(indices: ndarray, sizes: Sequence[int], first: int) -> list[ndarray]:
    """Return the columns of the index tuples in the last dimension."""
    columns = numpy.moveaxis(indices, -1, 0)
    return [_positions(column, sizes[place], first + place) for place, column in enumerate(columns)]


@register_reference("relax.index_tensor", stored=True)
def index_tensor(call: EvaluationCall, data: ndarray, indices: Sequence[ndarray]) -> ndarray:
    return data[_each_axis(data, indices)]


def _each_axis(data: ndarray, indices: Sequence[ndarray]) -> tuple[ndarray, ...]:
    return tuple(_positions(index, data.shape[axis], axis) for axis, index in enumerate(indices))


@register_reference("relax.reverse_sequence", stored=True)
def reverse_sequence(call: EvaluationCall, data: ndarray, seq_lengths: ndarray) -> ndarray:
    """Reverse the first elements of each batch. A length below 2 reverses nothing."""
    found = data.copy()
    sequence, batch = call.seq_axis % data.ndim, call.batch_axis % data.ndim
    require_same(len(seq_lengths), data.shape[batch], "lengths and batches")
    rows, source = (numpy.moveaxis(array, (batch, sequence), (0, 1)) for array in (found, data))
    for place, length in enumerate(seq_lengths.tolist()):
        if length > data.shape[sequence]:
            raise ValueError(f"length {length} is larger than the sequence, which has {data.shape[sequence]}")
        if length > 0:
            rows[place, :length] = source[place, :length][::-1]
    return found


# ---- write ----

_COMBINED: dict[str, Callable[[ndarray, ndarray], ndarray]] = {
    "update": lambda old, new: new, "add": numpy.add, "mean": numpy.add, "mul": numpy.multiply, "max": numpy.maximum,
    "min": numpy.minimum,
}  # fmt: skip


def _write(data: ndarray, places: Sequence[ndarray], updates: ndarray, reduction: str) -> ndarray:
    """Write updates. `places` has the indices of each update along the leading dimensions."""
    found, combined = data.copy(), _COMBINED[reduction]
    positions = numpy.broadcast_arrays(*places) if places else []
    for point in numpy.ndindex(positions[0].shape if positions else updates.shape[: updates.ndim - data.ndim]):
        place = tuple(position[point] for position in positions)
        found[place] = combined(found[place], updates[point])
    return found


@register_reference("relax.scatter_elements")
def scatter_elements(call: EvaluationCall, data: ndarray, indices: ndarray, updates: ndarray) -> ndarray:
    """Scatter updates. The mean includes the old element, and is rounded down for integers."""
    axis = call.axis % data.ndim
    for index in range(data.ndim):
        require_same(updates.shape[index], indices.shape[index], f"updates and indices, axis {index}")
    _require_inside(indices, data, axis)
    places = _make_indices_along(axis, _positions(indices, data.shape[axis], axis))
    if call.reduction != "mean":
        return _write(data, places, updates, call.reduction)
    wide = data if data.dtype.kind == "f" else data.astype(numpy.uint64 if data.dtype.kind == "u" else numpy.int64)
    counts = _write(numpy.ones(data.shape, wide.dtype), places, numpy.ones(updates.shape, wide.dtype), "add")
    totals = _write(wide, places, updates.astype(wide.dtype), "add")
    return totals / counts if data.dtype.kind == "f" else totals // counts


@register_reference("relax.scatter_nd")
def scatter_nd(call: EvaluationCall, data: ndarray, indices: ndarray, updates: ndarray) -> ndarray:
    wanted = indices.shape[:-1] + data.shape[indices.shape[-1] :]
    for axis, (one, other) in enumerate(zip(updates.shape, wanted, strict=True)):
        require_same(one, other, f"updates, axis {axis}")
    return _write(data, _tuples(indices, data.shape, 0), updates, call.reduction)


@register_reference("relax.index_put")
def index_put(call: EvaluationCall, data: ndarray, indices: Sequence[ndarray], values: ndarray) -> ndarray:
    places = numpy.broadcast_arrays(*_each_axis(data, indices))
    updates = numpy.broadcast_to(values, places[0].shape + data.shape[len(places) :])
    return _write(data, places, updates, "add" if call.accumulate else "update")


@register_reference("relax.slice_scatter", stored=True)
def slice_scatter(
    call: EvaluationCall, data: ndarray, src: ndarray, start: ndarray, end: ndarray, step: ndarray
) -> ndarray:
    if step <= 0:
        raise ValueError(f"the step of the slice must be positive, got {step}")
    found = data.copy()
    axis = call.axis % data.ndim
    part = found[(slice(None),) * axis + (slice(int(start), int(end), int(step)),)]
    for index, (one, other) in enumerate(zip(src.shape, part.shape, strict=True)):
        require_same(one, other, f"src and the slice, axis {index}")
    part[...] = src
    return found
