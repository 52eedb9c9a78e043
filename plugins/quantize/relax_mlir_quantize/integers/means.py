# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic of average pools and means: exact sums, and a rounded division or a multiplication."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.facts import Window
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.infer.layouts import layouts_of
from relax_mlir.dialects.relax.infer.windows import windows_of
from relax_mlir.dialects.relax.values import normal_axis

from .layer_emission import Integers, LayerEmission, sizes_of

if TYPE_CHECKING:
    from numpy import ndarray


def emit_pool(to: LayerEmission, core: Operation) -> Value:
    """Add up the elements of each window, and divide or multiply by their number."""
    data = to.single(core.operands[0], "data")
    pool = call_of(core.opview.definition, core)
    windows, layout = list(windows_of(pool).values()), layouts_of(pool)["data"]
    if any(axis.block is not None for axis in layout.axes) or pool.out_layout not in (None, pool.layout):
        raise to.fail(f"the pool changes the layout {pool.layout}, or its channels are in blocks; drop out=")
    axes = [next(place for place, axis in enumerate(layout.axes) if axis.dimension == d) for d in layout.dimensions[2:]]
    shapes = [sizes_of(each) for each in (data.numbers, core.results[0])]
    sizes, counts = ([shape[axis] for axis in axes] for shape in shapes)
    windows = [
        window._replace(stride=1) if count == 1 else window for window, count in zip(windows, counts, strict=True)
    ]
    is_padded = any(window.is_padded for window in windows) or pool.ceil_mode
    if is_padded and not all(isinstance(size, int) for size in (*sizes, *counts)):
        raise to.fail("the pool has padding or ceil_mode and open sizes; state the sizes, or drop out=")
    taps = prod(window.taps for window in windows)
    numbers = _raw(to, data)
    if not is_padded and all(window == Window(size) for window, size in zip(windows, sizes, strict=True)):
        return _mean(to, data, *_sums(to, numbers, axes, True))
    to.check_width(2 * numbers.most * taps**2, f"twice the sum of {taps} elements, times {taps},")
    around = [(0, 0)] * len(axes)
    per_window: ndarray | int = taps
    if is_padded:
        around = [_padding(*each) for each in zip(windows, sizes, counts, strict=True)]
        rows = [_elements(*each, pool) for each in zip(windows, sizes, counts, strict=True)]
        per_window = _spread_product(rows, axes, len(layout.axes))
    return _mean(to, data, _window_sums(to, core, to.less(numbers), axes, around, taps), per_window)


def emit_global_pool(to: LayerEmission, core: Operation) -> Value:
    """Add up the elements of each channel, and divide or multiply by their number."""
    pool = call_of(core.opview.definition, core)
    layout = layouts_of(pool)["data"]
    if set(pool.output_size or (0,)) != {1} or pool.out_layout not in (None, pool.layout):
        raise to.fail(f"the pool has output_size={pool.output_size}, expected 1; drop out=")
    axes = [place for place, axis in enumerate(layout.axes) if axis.dimension in layout.dimensions[2:]]
    data = to.single(core.operands[0], "data")
    sums, count = _sums(to, _raw(to, data), axes, True)
    return _mean(to, data, sums, count)


def emit_mean(to: LayerEmission, core: Operation) -> Value:
    """Add up the differences to the zero point. TFLite divides the multiplier of the scales in fixed point."""
    data = to.single(core.operands[0], "x")
    rank = len(data.sizes)
    axes = range(rank) if core.opview.axis is None else [normal_axis(axis, rank) for axis in core.opview.axis]
    sums, count = _sums(to, data, axes, core.opview.keepdims)
    if to.how.pools == "divide" and to.how.form == "q31":
        return to.requantize(sums, data.scale / to.scale, to.zero, to.dtype, divisor=count)
    return _multiply_sums(to, sums, data.scale / to.scale, count)


def _raw(to: LayerEmission, data: Integers) -> Integers:
    """Return the summands: divisions take the integers with their zero point, multiplications without."""
    return data._replace(zero=data.zero * 0) if to.how.pools == "divide" else data


def _sums(to: LayerEmission, data: Integers, axes: Sequence[int], keepdims: bool) -> tuple[Value, int]:
    """Return the sums along axes, and the number of summands."""
    sizes = [data.sizes[axis] for axis in axes]
    if not all(isinstance(size, int) for size in sizes):
        raise to.fail("the number of summands is open; state the sizes, or drop out=")
    count = prod(sizes)
    to.check_width(2 * data.most * count, f"twice the sum of {count} elements")
    return relax.sum(to.less(data), axis=list(axes), keepdims=keepdims), count


