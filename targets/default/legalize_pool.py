# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling as a reduction over windows. Means are summed in a wide dtype, divided and rounded once.

Maxima start at -inf, which is the result of a window that contains only padding. Means of integers are rounded towards
zero, like TVM's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from ...bindings.affine import identity
from ...bindings.ir import AffineExpr, AffineMap, Value
from ...bindings.mlir import ir
from ...dialects import relax
from ...dialects.core.facts import Window
from ...dialects.core.infos import bit_width, is_float, is_unsigned
from ...dialects.relax.infer.layouts import Layout, blocked_dimensions, is_permutation, layouts_of, positions
from ...dialects.relax.infer.windows import each_dimension, windows_of
from ...emit import linalg
from ...emit.arithmetic import element
from ...emit.axis_reduction import lowest
from ...emit.conversions import rounded
from ...emit.numbers import Number, constant, divide, maximum, minimum, select
from ...emit.parallel import are_steps_apart
from ...emit.small_floats import is_small_float
from ...emit.windows import fitted, padded
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.layouts import in_plain_layout, require_blocks
from ...passes.legalize.rules import Legalized, register_legalize

#: The longest sums that are accumulated in f32. The error grows with the length.
_LONGEST = 128


class _PoolPlaces:
    """Correspondence of the loops over a result's elements and the axes of the data."""

    def __init__(self, layout: Layout, out_layout: Layout, spatial: str):
        self.rank = len(layout.axes)
        #: For each axis of the data, the loop over it or over its windows.
        self.loops = positions(layout, out_layout)
        #: The data's axes of the windowed dimensions, and the loops over their positions.
        self.axes = [next(i for i, axis in enumerate(layout.axes) if axis.dimension == letter) for letter in spatial]
        self.windowed = [self.loops[axis] for axis in self.axes]

    @property
    def taps(self) -> list[int]:
        """Loops over the windows' taps, after the loops over the result."""
        return list(range(self.rank, self.rank + len(self.axes)))

    @property
    def kinds(self) -> list[str]:
        return [linalg.PARALLEL] * self.rank + [linalg.REDUCTION] * len(self.axes)

    def maps(self, data: Sequence[AffineExpr]) -> list[AffineMap]:
        """Return the maps of the data, of the windows' shape and of the result."""
        loops = self.rank + len(self.axes)
        selects = [linalg.select_dims(loops, dims) for dims in (self.taps, range(self.rank))]
        return [ir.AffineMap.get(loops, 0, data), *selects] if data else selects

    def spread(self, values: Sequence[int]) -> list[int]:
        """Return a value for each axis of the data, 0 for axes without windows."""
        spread = [0] * self.rank
        for axis, value in zip(self.axes, values, strict=True):
            spread[axis] = value
        return spread


def _windows(call: LegalizeCall) -> list[Window]:
    return list(windows_of(call.inferred).values())


def _call_pool(call: LegalizeCall, compute: Callable[[Value, Value, _PoolPlaces], Value]) -> Value | list[Value]:
    """Call a PrimFunc of `compute(data, output, places)`."""
    layout, out_layout = layouts_of(call.inferred).values()
    spatial = layout.dimensions[2:]
    # This works directly if windows slide along axes of the data, and the result has the same axes.
    if not is_permutation(layout, out_layout) or blocked_dimensions(layout) & set(spatial):
        return in_plain_layout(call, call.operands[0], layout, out_layout)
    places = _PoolPlaces(layout, out_layout, spatial)

    def body(data: Value, output: Value) -> Value:
        require_blocks(data, layout)
        return compute(data, output, places)

    return call.prim(body)


