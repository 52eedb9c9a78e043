# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of pooling: a pool is the maximum, or the sum, of one slice for each tap of its window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import reduce
from typing import Any

from ....bindings.ir import Value
from ....dialects.relax import const
from ....dialects.relax.infer.layouts import layouts_of
from ....dialects.relax.infer.slices import OPEN
from ....dialects.relax.infer.windows import windows_of
from ...canonicalize.support import dtype_of
from ..registry import GradientCall, register_gradient
from ..reverse import gradients_at
from ..tensors import relax

# Each tap is several operations.
_MOST_TAPS = 128


class _Window:
    """The window of a pool."""

    def __init__(self, call: GradientCall):
        layouts = layouts_of(call.inferred)
        if any(layout.text != layout.dimensions for layout in layouts.values()):
            raise call.fail(f"only in the layout {layouts['data'].dimensions}")
        if call.ceil_mode:
            raise call.fail("only where no window reaches over the end (ceil_mode)")

        windows = list(windows_of(call.inferred).values())
        self.size, self.strides, self.dilation, *padding = zip(*windows, strict=True)
        self.taps = math.prod(self.size)
        if self.taps > _MOST_TAPS:
            raise call.fail(f"its window has {self.taps} taps, more than {_MOST_TAPS}")
        #: What is added before and after each dimension.
        self.padding = [width for both in zip(*padding, strict=True) for width in both]
        self.axes = list(range(2, 2 + len(windows)))

    def slices(self, data: Any, padded_with: float) -> Iterator[Any]:
        """What each tap sees, of the result's shape."""
        if any(self.padding):
            data = relax["nn.pad"](data, pad_width=[0, 0, 0, 0, *self.padding], pad_value=padded_with)
        for tap in itertools.product(*map(range, self.size)):
            begin = [place * gap for place, gap in zip(tap, self.dilation, strict=True)]
            # The windows behind it that still fit; an end of 0 would be the start.
            rest = [(size - 1) * gap - at for size, gap, at in zip(self.size, self.dilation, begin, strict=True)]
            end = [-each if each else OPEN for each in rest]
            yield relax["strided_slice"](data, axes=self.axes, begin=begin, end=end, strides=self.strides)


@register_gradient([f"relax.nn.max_pool{rank}d" for rank in (1, 2, 3)])
def max_pool(call: GradientCall) -> list[Any]:
    window = _Window(call)

    def forward(data: Value) -> Value:
        return reduce(relax["maximum"], window.slices(data, -math.inf))

    return gradients_at([call.data], forward, call.gradient)


@register_gradient([f"relax.nn.avg_pool{rank}d" for rank in (1, 2, 3)])
def avg_pool(call: GradientCall) -> list[Any]:
    window = _Window(call)

    def total(data: Value) -> Value:
        return reduce(relax["add"], window.slices(data, 0.0))

    def forward(data: Value) -> Value:
        if call.count_include_pad or not any(window.padding):
            return relax["divide"](total(data), const(window.taps, dtype_of(data)))
        return relax["divide"](total(data), total(relax["ones_like"](data)))

    return gradients_at([call.data], forward, call.gradient)