def _mean(to: LayerEmission, data: Integers, sums: Value, count: int | ndarray) -> Value:
    """Return the mean of sums of `_raw` integers."""
    if to.how.pools == "multiply":
        return _multiply_sums(to, sums, data.scale / to.scale, count)
    mean = divided(to, sums, count)
    if to.is_scaled(data):
        return to.stored(mean, 0)
    return to.requantize(_minus(mean, int(data.zero)), data.scale / to.scale, to.zero, to.dtype)


def _multiply_sums(to: LayerEmission, sums: Value, real: ndarray, count: int | ndarray) -> Value:
    """Return sums times real / count. Windows at the border have multipliers of their own."""
    import numpy

    made = {
        each: to.requantize(sums, real / float(each), to.zero, to.dtype)
        for each in sorted(set(numpy.ravel(count).tolist()), reverse=True)
    }
    (_, whole), *others = made.items()
    return reduce(lambda chosen, each: relax.where(const(count == each[0]), each[1], chosen), others, whole)


def divided(to: LayerEmission, sums: Value, count: Value | int | ndarray) -> Value:
    """Return i32 quotients, rounded by the mode of the entry. Twice the sums and divisors fit in 32 bits."""
    import numpy

    n = count if isinstance(count, Value) else const(numpy.asarray(count, "int32"))
    twice, sign = relax.add(n, n), const(numpy.int32(-1))

    def floor(x: Value, by: Value) -> Value:
        return relax.floor_divide(x, by)

    def choose(if_negative: Any, otherwise: Any) -> Value:
        return relax.where(relax.less(sums, const(numpy.int32(0))), if_negative(), otherwise())

    doubled = relax.add(sums, sums)
    modes = {
        "down": lambda: floor(sums, n),
        "up": lambda: relax.multiply(floor(relax.multiply(sums, sign), n), sign),
        "half_up": lambda: floor(relax.add(doubled, n), twice),
        "half_down": lambda: relax.multiply(floor(relax.subtract(n, doubled), twice), sign),
    }
    if to.how.rounding == "half_even":
        up, down = modes["half_up"](), modes["half_down"]()
        odd = relax.bitwise_and(up, const(numpy.int32(1)))
        return relax.where(relax.equal(odd, const(numpy.int32(0))), up, down)
    pairs = {"half_away": ("half_down", "half_up"), "half_to_zero": ("half_up", "half_down"), "to_zero": ("up", "down")}
    if to.how.rounding in pairs:
        negative, other = pairs[to.how.rounding]
        return choose(modes[negative], modes[other])
    return modes[to.how.rounding]()


def _minus(numbers: Value, zero: int) -> Value:
    return relax.subtract(numbers, const(zero, "int32")) if zero else numbers


# ---- windows ----


def _padding(window: Window, size: int, count: int) -> tuple[int, int]:
    """Return the zeros before the data, and behind the data up to the end of the last window."""
    return window.before, max((count - 1) * window.stride + window.reach - size - window.before, 0)


def _elements(window: Window, size: int, count: int, pool: Any) -> ndarray:
    """Return the number of elements of each window along a dimension, with the padding if the pool counts it."""
    import numpy

    places = numpy.arange(count)[:, None] * window.stride + numpy.arange(window.taps) * window.gap - window.before
    low, high = (-window.before, size + window.after) if pool.count_include_pad else (0, size)
    found: ndarray = ((places >= low) & (places < high)).sum(axis=1)
    return found.clip(1)


def _spread_product(rows: Sequence[ndarray], axes: Sequence[int], rank: int) -> ndarray:
    """Return the products of numbers per position, with a position in each of the axes."""
    shapes = [[-1 if place == axis else 1 for place in range(rank)] for axis in axes]
    return reduce(operator.mul, (row.reshape(shape) for row, shape in zip(rows, shapes, strict=True)))


def _window_sums(
    to: LayerEmission,
    core: Operation,
    numbers: Value,
    axes: Sequence[int],
    around: Sequence[tuple[int, int]],
    taps: int,
) -> Value:
    """Return the sums of windows, as exact means of numbers that are multiples of the number of taps."""
    if any(map(any, around)):
        padding = dict(zip(axes, around, strict=True))
        rank = len(sizes_of(numbers))
        numbers = relax.nn.pad(numbers, pad_width=[each for axis in range(rank) for each in padding.get(axis, (0, 0))])
    context = numbers.context
    changed = {
        "padding": ir.DenseI64ArrayAttr.get([0] * (2 * len(axes)), context=context),
        "ceil_mode": ir.BoolAttr.get(False, context=context),
        "count_include_pad": ir.BoolAttr.get(True, context=context),
    }
    return to.on_integers(core, [relax.multiply(numbers, const(taps, "int32"))], **changed)