@register_legalize([f"relax.nn.max_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
def max_pool(call: LegalizeCall) -> Legalized:
    windows, dtype, is_ceiled = _windows(call), call.dtype(call.operands[0]), call.op.ceil_mode
    if is_small_float(dtype):
        return _compute_in_f32(call, call.operands[0], dtype)

    def compute(data: Value, output: Value, places: _PoolPlaces) -> Value:
        pick = lambda x, best: maximum(x.of(dtype), best)  # noqa: E731
        least = lowest(dtype)
        if not _are_maxima_of_maxima(windows, places):
            return _fold_windows(data, linalg.fill(least, output), places, windows, is_ceiled, least, pick)
        sizes = linalg.sizes(data)
        for along in reversed(range(len(windows))):
            sizes[places.axes[along]] = linalg.size(output, places.axes[along])
            room = output if along == 0 else linalg.empty(sizes, output.type.element_type)
            alone = [window if other == along else Window(1) for other, window in enumerate(windows)]
            data = _fold_windows(data, linalg.fill(least, room), places, alone, is_ceiled, least, pick)
        return data

    return _call_pool(call, compute)


def _are_maxima_of_maxima(windows: Sequence[Window], places: _PoolPlaces) -> bool:
    """Check whether it is much cheaper to compute maxima along one dimension after the other, which neighbors share."""
    taps, strides = [window.taps for window in windows], [window.stride for window in windows]
    if not all(isinstance(count, int) for count in taps) or places.loops != list(range(places.rank)):
        return False
    # The maxima along a dimension are computed for all window positions along the later dimensions.
    apart = sum(count * prod(strides[:along]) for along, count in enumerate(taps))
    return 2 * (apart + len(taps)) <= prod(taps)


@register_legalize([f"relax.nn.avg_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
def avg_pool(call: LegalizeCall) -> Legalized:
    windows, dtype = _windows(call), call.dtype(call.operands[0])
    is_ceiled, counts_padding = call.op.ceil_mode, call.op.count_include_pad

    def compute(data: Value, output: Value, places: _PoolPlaces) -> Value:
        def count(at: Sequence[Number]) -> Number:
            return _count_taps(windows, at, [linalg.size(data, axis) for axis in places.axes], counts_padding)

        is_constant = not is_ceiled and (counts_padding or not any(window.is_padded for window in windows))
        return _mean(data, output, places, windows, dtype, None if is_constant else count, is_ceiled)

    return _call_pool(call, compute)


@register_legalize([f"relax.nn.adaptive_avg_pool{rank}d" for rank in (1, 2, 3)], by_types=True)
def adaptive_avg_pool(call: LegalizeCall) -> Legalized:
    dtype = call.dtype(call.operands[0])

    def compute(data: Value, output: Value, places: _PoolPlaces) -> Value:
        shape = [data.type.shape[axis] for axis in places.axes]
        if call.op.output_size is None:
            return _mean(data, output, places, [Window(1)] * len(shape), dtype, None)
        wanted = each_dimension(call.op.output_size, len(shape))
        if all(size >= 0 and size % count == 0 for size, count in zip(shape, wanted, strict=True)):
            widths = [size // count for size, count in zip(shape, wanted, strict=True)]
            return _mean(data, output, places, [Window(width, width) for width in widths], dtype, None)
        return _uneven_mean(data, output, places, wanted, dtype)

    return _call_pool(call, compute)


def _compute_in_f32(call: LegalizeCall, data: Value, dtype: str) -> Value:
    """Compute the operator in f32, which has an infinity, unlike some small floats."""
    wide = relax.astype(data, dtype="f32")
    return relax.astype(call.op.definition(wide, **call.inferred.attributes), dtype=dtype)


def _fold_windows(
    data: Value,
    start: Value,
    places: _PoolPlaces,
    windows: Sequence[Window],
    is_ceiled: bool,
    padding: float,
    combine: Callable[[Number, Number], Number],
) -> Value:
    """Fold `total = combine(element, total)` over each window, from `start`. `padding` is the value around the data."""
    out_shape = start.type.shape
    # Windows may extend beyond the end by less than a stride.
    wide = [window._replace(after=window.after + (window.stride - 1) * is_ceiled) for window in windows]
    around = [
        fitted(window, data.type.shape[axis], out_shape[loop])
        for window, axis, loop in zip(wide, places.axes, places.windowed, strict=True)
    ]
    before = places.spread([window.before for window in around])
    after = places.spread([window.after for window in around])
    surrounded = padded(data, padding, before, after, at_once=are_steps_apart())
    expressions = [ir.AffineDimExpr.get(loop) for loop in places.loops]
    for window, axis, tap in zip(windows, places.axes, places.taps, strict=True):
        expressions[axis] = window.place(expressions[axis], ir.AffineDimExpr.get(tap))
    # Never read: its shape determines the number of taps.
    shape_of_window = linalg.empty([window.taps for window in windows], data.type.element_type)
    inputs, body = [surrounded, shape_of_window], lambda x, _, total: combine(x, total)
    return linalg.generic(inputs, [start], places.maps(expressions), places.kinds, body)[0]


# ---- means ----
def _sum_dtype(dtype: str, count: int | None) -> str:
    """Return the dtype of sums. Means of integers fit into their own type, but sums need more."""
    if not is_float(dtype):
        return "i64" if not is_unsigned(dtype) else "ui64"
    is_long = count is None or count > _LONGEST
    return "f64" if is_long or bit_width(dtype) > 32 else "f32"


def _mean(
    data: Value,
    output: Value,
    places: _PoolPlaces,
    windows: Sequence[Window],
    dtype: str,
    count: Callable[[Sequence[Number]], Number] | None,
    is_ceiled: bool = False,
) -> Value:
    """Return the sum of each window, divided by its taps or by the index `count(position)`."""
    taps = prod(window.taps for window in windows)
    wide = _sum_dtype(dtype, taps)
    combine = lambda x, total: x.of(dtype).to(wide) + total  # noqa: E731
    total = _fold_windows(data, _zeros(output, wide), places, windows, is_ceiled, 0, combine)
    if count is None:
        return _quotient(total, output, lambda *_: constant(taps, wide), wide, dtype)
    return _quotient(total, output, lambda taps: taps.of(wide), wide, dtype, _counts(output, places, count, wide))


def _zeros(output: Value, dtype: str) -> Value:
    """Return zeros for sums, in the result's memory if it has the same dtype."""
    is_own = output.type.element_type == element(dtype)
    return linalg.fill(0, output if is_own else linalg.empty(linalg.sizes(output), element(dtype)))


#: A tensor, and the map from the result's elements to its elements.
_Mapped = tuple[Value, AffineMap]


def _counts(output: Value, places: _PoolPlaces, count: Callable[[Sequence[Number]], Number], dtype: str) -> _Mapped:
    """Return the number of elements in each window.

    It is the same for all channels and images, so it is computed once.
    """
    sizes = [linalg.size(output, loop) for loop in places.windowed]
    rank = len(sizes)

    def counted(*_: Number) -> Number:
        return count([linalg.index(loop) for loop in range(rank)]).to(dtype)

    counts = linalg.empty(sizes, element(dtype))
    made = linalg.generic([], [counts], [identity(rank)], [linalg.PARALLEL] * rank, counted)[0]
    return made, linalg.select_dims(places.rank, places.windowed)


def _quotient(
    total: Value, output: Value, count: Callable[..., Number], wide: str, dtype: str, counts: _Mapped | None = None
) -> Value:
    """Divide the sums. `count(*counts)` returns each divisor inside of the loop."""
    others, maps = ([], []) if counts is None else ([counts[0]], [counts[1]])

    def divided(x: Number, counted: Sequence[Number]) -> Number:
        mean = divide(x.of(wide), count(*counted))
        return rounded(mean, dtype) if is_float(dtype) else mean.of(wide).to(dtype)

    rank = linalg.rank_of(total)
    own, kinds = identity(rank), [linalg.PARALLEL] * rank
    if wide == dtype:
        return linalg.generic(others, [total], [*maps, own], kinds, lambda *all_: divided(all_[-1], all_[:-1]))[0]
    inputs, every = [total, *others], [own, *maps, own]
    return linalg.generic(inputs, [output], every, kinds, lambda x, *rest: divided(x, rest[:-1]))[0]


def _count_taps(
    windows: Sequence[Window], at: Sequence[Number], sizes: Sequence[Number], counts_padding: bool
) -> Number:
    """Return how many taps of the window at a position are inside of the data or its padding, at least 1."""
    counts = []
    for window, position, size in zip(windows, at, sizes, strict=True):
        start = position * window.stride
        end = size + window.before
        if counts_padding:
            counts.append(_taps_below(window, end + window.after - start))
        else:
            counts.append(_taps_below(window, end - start) - _taps_below(window, window.before - start))
    return maximum(reduce(operator.mul, counts), 1)


def _taps_below(window: Window, distance: Number) -> Number:
    """Return how many taps are closer than a distance to a window's start."""
    count = maximum(distance, 0)
    if window.gap > 1:
        count = (count + (window.gap - 1)) / window.gap
    return minimum(count, window.taps)


# ---- windows of different widths ----
def _uneven_mean(data: Value, output: Value, places: _PoolPlaces, wanted: Sequence[int], dtype: str) -> Value:
    """Average uneven windows.

    Window i of n begins at i * size

    n and ends at the begin of the next one, rounded up, so that neighbors may overlap.
    """
    wide = _sum_dtype(dtype, None)
    sizes = [linalg.size(data, axis) for axis in places.axes]
    shape_of_window = linalg.empty(list(map(_widest, sizes, wanted)), data.type.element_type)

    def bounds(along: int) -> tuple[Number, Number]:
        position, count, size = linalg.index(places.windowed[along]), wanted[along], sizes[along]
        return position * size / count, ((position + 1) * size + (count - 1)) / count

    def step(_: Number, total: Number) -> Number:
        at, conditions = [linalg.index(loop) for loop in places.loops], []
        for along, (axis, tap) in enumerate(zip(places.axes, places.taps, strict=True)):
            start, end = bounds(along)
            at[axis] = start + linalg.index(tap)
            conditions.append(at[axis] < end)
            at[axis] = minimum(at[axis], end - 1)
        return total + select(reduce(operator.and_, conditions), linalg.extract(data, at).of(dtype).to(wide), 0)

    def count() -> Number:
        lengths = [end - start for start, end in map(bounds, range(len(wanted)))]
        return reduce(operator.mul, lengths).to(wide)

    total = linalg.generic([shape_of_window], [_zeros(output, wide)], places.maps(()), places.kinds, step)[0]
    return _quotient(total, output, count, wide, dtype)


def _widest(size: Number, count: int) -> Number:
    """Return the maximum width of a window, which is at most that of the data."""
    return minimum((size + (count - 1)) / count + 1, size)
