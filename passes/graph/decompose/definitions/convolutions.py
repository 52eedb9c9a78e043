# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Strided transposed convolutions as convolutions: one per phase of the result between strides.

At result position q * stride + r, the taps r, r + stride, ... meet elements q, q - 1, ... of the data. For each phase r
this is a convolution with these taps. Phases with equally many taps form one convolution with more channels, which are
then interleaved. A padded tap of 0 would cost products, and would turn an infinity into NaN. With zeros between the
data's elements, stride * stride times as many products would be computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .....bindings.ir import OpView, Value
from .....bindings.rewriting import Decline
from .....dialects.core.facts import Window
from .....dialects.core.symbols import dim_mul
from .....dialects.core.verifier import call_of
from .....dialects.relax.infer.windows import each_dimension, windows_of
from ..registry import register_decomposition
from ..wide import known_shape, relax

_NAMES = {f"relax.nn.conv{rank}d_transpose": f"nn.conv{rank}d" for rank in (1, 2, 3)}
_LAYOUTS = [("NCW", "IOW"), ("NCHW", "IOHW"), ("NCDHW", "IODHW")]


@register_decomposition(list(_NAMES), by_types=True)
def transposed_convolution(op: OpView, data: Value, weight: Value) -> Value:
    windows = list(windows_of(call_of(op.definition, op.operation)).values())
    strides = [window.stride for window in windows]
    layout, kernel_layout = _LAYOUTS[len(windows) - 1]
    out_layout = op.out_layout or op.data_layout
    if any(len(text) != len(layout) for text in (op.data_layout, op.kernel_layout, out_layout)):
        raise Decline("its layouts have blocks")
    if max(strides) == 1:
        raise Decline("it has no strides: there are no zeros between the data's elements")
    if any(window.gap != 1 or not isinstance(window.taps, int) for window in windows):
        raise Decline("its taps have gaps, or their number is not known")
    data, weight = _permute_axes(data, op.data_layout, layout), _permute_axes(weight, op.kernel_layout, kernel_layout)
    extra = each_dimension(op.output_padding, len(windows))
    phases = [_Phases(window, more) for window, more in zip(windows, extra, strict=True)]
    taps = _taps_by_phase(weight, op.groups, phases)
    parts = iter([_part(op, data, taps, runs) for runs in itertools.product(*(phase.runs for phase in phases))])
    return _permute_axes(_cut(_dealt_out(_join(parts, phases, 0), phases), phases), layout, out_layout)


def _permute_axes(value: Value, layout: str, other: str) -> Value:
    return value if layout == other else relax.permute_dims(value, axes=[layout.index(letter) for letter in other])


@dataclass(frozen=True)
class _Run:
    """Consecutive phases of one dimension with equally many taps."""

    first: int
    count: int
    taps: int
    #: Padding of the data. A negative number drops the data's first elements.
    before: int
    after: int


