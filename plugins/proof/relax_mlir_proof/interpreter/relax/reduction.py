# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes, and scans along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.passes.evaluate.references import register_reference

from .element_types import converted, highest, lowest, wide_integer

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


def _reduction(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Reduce over the call's axes. For booleans the sum is "any" and the product "all"."""

    def reduced(call: EvaluationCall, x: ndarray) -> ndarray:
        return function(x, axis=call.axis, keepdims=call.keepdims).astype(x.dtype)

    return reduced


register_reference("relax.sum")(_reduction(numpy.sum))
register_reference("relax.prod")(_reduction(numpy.prod))


def _extreme(function: Callable[..., ndarray], of_none: Callable[[str], float]) -> Callable[..., ndarray]:
    """Return the extreme element, or NaN if there is one. Without elements the result is the identity."""

    def extreme(call: EvaluationCall, x: ndarray) -> ndarray:
        return function(x, axis=call.axis, keepdims=call.keepdims, initial=of_none(call.x.dtype))

    return extreme


register_reference("relax.max")(_extreme(numpy.max, lowest))
register_reference("relax.min")(_extreme(numpy.min, highest))


# ---- means: for integers truncated towards zero, and 0 without elements ----


@register_reference("relax.mean")
def mean(call: EvaluationCall, x: ndarray) -> ndarray:
    dtype = call.result.dtype
    wide = float if is_float(dtype) else wide_integer(dtype)
    totals = numpy.sum(x, axis=call.axis, keepdims=call.keepdims, dtype=wide)
    count = x.size // max(1, totals.size)
    if is_float(dtype):
        return totals / numpy.float64(count)
    return totals * 0 if count == 0 else numpy.sign(totals) * (abs(totals) // totals.dtype.type(count))


def _variance(x: ndarray, axis: ndarray, keepdims: bool) -> ndarray:
    """Return the mean squared deviation from the mean. NaN without elements."""
    totals = numpy.sum(x, axis=axis, keepdims=True, dtype=float)
    count = numpy.float64(x.size // max(1, totals.size))
    return numpy.sum((x - totals / count) ** 2, axis=axis, keepdims=keepdims) / count


@register_reference("relax.variance")
def variance(call: EvaluationCall, x: ndarray) -> ndarray:
    return converted(_variance(x, call.axis, call.keepdims), call.result.dtype)


@register_reference("relax.std")
def std(call: EvaluationCall, x: ndarray) -> ndarray:
    return converted(numpy.sqrt(_variance(x, call.axis, call.keepdims)), call.result.dtype)


# ---- reduced elements as rows ----


def _rows(call: EvaluationCall, x: ndarray, axes: tuple[int, ...]) -> tuple[ndarray, tuple[int, ...]]:
    """Return the elements that are reduced together along a last dimension, and the result's shape."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    sizes = [1 if axis in axes else size for axis, size in enumerate(x.shape) if call.keepdims or axis in kept]
    count = int(numpy.prod([x.shape[axis] for axis in axes], dtype=int))
    outer = [x.shape[axis] for axis in kept]
    return x.transpose(*kept, *axes).reshape(*outer, count), tuple(sizes)


def _axes(call: EvaluationCall, x: ndarray) -> tuple[int, ...]:
    if call.axis is None:
        return tuple(range(x.ndim))
    axes = (call.axis,) if isinstance(call.axis, int) else call.axis
    return tuple(axis % x.ndim for axis in axes)


def _position(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Return the position of the first extreme element, or of the first NaN. -1 without elements."""

    def position(call: EvaluationCall, x: ndarray) -> ndarray:
        rows, shape = _rows(call, x, _axes(call, x))
        return numpy.full(shape, -1) if rows.shape[-1] == 0 else function(rows, axis=-1).reshape(shape)

    return position


register_reference("relax.argmax")(_position(numpy.argmax))
register_reference("relax.argmin")(_position(numpy.argmin))


@register_reference("relax.median")
def median(call: EvaluationCall, data: ndarray) -> list[ndarray]:
    """Return the lower median and its first position, or NaN if there is one.

    Without elements the result is NaN, or the lowest integer, at -1.
    """
    rows, shape = _rows(call, data, tuple(sorted(_axes(call, data))))
    if (count := rows.shape[-1]) == 0:
        nothing = numpy.nan if is_float(call.result.dtype) else lowest(call.result.dtype)
        found = [numpy.full(shape, nothing), numpy.full(shape, -1)]
    else:
        middle = numpy.sort(rows, axis=-1)[..., (count - 1) // 2]
        is_nan = rows != rows
        values = numpy.where(is_nan.any(axis=-1), numpy.nan, middle) if is_nan.any() else middle
        places = numpy.argmax(numpy.where(is_nan.any(axis=-1, keepdims=True), is_nan, rows == middle[..., None]), -1)
        found = [values.reshape(shape), places.reshape(shape)]
    return found[: len(call.results)]


# ---- running totals ----


def _scan(name: str, start: int) -> Callable[..., ndarray]:
    ufunc = getattr(numpy, name)

    def scan(call: EvaluationCall, data: ndarray) -> ndarray:
        """Scan elements converted to the result's type."""
        dtype, axis = call.result.dtype, 0 if call.axis is None else call.axis
        elements = converted(data.reshape(-1) if call.axis is None else data, dtype)
        totals = ufunc.accumulate(elements.astype(float if is_float(dtype) else wide_integer(dtype)), axis=axis)
        if not call.exclusive:
            return totals
        first = numpy.full_like(totals.take(range(min(1, totals.shape[axis])), axis), start)
        return numpy.concatenate([first, totals.take(range(totals.shape[axis] - 1), axis)], axis)

    return scan


register_reference("relax.cumsum")(_scan("add", 0))
register_reference("relax.cumprod")(_scan("multiply", 1))
