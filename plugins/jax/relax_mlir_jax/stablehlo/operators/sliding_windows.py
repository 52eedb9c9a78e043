# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sliding windows over tensors: reductions of windows, and scattering of values to selected elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from relax_mlir.frontends.core.values import ComplexValue, Held

from ..prelude import HloNode, Outputs, Pair, Tensor, Value, cast, const, like, register_stablehlo, relax, sizes
from .bodies import combined, is_neutral
from .indexing import REDUCTIONS, scattered
from .reductions import BINARY, of_parts, shape_of
from .reshaping import with_padding

#: Windows of at most so many elements are summed in sequence, as elsewhere, so that sums are rounded alike.
_FEW = 16


class WindowSizes(NamedTuple):
    """Sizes, strides and padding of windows along each dimension."""

    sizes: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    #: Dilations of the operand.
    base_dilations: Sequence[int]
    low: Sequence[int]
    high: Sequence[int]


def windows_of(node: HloNode, rank: int) -> WindowSizes:
    ones = [1] * rank
    if (padding := node.attr("padding", [[0, 0]] * rank)) and not isinstance(padding[0], list):
        padding = [padding[0:2]] * rank
    return WindowSizes(
        node.attr("window_dimensions"),
        node.attr("window_strides", ones),
        node.attr("window_dilations", ones),
        node.attr("base_dilations", ones),
        [pair[0] for pair in padding],
        [pair[1] for pair in padding],
    )


@register_stablehlo("stablehlo.reduce_window")
def reduce_window(node: HloNode) -> Outputs:
    count = len(node.inputs) // 2
    operands = [node.held(index) for index in range(count)]
    initial = [node.held(count + index) for index in range(count)]
    windows = windows_of(node, len(shape_of(operands[0])))
    if (scanned := _convert_scan(node, operands, initial, windows)) is not None:
        return scanned
    if (pooled := _convert_pool(node, operands, initial, windows)) is not None:
        return pooled
    held = [_with_borders(operand, first, windows) for operand, first in zip(operands, initial, strict=True)]
    if math.prod(windows.sizes) <= _FEW:
        thinned = _reduce_by_taps(node, held, windows)
    else:
        for axis, size in enumerate(windows.sizes):
            held = _reduce_along(node, held, axis, size, windows.dilations[axis])
        thinned = [of_parts(each, lambda x: _thin(x, windows.strides)) for each in held]
    if all(_is_known_neutral(node, *each) for each in zip(range(count), initial, strict=True)):
        return thinned
    # The initial value is combined with each window once.
    shape = shape_of(thinned[0])
    first = [of_parts(each, lambda x: sizes.broadcast(x, shape)) for each in initial]
    return node.on_tensors([*first, *thinned])