class _Phases:
    """Phases of one dimension: taps per convolution, padding of the data, and the part cut off the result."""

    def __init__(self, window: Window, extra: int):
        assert isinstance(window.taps, int)
        stride, end = window.stride, window.taps + extra - window.after
        self.stride = stride
        self.taps = -(-window.taps // stride)
        #: Number of last phases, which have one tap less.
        self.missing = self.taps * stride - window.taps
        # Whole strides of results in the padding are not computed.
        before = max(self.taps - 1 - window.before // stride, 0)
        after = max(-(-end // stride) - 1, 0)
        computed = stride * (before + after - self.taps + 2)
        first = window.before - stride * (self.taps - 1 - before)
        self.cut = first, computed - first + window.before - end
        runs = [
            _Run(0, stride - self.missing, self.taps, before, after),
            _Run(stride - self.missing, self.missing, self.taps - 1, before - 1, after),
        ]
        self.runs = tuple(run for run in runs if run.count and run.taps)


def _taps_by_phase(weight: Value, groups: int, phases: Sequence[_Phases]) -> Value:
    """Reshape (groups * inputs, outputs, taps * strides) to (groups, inputs, outputs, [taps, phases] per dimension)."""
    inputs, outputs, *_ = known_shape(weight, "weight")
    if not isinstance(inputs, int) or not isinstance(outputs, int):
        raise Decline("the number of channels is not known")
    missing = [width for phase in phases for width in (0, phase.missing)]
    if any(missing):
        weight = relax.nn.pad(weight, pad_width=[0, 0, 0, 0, *missing])
    sizes = [size for phase in phases for size in (phase.taps, phase.stride)]
    return relax.reshape(weight, (groups, inputs // groups, outputs, *sizes))


def _part(op: OpView, data: Value, taps: Value, runs: Sequence[_Run]) -> Value:
    """Return the result of one convolution for some phases of each dimension: (batch, channels, phases, positions)."""
    kernel = _dealt_kernel(taps, runs)
    skipped = [width for run in runs for width in (min(run.before, 0), 0)]
    if any(skipped):
        data = relax.nn.pad(data, pad_width=[0, 0, 0, 0, *skipped])
    padding = [max(run.before, 0) for run in runs] + [run.after for run in runs]
    product = relax.dialect.ops[_NAMES[op.OPERATION_NAME]](
        data, kernel, padding=padding, groups=op.groups, out_dtype=op.out_dtype
    )
    batch, channels, *positions = known_shape(product, "product")
    assert isinstance(channels, int)
    counts = [run.count for run in runs]
    return relax.dialect.ops["reshape"](product, (batch, channels // prod(counts), *counts, *positions))


def _dealt_kernel(taps: Value, runs: Sequence[_Run]) -> Value:
    """Return the kernel of some phases: (groups * outputs * phases, inputs, taps)."""
    groups, inputs, outputs, *sizes = known_shape(taps)
    bounds = [pair for run in runs for pair in ((0, run.taps), (run.first, run.first + run.count))]
    axes = [at for at, (bound, size) in enumerate(zip(bounds, sizes, strict=True)) if bound != (0, size)]
    if axes:
        begin, end = ([bounds[at][side] for at in axes] for side in (0, 1))
        taps = relax.strided_slice(taps, axes=[3 + at for at in axes], begin=begin, end=end)
    steps = [3 + 2 * place for place in range(len(runs))]
    for axis, run in zip(steps, runs, strict=True):
        taps = relax.flip(taps, axis=axis) if run.taps > 1 else taps
    taps = relax.permute_dims(taps, axes=[0, 2, *(axis + 1 for axis in steps), 1, *steps])
    assert isinstance(groups, int) and isinstance(outputs, int)
    return relax.dialect.ops["reshape"](
        taps, (groups * outputs * prod(run.count for run in runs), inputs, *(run.taps for run in runs))
    )


def _join(parts: Iterator[Value], phases: Sequence[_Phases], place: int) -> Value:
    """Join the parts of all phases, which come in the order of their runs. Phases without a tap are 0."""
    if place == len(phases):
        return next(parts)
    phase, axis = phases[place], 2 + place
    found = [_join(parts, phases, place + 1) for _ in phase.runs]
    whole = found[0] if len(found) == 1 else relax.concat(found, axis=axis)
    empty = phase.stride - sum(run.count for run in phase.runs)
    widths = [width for at in range(2 + 2 * len(phases)) for width in (0, empty if at == axis else 0)]
    return relax.nn.pad(whole, pad_width=widths) if empty else whole


def _dealt_out(parts: Value, phases: Sequence[_Phases]) -> Value:
    """Interleave (batch, channels, strides, positions) to (batch, channels, positions * strides)."""
    rank = len(phases)
    batch, channels, *sizes = known_shape(parts)
    pairs = [axis for place in range(rank) for axis in (2 + rank + place, 2 + place)]
    parts = relax.permute_dims(parts, axes=[0, 1, *pairs])
    whole = [dim_mul(size, phase.stride) for size, phase in zip(sizes[rank:], phases, strict=True)]
    return relax.dialect.ops["reshape"](parts, (batch, channels, *whole))


def _cut(whole: Value, phases: Sequence[_Phases]) -> Value:
    widths = [-width for phase in phases for width in phase.cut]
    return relax.nn.pad(whole, pad_width=[0, 0, 0, 0, *widths]) if any(widths) else whole
