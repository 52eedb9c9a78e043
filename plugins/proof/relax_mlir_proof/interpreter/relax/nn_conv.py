# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, tap by tap: data under the tap times its weight. Padding contributes nothing.

Operands are first converted to the result's type. Sums of integers wrap around.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.infer.layouts import Layout, layouts_of
from relax_mlir.passes.evaluate.references import register_reference

from ..sliding_windows import each_of, laid_out, last, plain, slides_of
from ..steps import require_same
from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference(["relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"])
def convolution(call: EvaluationCall, data: ndarray, weight: ndarray) -> ndarray:
    """Compute the convolution.

    result[n, o, p] = sum over i and t of data[n, i, p * stride + t * dilation - before] * weight[o, i, t]
    """
    data, weight, layout = _operands(call, data, weight)
    sizes, taps = data.shape[3:], weight.shape[3:]
    slides = slides_of(call, taps)
    counts = [slide.places(size) for slide, size in zip(slides, sizes, strict=True)]
    result = numpy.zeros((data.shape[0], *weight.shape[:2], *counts), numpy.result_type(data, weight))
    for tap in product(*map(range, taps)):
        at = [slide.at(count, place) for slide, count, place in zip(slides, counts, tap, strict=True)]
        met = [(places >= 0) & (places < size) for places, size in zip(at, sizes, strict=True)]
        read = data[last(numpy.ix_(*(places[inside] for places, inside in zip(at, met, strict=True))))]
        added = numpy.einsum("ngi...,goi->ngo...", read, weight[last(tap)], optimize=True)
        result[last(numpy.ix_(*met))] += added
    return laid_out(_join(result, 1), layout)


@register_reference([f"relax.nn.conv{rank}d_transpose" for rank in (1, 2, 3)])
def transposed_convolution(call: EvaluationCall, data: ndarray, weight: ndarray) -> ndarray:
    """Compute the transposed convolution.

    result[n, o, p * stride + t * dilation - before] = sum over i, p and t of data[n, i, p] * weight[i, o, t]
    """
    data, weight, layout = _operands(call, data, weight)
    sizes, taps = data.shape[3:], weight.shape[3:]
    slides, more = slides_of(call, taps), each_of(call.output_padding, len(taps))
    counts = [
        (size - 1) * slide.stride + slide.reach + extra - slide.before - slide.after
        for slide, size, extra in zip(slides, sizes, more, strict=True)
    ]
    result = numpy.zeros((*data.shape[:2], weight.shape[2], *counts), numpy.result_type(data, weight))
    for tap in product(*map(range, taps)):
        at = [slide.at(size, place) for slide, size, place in zip(slides, sizes, tap, strict=True)]
        met = [(places >= 0) & (places < count) for places, count in zip(at, counts, strict=True)]
        written = last(numpy.ix_(*(places[inside] for places, inside in zip(at, met, strict=True))))
        read = data[last(numpy.ix_(*met))]
        result[written] += numpy.einsum("ngi...,gio->ngo...", read, weight[last(tap)], optimize=True)
    return laid_out(_join(result, 1), layout)


def _operands(call: EvaluationCall, data: ndarray, weight: ndarray) -> tuple[ndarray, ndarray, Layout]:
    """Return data [batch, groups, channels, ...], weight [groups, channels, channels, ...], and the result's layout."""
    layouts = layouts_of(call)
    data, weight = (
        plain(_summands(each, call.result.dtype), layouts[name]) for each, name in ((data, "data"), (weight, "weight"))
    )
    is_transposed = layouts["weight"].dimensions[0] == "I"
    channels = weight.shape[0] if is_transposed else weight.shape[1] * call.groups
    require_same(data.shape[1], channels, "channels of the data and the weight")
    if weight.shape[0] % call.groups:
        raise ValueError(f"{call.groups} groups do not divide {weight.shape[0]} channels")
    for letter, taps in zip(layouts["weight"].dimensions[2:], weight.shape[2:], strict=True):
        if not taps:
            raise ValueError(f"the weight is empty along {letter}")
    return _split_groups(data, 1, call.groups), _split_groups(weight, 0, call.groups), layouts["result"]


def _summands(array: ndarray, dtype: str) -> ndarray:
    """Convert elements to summands of a type."""
    return array.astype(float) if is_float(dtype) else converted(array, dtype)


def _split_groups(array: ndarray, axis: int, groups: int) -> ndarray:
    """Split the channels along an axis into groups and channels."""
    return array.reshape(*array.shape[:axis], groups, array.shape[axis] // groups, *array.shape[axis + 1 :])


def _join(array: ndarray, axis: int) -> ndarray:
    """Merge groups and channels again."""
    shape = array.shape
    return array.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
