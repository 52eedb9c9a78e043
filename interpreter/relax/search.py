# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searching, sorting and selecting. NaN comes after all numbers, in either direction, and is as large as any NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from ...dialects.core.infos import TensorInfo, is_float
from ..registry import register_reference
from .element_types import converted, limits

if TYPE_CHECKING:
    from numpy import ndarray

    from ...passes.evaluate.registry import EvaluationCall


@register_reference("relax.where", stored=True)
def where(call: EvaluationCall, condition: ndarray, x1: ndarray, x2: ndarray) -> ndarray:
    return numpy.where(condition, x1, x2)


@register_reference("relax.clip")
def clip(call: EvaluationCall, x: ndarray, low: ndarray, high: ndarray) -> ndarray:
    """The upper bound where bounds are exchanged. For integers bounds are cut towards zero, and to the type's limits.
    NaN is a bound that no float is inside of.
    """
    dtype = call.result.dtype
    if is_float(dtype):
        return numpy.minimum(numpy.maximum(x, float(low)), float(high))
    bounds = [x.dtype.type(_inside(bound, dtype)) for bound in (low, high)]
    return numpy.minimum(numpy.maximum(x, bounds[0]), bounds[1])


def _inside(bound: ndarray, dtype: str) -> int:
    if bound.dtype.kind == "f":
        return int(converted(bound, dtype))
    lowest, highest = limits(dtype)
    return max(lowest, min(highest, int(bound)))


# ---- orders ----


def _ranks(x: ndarray, descending: bool = False) -> ndarray:
    """Numbers in the order of the elements: equal ones have the same."""
    _, ranks = numpy.unique(x, return_inverse=True)
    ranks = ranks.reshape(x.shape)
    return numpy.where(x != x, x.size, -ranks if descending else ranks)


def _order(x: ndarray, axis: int, descending: bool) -> ndarray:
    """The positions of the elements in their order; equal ones stay in theirs."""
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
    # All of them, where they are known to be fewer than k.
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
def unique(call: EvaluationCall, x: ndarray, is_sorted: ndarray, *rest: Any) -> list[ndarray]:
    """Slices are in the order of the first elements in which they differ; unsorted, in that in which they come."""
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
    """A scalar counts as a row of one element."""
    return numpy.array(numpy.nonzero(numpy.atleast_1d(x)), numpy.int64)


@register_reference("relax.bucketize")
def bucketize(call: EvaluationCall, input_tensor: ndarray, boundaries: ndarray) -> ndarray:
    return numpy.searchsorted(boundaries, input_tensor, "right" if call.right else "left")


@register_reference("relax.multinomial_from_uniform")
def multinomial_from_uniform(
    call: EvaluationCall, prob: ndarray, uniform_sample: ndarray, sample_indices: ndarray
) -> ndarray:
    """The first class up to which the probabilities sum to more than the sample; the last where they never do."""
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
