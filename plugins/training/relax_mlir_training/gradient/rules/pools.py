# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of pooling: a pool is the maximum, or the sum, of one slice for each tap of its window.

For a large window it is computed one dimension at a time, with windows of one, two, four, ... taps.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.facts import Window
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.infer.slices import OPEN
from relax_mlir.dialects.relax.infer.windows import windows_of
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import relax, shape_operand
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..canonical_layouts import in_own_order
from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape
from ..reverse import gradients_at

# Each tap takes several operations.
_MOST_TAPS = 128


class _Window:
    """The window of a pool."""

    def __init__(self, call: GradientCall):
        windows = list(windows_of(call.inferred).values())
        self.size, self.strides, self.dilation, *padding = zip(*windows, strict=True)
        self.taps = math.prod(self.size)
        self._result = call.result
        #: True if the existence of a last window is only known at run time.
        self._is_cut = False
        before, after = padding
        #: Padding of each dimension, by the operator, and including the elements that windows need beyond the end.
        self.padding = _flat(before, after)
        self.around = _flat(before, [one + more for one, more in zip(after, self._reach(call, windows), strict=True)])
        self.axes = list(range(2, 2 + len(windows)))

    def _reach(self, call: GradientCall, windows: Sequence[Window]) -> list[int]:
        """Return the number of elements that the last windows need beyond the padded data."""
        if not call.ceil_mode:
            return [0] * len(windows)
        over = []
        for window, size, count in zip(
            windows, *(known_shape(call, x)[2:] for x in (call.data, call.result)), strict=True
        ):
            if isinstance(size, int) and isinstance(count, int):
                over.append((count - 1) * window.stride + window.reach - size - window.before - window.after)
            else:
                # The most that the last window may need. Elements behind that window belong to none.
                over.append(window.stride - 1)
                self._is_cut |= window.after + window.stride > window.reach
        return over

    def of_all(
        self,
        combine: Callable[[Value, Value], Value],
        data: Value,
        padded_with: float,
        around: Sequence[int] | None = None,
    ) -> Value:
        """Combine the elements of each window, with the result's shape."""
        widths = self.around if around is None else around
        if any(widths):
            data = relax.nn.pad(data, pad_width=[0, 0, 0, 0, *widths], pad_value=padded_with)
        whole = reduce(combine, self._slices(data)) if self.taps <= _MOST_TAPS else self._swept(combine, data)
        return self._drop_last_window(whole)

    def _slices(self, data: Value) -> Iterator[Value]:
        """Yield for each tap the elements that windows read there."""
        for tap in itertools.product(*map(range, self.size)):
            begin = [place * gap for place, gap in zip(tap, self.dilation, strict=True)]
            # The slice ends before windows that would not fit. OPEN replaces an end of 0.
            rest = [(size - 1) * gap - at for size, gap, at in zip(self.size, self.dilation, begin, strict=True)]
            end = [-number if number else OPEN for number in rest]
            yield relax.strided_slice(data, axes=self.axes, begin=begin, end=end, strides=self.strides)

    def _swept(self, combine: Callable[[Value, Value], Value], data: Value) -> Value:
        for axis, size, gap in zip(self.axes, self.size, self.dilation, strict=True):
            data = _swept_along(combine, data, axis, size, gap)
        ends = [OPEN] * len(self.axes)
        return relax.strided_slice(data, axes=self.axes, begin=[0] * len(ends), end=ends, strides=self.strides)

    def _drop_last_window(self, whole: Value) -> Value:
        if not self._is_cut:
            return whole
        rank = len(self.axes) + 2
        end = relax.shape_to_tensor(shape_operand(self._result))
        return relax.dynamic_strided_slice(whole, const([0] * rank, "i64"), end, const([1] * rank, "i64"))


def _swept_along(combine: Callable[[Value, Value], Value], x: Value, axis: int, size: int, gap: int) -> Value:
    """Combine windows that begin at each position along a dimension from windows of half the size."""

    def moved(x: Value, begin: int, rest: int) -> Value:
        end = -rest * gap if rest else OPEN
        return relax.strided_slice(x, axes=[axis], begin=[begin * gap], end=[end])

    value, covered, width = None, 0, 1
    while True:
        if size & width:
            value = x if value is None else combine(moved(value, 0, width), moved(x, covered, 0))
            covered += width
        if covered == size:
            assert value is not None
            return value
        x = combine(moved(x, 0, width), moved(x, width, 0))
        width *= 2


@register_gradient([f"relax.nn.max_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
@in_own_order
def max_pool(call: GradientCall) -> Sequence[Gradient]:
    window = _Window(call)

    def forward(data: Value) -> Value:
        return window.of_all(relax.maximum, data, -math.inf)

    return gradients_at([call.data], forward, call.gradient)


@register_gradient([f"relax.nn.avg_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
@in_own_order
def avg_pool(call: GradientCall) -> Sequence[Gradient]:
    window = _Window(call)

    def total(data: Value) -> Value:
        return window.of_all(relax.add, data, 0.0)

    def forward(data: Value) -> Value:
        if not any(window.around) or (call.count_include_pad and window.around == window.padding):
            return relax.divide(total(data), const(window.taps, dtype_of(data)))
        counted = relax.ones_like(data)
        if call.count_include_pad and any(window.padding):
            counted = relax.nn.pad(counted, pad_width=[0, 0, 0, 0, *window.padding], pad_value=1.0)
        rest = [width - own for width, own in zip(window.around, window.padding, strict=True)]
        counts = window.of_all(relax.add, counted, 0.0, rest if call.count_include_pad else None)
        # A window may contain no element.
        return relax.divide(total(data), relax.maximum(counts, const(1, dtype_of(data))))

    return gradients_at([call.data], forward, call.gradient)


def _flat(before: Sequence[int], after: Sequence[int]) -> list[int]:
    return [width for both in zip(before, after, strict=True) for width in both]
