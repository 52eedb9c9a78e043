# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling, window by window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy
from relax_mlir.dialects.relax.infer.layouts import layouts_of
from relax_mlir.passes.evaluate.references import register_reference

from ..sliding_windows import Slide, at_least_none, each_of, laid_out, last, plain, slides_of
from .element_types import lowest

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_RANKS = (1, 2, 3)


@register_reference([f"relax.nn.max_pool{rank}d" for rank in _RANKS])
def max_pool(call: EvaluationCall, data: ndarray) -> ndarray:
    """Return the maximum. A window with only padding has the lowest number of the type."""
    least = lowest(call.result.dtype)
    return _pool(call, data, lambda window, at: window.max(axis=_spatial(window), initial=least))


@register_reference([f"relax.nn.avg_pool{rank}d" for rank in _RANKS])
def avg_pool(call: EvaluationCall, data: ndarray) -> ndarray:
    """Divide sums by the number of taps on data, or on data and padding. The divisor is at least 1."""
    slides = slides_of(call, each_of(call.pool_size, len(call.definition.windows.letters)))
    sizes = plain(data, layouts_of(call)["data"]).shape[2:]

    def mean(window: ndarray, at: Sequence[int]) -> ndarray:
        counts = []
        for slide, size, place in zip(slides, sizes, at, strict=True):
            first, last = (-slide.before, size + slide.after) if call.count_include_pad else (0, size)
            counts.append(sum(first <= tap < last for tap in _taps(slide, place)))
        return _quotient(window.sum(axis=_spatial(window)), max(prod(counts), 1))

    return _pool(call, data, mean)


@register_reference([f"relax.nn.adaptive_avg_pool{rank}d" for rank in _RANKS])
def adaptive_avg_pool(call: EvaluationCall, data: ndarray) -> ndarray:
    """Return means of n windows: window i covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    layouts = layouts_of(call)
    data = plain(data, layouts["data"])
    sizes = data.shape[2:]
    counts = sizes if call.output_size is None else each_of(call.output_size, len(sizes))
    result = numpy.zeros((*data.shape[:2], *counts), data.dtype)
    for at in product(*map(range, counts)):
        bounds = [slice(i * size // n, -(-(i + 1) * size // n)) for i, size, n in zip(at, sizes, counts, strict=True)]
        window = data[last(bounds)]
        result[last(at)] = _quotient(window.sum(axis=_spatial(window)), prod(window.shape[2:]))
    return laid_out(result, layouts["result"])


def _pool(call: EvaluationCall, data: ndarray, function: Callable[[ndarray, Sequence[int]], ndarray]) -> ndarray:
    """Apply `function(data in a window, position)` to all windows."""
    layouts = layouts_of(call)
    data = plain(data, layouts["data"])
    sizes = data.shape[2:]
    slides = slides_of(call, each_of(call.pool_size, len(sizes)))
    counts = [_places(call, slide, size) for slide, size in zip(slides, sizes, strict=True)]
    result = numpy.zeros((*data.shape[:2], *counts), data.dtype)
    for at in product(*map(range, counts)):
        met = [
            [tap for tap in _taps(slide, place) if 0 <= tap < size]
            for slide, place, size in zip(slides, at, sizes, strict=True)
        ]
        result[last(at)] = function(data[last(numpy.ix_(*(numpy.array(each, int) for each in met)))], at)
    return laid_out(result, layouts["result"])


def _places(call: EvaluationCall, slide: Slide, size: int) -> int:
    """Return the number of windows.

    With ceil_mode the last one may exceed the end, but must start before the data's end.
    """
    if not call.ceil_mode:
        return slide.places(size)
    count = -(-(size + slide.before + slide.after - slide.reach) // slide.stride) + 1
    return at_least_none(count - 1 if (count - 1) * slide.stride >= size + slide.before else count)


def _taps(slide: Slide, place: int) -> list[int]:
    """Return the indices of a window's taps."""
    return [place * slide.stride + tap * slide.gap - slide.before for tap in range(slide.taps)]


def _spatial(window: ndarray) -> tuple[int, ...]:
    return tuple(range(2, window.ndim))


def _quotient(total: ndarray, count: int) -> ndarray:
    """Divide. Integers are truncated towards zero."""
    if total.dtype.kind == "f":
        return total / count
    whole = total // count
    return whole + ((total < 0) & (whole * count != total))
