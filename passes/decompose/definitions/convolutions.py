# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposed convolutions with strides as convolutions: one for each place that a result can have between strides.

Of a result at q * stride + r the taps r, r + stride, ... meet elements q, q - 1, ... of the data: for each r that is a
convolution with so many taps. All of them are one convolution, whose channels are then dealt out. Written out with
zeros between the data's elements, stride * stride times as many products would be computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....dialects.core.facts import Window
from ....dialects.core.symbols import dim_mul
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.windows import each_dimension, windows_of
from ..registry import register_decomposition
from ..wide import known_shape, relax

_NAMES = {f"relax.nn.conv{rank}d_transpose": f"nn.conv{rank}d" for rank in (1, 2, 3)}
_LAYOUTS = [("NCW", "IOW"), ("NCHW", "IOHW"), ("NCDHW", "IODHW")]


@register_decomposition(list(_NAMES), by_types=True)
def transposed_convolution(op: Any, data: Value, weight: Value) -> Value:
    windows = list(windows_of(call_of(op.definition, op.operation)).values())
    strides = [window.stride for window in windows]
    if (op.data_layout, op.kernel_layout) not in _LAYOUTS or op.out_layout not in (None, op.data_layout):
        raise Decline("it has another layout than NCHW and IOHW")
    if max(strides) == 1:
        raise Decline("it has no strides: there are no zeros between the data's elements")
    if any(window.gap != 1 or not isinstance(window.taps, int) for window in windows):
        raise Decline("its taps have gaps, or their number is not known")
    extra = each_dimension(op.output_padding, len(windows))
    phases = [_Phases(window, more) for window, more in zip(windows, extra, strict=True)]
    kernel = _dealt_kernel(weight, op.groups, phases)
    padding = [phase.before for phase in phases] + [phase.after for phase in phases]
    product = relax[_NAMES[op.OPERATION_NAME]](data, kernel, padding=padding, groups=op.groups, out_dtype=op.out_dtype)
    return _cut(_dealt_out(product, strides), phases)


class _Phases:
    """Of one dimension: how many taps each convolution has, what is around the data, what is cut off its result."""

    def __init__(self, window: Window, extra: int):
        assert isinstance(window.taps, int)
        stride, end = window.stride, window.taps + extra - window.after
        self.stride = stride
        self.taps = -(-window.taps // stride)
        self.missing = self.taps * stride - window.taps
        # Of the results that padding takes away whole strides are not computed.
        self.before = max(self.taps - 1 - window.before // stride, 0)
        self.after = max(-(-end // stride) - 1, 0)
        computed = stride * (self.before + self.after - self.taps + 2)
        first = window.before - stride * (self.taps - 1 - self.before)
        self.cut = first, computed - first + window.before - end


def _dealt_kernel(weight: Value, groups: int, phases: Sequence[_Phases]) -> Value:
    """(groups * outputs * strides, inputs, taps), of (groups * inputs, outputs, taps * strides)."""
    inputs, outputs, *_ = known_shape(weight, "weight")
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise Decline("the number of channels is not known")
    rank, missing = len(phases), [width for phase in phases for width in (0, phase.missing)]
    if any(missing):
        weight = relax["nn.pad"](weight, pad_width=[0, 0, 0, 0, *missing])
    taps, strides = [phase.taps for phase in phases], [phase.stride for phase in phases]
    sizes = [size for phase in phases for size in (phase.taps, phase.stride)]
    parts = relax["reshape"](weight, (groups, inputs // groups, outputs, *sizes))
    steps = [3 + 2 * place for place in range(rank)]
    for axis, count in zip(steps, taps, strict=True):
        parts = relax["flip"](parts, axis=axis) if count > 1 else parts
    parts = relax["permute_dims"](parts, axes=[0, 2, *(axis + 1 for axis in steps), 1, *steps])
    return relax["reshape"](parts, (groups * outputs * prod(strides), inputs // groups, *taps))


def _dealt_out(product: Value, strides: Sequence[int]) -> Value:
    """(batch, channels, positions * strides), of (batch, channels * strides, positions)."""
    batch, channels, *positions = known_shape(product, "product")
    assert isinstance(channels, int)
    rank, outputs = len(strides), channels // prod(strides)
    parts = relax["reshape"](product, (batch, outputs, *strides, *positions))
    pairs = [axis for place in range(rank) for axis in (2 + rank + place, 2 + place)]
    parts = relax["permute_dims"](parts, axes=[0, 1, *pairs])
    sizes = [dim_mul(size, stride) for size, stride in zip(positions, strides, strict=True)]
    return relax["reshape"](parts, (batch, outputs, *sizes))


def _cut(whole: Value, phases: Sequence[_Phases]) -> Value:
    widths = [-width for phase in phases for width in phase.cut]
    return relax["nn.pad"](whole, pad_width=[0, 0, 0, 0, *widths]) if any(widths) else whole