def _is_known_neutral(node: HloNode, index: int, initial: Held) -> bool:
    kind = combined(node.body(), index, len(node.inputs) // 2)
    return kind in BINARY and is_neutral(kind, initial)


def _with_borders(operand: Held, initial: Held, windows: WindowSizes) -> Held:
    """Pad the operand with the initial value, around and between its elements."""
    gaps = [dilation - 1 for dilation in windows.base_dilations]
    if isinstance(operand, ComplexValue) and isinstance(initial, ComplexValue):
        pairs = ((operand.real, initial.real), (operand.imag, initial.imag))
        return Pair(*(with_padding(x.ssa, fill, windows.low, windows.high, gaps) for x, fill in pairs)).value()
    assert isinstance(operand, Value) and isinstance(initial, Value)
    return Value(ssa=with_padding(operand.ssa, initial, windows.low, windows.high, gaps))


def _reduce_by_taps(node: HloNode, held: Sequence[Held], windows: WindowSizes) -> list[Held]:
    """Reduce the elements of each window in sequence."""
    shape = shape_of(held[0])
    reach = [(size - 1) * dilation for size, dilation in zip(windows.sizes, windows.dilations, strict=True)]
    made: list[Held] | None = None
    for taps in itertools.product(*map(range, windows.sizes)):
        starts = [tap * dilation for tap, dilation in zip(taps, windows.dilations, strict=True)]
        bounds = {
            axis: (start, sizes.plus(start, sizes.minus(size, far)), windows.strides[axis])
            for axis, (start, size, far) in enumerate(zip(starts, shape, reach, strict=True))
        }
        piece = [of_parts(each, partial(_cut, bounds=bounds)) for each in held]
        made = piece if made is None else node.on_tensors([*made, *piece])
    assert made is not None
    return made


def _cut(x: Tensor, bounds: dict[int, tuple[sizes.Size, sizes.Size, int]]) -> Tensor:
    return sizes.sliced(Value(ssa=x), bounds) if bounds else x


def _reduce_along(node: HloNode, held: list[Held], axis: int, size: int, dilation: int) -> list[Held]:
    """Combine each element with the later elements of its window.

    Windows of 1, 2, 4, ... elements are computed by doubling, and the binary digits of the size select the pieces.
    """
    result_length = sizes.minus(shape_of(held[0])[axis], (size - 1) * dilation)
    doubled, reach, done, made = held, 1, 0, None
    while True:
        if size & reach:
            piece = [_slice_along(each, axis, done * dilation, result_length) for each in doubled]
            made = piece if made is None else node.on_tensors([*made, *piece])
            done += reach
        if done == size:
            assert made is not None
            return made
        left = sizes.minus(shape_of(doubled[0])[axis], reach * dilation)
        doubled = node.on_tensors(
            [_slice_along(each, axis, start, left) for start in (0, reach * dilation) for each in doubled]
        )
        reach *= 2


def _slice_along(held: Held, axis: int, start: int, length: sizes.Size) -> Held:
    end = sizes.plus(start, length)
    return of_parts(held, lambda x: sizes.sliced(Value(ssa=x), {axis: (start, end, 1)}, {axis: length}))


def _thin(x: Tensor, strides: Sequence[int]) -> Tensor:
    if not (bounds := {axis: stride for axis, stride in enumerate(strides) if stride > 1}):
        return x
    own = sizes.sizes_of(Value(ssa=x))
    return sizes.sliced(Value(ssa=x), {axis: (0, own[axis], stride) for axis, stride in bounds.items()})


def _convert_scan(
    node: HloNode, operands: Sequence[Held], initial: Sequence[Held], windows: WindowSizes
) -> list[Held] | None:
    """Return running sums and products: windows over all elements up to each. None for other windows."""
    kind = combined(node.body(), 0, len(operands))
    shape = shape_of(operands[0])
    along = [axis for axis, size in enumerate(windows.sizes) if size > 1]
    if len(operands) != 1 or kind not in ("sum", "prod") or len(along) != 1 or not is_neutral(kind, initial[0]):
        return None
    if isinstance(operands[0], ComplexValue) and kind == "prod":
        return None
    (axis,) = along
    size = shape[axis]
    plain = {*windows.strides, *windows.dilations, *windows.base_dilations} == {1}
    others = [pair for place, pair in enumerate(zip(windows.low, windows.high, strict=True)) if place != axis]
    if windows.sizes[axis] != size or not plain or any(pair != (0, 0) for pair in others):
        return None
    run = relax.dialect.ops[f"cum{kind}"]
    if (windows.low[axis], windows.high[axis]) == (size - 1, 0):
        return [of_parts(operands[0], lambda x: run(x, axis=axis))]
    if (windows.low[axis], windows.high[axis]) == (0, size - 1):
        return [of_parts(operands[0], lambda x: relax.flip(run(relax.flip(x, axis=axis), axis=axis), axis=axis))]
    return None


def _convert_pool(
    node: HloNode, operands: Sequence[Held], initial: Sequence[Held], windows: WindowSizes
) -> list[Held] | None:
    """Return maxima of windows over the images of a batch as a relax pool; None for other windows."""
    layouts: dict[tuple[int, ...], str] = {(0, 1): "NCHW", (0, 3): "NHWC"}
    still = tuple(axis for axis, size in enumerate(windows.sizes) if size == 1)
    layout = layouts.get(still)
    operand = operands[0]
    if len(operands) != 1 or layout is None or combined(node.body()) != "max" or not isinstance(operand, Value):
        return None
    if len(windows.sizes) != 4 or not is_neutral("max", initial[0]) or set(windows.base_dilations) != {1}:
        return None
    moving = [axis for axis in range(4) if axis not in still]
    around = [*windows.low, *windows.high]
    is_still = all(windows.strides[axis] == 1 and windows.low[axis] == windows.high[axis] == 0 for axis in still)
    # A window in the padding only is -infinity, which pools do not return.
    is_inside = all(
        max(windows.low[axis], windows.high[axis]) < windows.sizes[axis] and windows.dilations[axis] == 1
        for axis in moving
    )
    if min(around) < 0 or not is_still or not is_inside:
        return None
    low, high = ([side[axis] for axis in moving] for side in (windows.low, windows.high))
    outputs = relax.nn.max_pool2d(
        operand.ssa,
        pool_size=[windows.sizes[axis] for axis in moving],
        strides=[windows.strides[axis] for axis in moving],
        padding=[*low, *high],
        layout=layout,
    )
    return [Value(ssa=outputs)]


@register_stablehlo("stablehlo.select_and_scatter")
def select_and_scatter(node: HloNode) -> Outputs:
    """Add each value of the source to the element that its window selects, combined with the previous element."""
    operand, source, initial = node.value(0), node.value(1), node.value(2)
    shape = node.static_shape()
    windows = windows_of(node, len(shape))
    kind = combined(node.body(1))
    truth = {"any": "max", "all": "min"}.get(kind)
    if kind == "update" or (kind not in REDUCTIONS and truth is None):
        raise node.fail("its scatter body is not a sum, product, maximum or minimum")
    places = _select_indices(node, operand.ssa, windows, shape)
    flat, update = sizes.full([math.prod(shape)], initial.ssa), relax.flatten(source.ssa)
    if truth is not None:
        made = scattered(cast(flat, "i8"), relax.flatten(places), cast(update, "i8"), truth)
        return sizes.reshaped(cast(made, "i1"), shape)
    made = scattered(flat, relax.flatten(places), update, kind)
    return sizes.reshaped(made, shape)


def _select_indices(node: HloNode, operand: Tensor, windows: WindowSizes, shape: Sequence[int]) -> Tensor:
    """Return the linear index in the operand of the element that each window selects."""
    counts = [
        (size + low + high - window) // stride + 1
        for size, low, high, window, stride in zip(
            shape, windows.low, windows.high, windows.sizes, windows.strides, strict=True
        )
    ]
    value: Tensor | None = None
    place: Tensor | None = None
    tensor: Tensor | None = None
    for taps in itertools.product(*(range(size) for size in windows.sizes)):
        index, is_inside = _tap(taps, windows, shape, counts)
        element = relax.take(relax.flatten(operand), index, axis=0)
        if value is None or place is None or tensor is None:
            value, place, tensor = element, index, is_inside
            continue
        keeps = node.on_tensors([Value(ssa=value), Value(ssa=element)])[0]
        keeps = relax.logical_and(keeps.ssa, tensor)
        stays = relax.logical_or(keeps, relax.logical_not(is_inside))
        value, place = relax.where(stays, value, element), relax.where(stays, place, index)
        tensor = relax.logical_or(tensor, is_inside)
    assert place is not None
    return place


def _tap(
    taps: Sequence[int], windows: WindowSizes, shape: Sequence[int], counts: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Return the index of one element of each window, clamped to the bounds, and a mask of those in bounds."""
    flat, is_inside = const(0, "i64"), const(True)
    for axis, tap in enumerate(taps):
        steps = sizes.positions(list(counts), axis)
        at = relax.add(relax.multiply(steps, like(steps, windows.strides[axis])), like(steps, tap - windows.low[axis]))
        inside = relax.logical_and(relax.greater_equal(at, like(at, 0)), relax.less(at, like(at, shape[axis])))
        bounded = relax.minimum(relax.maximum(at, like(at, 0)), like(at, max(shape[axis] - 1, 0)))
        flat = relax.add(relax.multiply(flat, const(shape[axis], "i64")), bounded)
        is_inside = relax.logical_and(is_inside, inside)
    return flat, relax.broadcast_to(is_inside, tuple(counts))
