# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of pooling: a pool is the maximum, or the sum, of one slice for each tap of its window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from ....bindings.ir import Value
from ....dialects.relax import const
from ....dialects.relax.infer.slices import OPEN
from ....dialects.relax.infer.windows import windows_of
from ...canonicalize.support import dtype_of
from ..layouts import in_own_order
from ..registry import GradientCall, register_gradient
from ..reverse import gradients_at
from ..tensors import known_shape, relax

# Each tap is several operations.
_MOST_TAPS = 128


class _Window:
    """The window of a pool."""

    def __init__(self, call: GradientCall):
        windows = list(windows_of(call.inferred).values())
        self.size, self.strides, self.dilation, *padding = zip(*windows, strict=True)
        self.taps = math.prod(self.size)
        if self.taps > _MOST_TAPS:
            raise call.fail(f"its window has {self.taps} taps, more than {_MOST_TAPS}")
        before, after = padding
        #: What is added before and after each dimension, by the operator and for windows that reach over the end.
        self.padding = _flat(before, after)
        self.around = _flat(before, [one + more for one, more in zip(after, self._over(call, windows), strict=True)])
        self.axes = list(range(2, 2 + len(windows)))

    @staticmethod
    def _over(call: GradientCall, windows: Sequence[Any]) -> list[int]:
        """How far the last windows reach over the padded data."""
        if not call.ceil_mode:
            return [0] * len(windows)
        over = []
        for window, size, count in zip(
            windows, *(known_shape(call, x)[2:] for x in (call.data, call.result)), strict=True
        ):
            if isinstance(size, int) and isinstance(count, int):
                over.append((count - 1) * window.stride + window.reach - size - window.before - window.after)
            elif window.after + window.stride <= window.reach:
                # As far as the last one may; what is behind it is in none.
                over.append(window.stride - 1)
            else:
                raise call.fail(
                    f"with ceil_mode, the spatial sizes of its data must be numbers, or windows at least as wide as "
                    f"their stride and the padding behind: {size}, and windows of {window.reach} "
                    f"at every {window.stride}"
                )
        return over

    def slices(self, data: Any, padded_with: float, around: Sequence[int] | None = None) -> Iterator[Any]:
        """What each tap sees, of the result's shape."""
        widths = self.around if around is None else around
        if any(widths):
            data = relax["nn.pad"](data, pad_width=[0, 0, 0, 0, *widths], pad_value=padded_with)
        for tap in itertools.product(*map(range, self.size)):
            begin = [place * gap for place, gap in zip(tap, self.dilation, strict=True)]
            # The windows behind it that still fit; an end of 0 would be the start.
            rest = [(size - 1) * gap - at for size, gap, at in zip(self.size, self.dilation, begin, strict=True)]
            end = [-each if each else OPEN for each in rest]
            yield relax["strided_slice"](data, axes=self.axes, begin=begin, end=end, strides=self.strides)


@register_gradient([f"relax.nn.max_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
@in_own_order
def max_pool(call: GradientCall) -> list[Any]:
    window = _Window(call)

    def forward(data: Value) -> Value:
        return reduce(relax["maximum"], window.slices(data, -math.inf))

    return gradients_at([call.data], forward, call.gradient)


@register_gradient([f"relax.nn.avg_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
@in_own_order
def avg_pool(call: GradientCall) -> list[Any]:
    window = _Window(call)

    def total(data: Value) -> Value:
        return reduce(relax["add"], window.slices(data, 0.0))

    def forward(data: Value) -> Value:
        if not any(window.around) or (call.count_include_pad and window.around == window.padding):
            return relax["divide"](total(data), const(window.taps, dtype_of(data)))
        counted = relax["ones_like"](data)
        if call.count_include_pad and any(window.padding):
            counted = relax["nn.pad"](counted, pad_width=[0, 0, 0, 0, *window.padding], pad_value=1.0)
        rest = [width - own for width, own in zip(window.around, window.padding, strict=True)]
        counts = reduce(relax["add"], window.slices(counted, 0.0, rest if call.count_include_pad else None))
        # A window may see nothing.
        return relax["divide"](total(data), relax["maximum"](counts, const(1, dtype_of(data))))

    return gradients_at([call.data], forward, call.gradient)


def _flat(before: Sequence[int], after: Sequence[int]) -> list[int]:
    return [width for both in zip(before, after, strict=True) for width in both]
