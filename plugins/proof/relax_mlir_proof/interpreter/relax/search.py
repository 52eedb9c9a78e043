# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Search, sort and selection. NaN sorts after all numbers in both directions, and all NaNs are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir.dialects.core.infos import TensorInfo, is_float
from relax_mlir.passes.evaluate.references import register_reference

from .element_types import converted, limits

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.where", stored=True)
def where(call: EvaluationCall, condition: ndarray, x1: ndarray, x2: ndarray) -> ndarray:
    return numpy.where(condition, x1, x2)


@register_reference("relax.clip")
def clip(call: EvaluationCall, x: ndarray, low: ndarray, high: ndarray) -> ndarray:
    """Clip to bounds. If the bounds are exchanged, the result is the upper one.

    Bounds of integers are truncated, and saturated to the type's limits. A NaN bound makes all floats NaN.
    """
    dtype = call.result.dtype
    if is_float(dtype):
        return numpy.minimum(numpy.maximum(x, float(low)), float(high))
    bounds = [x.dtype.type(_clamp(bound, dtype)) for bound in (low, high)]
    return numpy.minimum(numpy.maximum(x, bounds[0]), bounds[1])


def _clamp(bound: ndarray, dtype: str) -> int:
    if bound.dtype.kind == "f":
        return int(converted(bound, dtype))
    lowest, highest = limits(dtype)
    return max(lowest, min(highest, int(bound)))


# ---- orders ----


def _ranks(x: ndarray, descending: bool = False) -> ndarray:
    """Return ranks in the order of the elements. Equal elements have equal ranks."""
    _, ranks = numpy.unique(x, return_inverse=True)
    ranks = ranks.reshape(x.shape)
    return numpy.where(x != x, x.size, -ranks if descending else ranks)


def _order(x: ndarray, axis: int, descending: bool) -> ndarray:
    """Return the stable order of the elements."""
    return numpy.argsort(_ranks(x, descending), axis=axis, kind="stable")


@register_reference("relax.sort")
def sort(call: EvaluationCall, data: ndarray) -> ndarray:
    return numpy.take_along_axis(data, _order(data, call.axis, call.descending), call.axis)


@register_reference("relax.argsort")
def argsort(call: EvaluationCall, data: ndarray) -> ndarray:
    return converted(_order(data, call.axis, call.descending), call.result.dtype)


@register_reference("relax.topk")
def topk(call: EvaluationCall, data: ndarray) -> list[ndarray]:
    size, shape, last = data.shape[call.axis], call.result.shape, call.results[-1]
    assert isinstance(last, TensorInfo)
    # The result has fewer elements if the axis is known to be shorter than k.
    known = None if shape is None else shape[call.axis]
    count = size if call.k < 1 else call.k if known is None else known
    if count > size:
        raise ValueError(f"{count} elements are asked for along axis {call.axis % data.ndim} of size {size}")
    places = _order(data, call.axis, call.largest).take(range(count), call.axis)
    values = numpy.take_along_axis(data, places, call.axis)
    positions = converted(places, last.dtype) if call.ret_type != "values" else None
    found: dict[str, list[Any]] = {"both": [values, positions], "values": [values], "indices": [positions]}
    return found[call.ret_type]


@register_reference("relax.unique")
def unique(call: EvaluationCall, x: ndarray, is_sorted: ndarray, *rest: ndarray | None) -> list[ndarray]:
    """Return unique slices in lexicographic order, or in order of first occurrence."""
    *flags, axis = rest
    ranks = _ranks(x).reshape(-1, 1) if axis is None else numpy.moveaxis(_ranks(x), int(axis), 0)
    rows = [tuple(row.ravel().tolist()) for row in ranks]
    groups = sorted(set(rows)) if is_sorted else list(dict.fromkeys(rows))
    number = {row: index for index, row in enumerate(groups)}
    inverse = numpy.array([number[row] for row in rows], numpy.int64)
    firsts = numpy.array([rows.index(row) for row in groups], numpy.int64)
    counts = numpy.bincount(inverse, minlength=len(groups))
    values = x.reshape(-1)[firsts] if axis is None else x.take(firsts, int(axis))
    return [values, *(found for flag, found in zip(flags, (firsts, inverse, counts), strict=True) if flag)]


# ---- places ----


@register_reference("relax.nonzero")
def nonzero(call: EvaluationCall, x: ndarray) -> ndarray:
    """Return the positions of nonzero elements. A scalar counts as a row of one element."""
    return numpy.array(numpy.nonzero(numpy.atleast_1d(x)), numpy.int64)


@register_reference("relax.bucketize")
def bucketize(call: EvaluationCall, input_tensor: ndarray, boundaries: ndarray) -> ndarray:
    return numpy.searchsorted(boundaries, input_tensor, "right" if call.right else "left")


@register_reference("relax.multinomial_from_uniform")
def multinomial_from_uniform(
    call: EvaluationCall, prob: ndarray, uniform_sample: ndarray, sample_indices: ndarray
) -> ndarray:
    """Return the first class with a cumulative probability above the sample, or the last class."""
    rows, classes = prob.shape
    drawn = numpy.zeros(sample_indices.shape, numpy.int64)
    for sample, row in enumerate(sample_indices[:, 0].tolist()):
        if not 0 <= row < rows:
            raise IndexError(f"sample {sample} is of row {row}, but there are {rows} rows of probabilities")
        if not classes:
            raise ValueError("there is no class to draw")
        is_more = numpy.add.accumulate(prob[row]) > uniform_sample[sample, 0]
        drawn[sample, 0] = int(numpy.argmax(is_more)) if is_more.any() else classes - 1
    return converted(drawn, call.result.dtype)
