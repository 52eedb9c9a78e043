# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that join, split, slice or pad tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ....dialects.core.symbols import equal
from ....dialects.relax.infer.slices import OPEN
from ....support.suggest import counted
from ...core import sizes
from ...core.padding import padded
from ...core.sizes import Size
from ..input_sizes import input_length, input_sizes, integers
from ..prelude import OnnxNode, Outputs, Tensor, Value, const, joined, register_onnx, register_rows, relax

# Exporters write either this number or a larger one for "to the end".
_LEAST_OPEN = 2**31 - 1


# ---- joining and splitting ----


# The first version had a default axis. Since the fourth, there is no default.
register_rows("", {"Concat": lambda node: joined(node.tensors(), node.int("axis", 1))})


@register_onnx("", "Split")
def split(node: OnnxNode) -> Outputs:
    """Convert Split into parts of listed sizes, or equal parts, of which the last may be smaller."""
    axis = node.axis(node.rank(0), 0)
    # In the first version, the lengths may be an attribute or an input.
    lengths = node.ints("split") or (input_sizes(node, 1) if node.has(1) else None)
    if lengths is None:
        return _equal_parts(node, axis)
    if len(lengths) != node.output_count:
        raise node.fail(f"there are {len(lengths)} parts, but {counted(node.output_count, 'output')}", "split")
    return _parts(node, axis, lengths)


def _equal_parts(node: OnnxNode, axis: int) -> list[Tensor]:
    if (count := node.int("num_outputs", node.output_count)) != node.output_count:
        raise node.fail(f"there are {count} parts, but {counted(node.output_count, 'output')}", "num_outputs")
    size = sizes.sizes_of(node.value(0))[axis]
    if sizes.is_known(size):
        found = relax.split(node.tensor(0), indices_or_sections=count, axis=axis)
        return list(found) if isinstance(found, tuple) else [found]
    length = sizes.divided(sizes.plus(size, count - 1), count)
    return _parts(node, axis, [length] * (count - 1) + [sizes.minus(size, sizes.times(length, count - 1))])


def _parts(node: OnnxNode, axis: int, lengths: Sequence[Size]) -> list[Tensor]:
    end, size = reduce(sizes.plus, lengths, 0), sizes.sizes_of(node.value(0))[axis]
    if sizes.is_known(end, size) and equal(end, size) is False:
        raise node.fail(f"the parts have {end} elements along axis {axis}, the data has {size}", "split")
    return sizes.parts(node.value(0), axis, lengths)


# ---- slices ----


@register_onnx("", "Slice")
def slice_by_attributes(node: OnnxNode) -> Outputs:
    begins, ends = node.ints("starts", []), node.ints("ends", [])
    return _slice(node, begins, ends, node.ints("axes", list(range(len(begins)))), [1] * len(begins))


# DynamicSlice is an experimental operator from before Slice had inputs, with steps of 1.
@register_onnx("", "DynamicSlice")
@register_onnx("", "Slice", since=10)
def slice_(node: OnnxNode) -> Outputs:
    count = input_length(node, 1)
    axes = node.numbers(3) if node.has(3) else tuple(range(count))
    steps = node.numbers(4) if node.has(4) else (1,) * count
    if axes is None or steps is None:
        return _slice_at_run_time(node, count)
    return _slice(node, input_sizes(node, 1), input_sizes(node, 2), axes, steps)


def _slice(
    node: OnnxNode, begins: Sequence[Size], ends: Sequence[Size], axes: Sequence[int], steps: Sequence[int]
) -> Tensor:
    rank = node.rank(0)
    if len({len(begins), len(ends), len(axes), len(steps)}) != 1:
        raise node.fail("starts, ends, axes and steps must have the same length")
    if any(not -rank <= axis < rank for axis in axes):
        raise node.fail(f"axes {tuple(axes)} are out of range for {counted(rank, 'dimension')}", "axes")
    own = sizes.sizes_of(node.value(0)) if any(step < 0 for step in steps) else []
    bounds = {}
    for begin, end, axis, step in zip(begins, ends, axes, steps, strict=True):
        first = _clip(begin) if step >= 0 else _top(_clip(begin), own[axis])
        bounds[axis % rank] = (first, _clip(end), step)
    return sizes.sliced(node.value(0), bounds)


def _clip(bound: Size) -> Size:
    """Return a slice bound. Numbers that exceed any size mean an open end."""
    if not isinstance(bound, int) or abs(bound) < _LEAST_OPEN:
        return bound
    return OPEN if bound > 0 else -OPEN


def _top(begin: Size, size: Size) -> Size:
    """Return the start of a slice with a negative step.

    A bound in front of the first element is clamped to it. By Python's rules, which apply otherwise, the slice would be
    empty.
    """
    if not isinstance(begin, int):
        return sizes.larger(begin, sizes.minus(0, size))
    if begin >= -1:
        return begin
    return 0 if begin == -OPEN else sizes.larger(sizes.plus(size, begin), 0)


def _slice_at_run_time(node: OnnxNode, count: int) -> Tensor:
    """Slice with dynamic axes or steps."""
    rank = node.rank(0)
    every = lambda value: const([value] * rank, "i64")  # noqa: E731
    axes = integers(node, 3) if node.has(3) else const(list(range(count)), "i64")
    bounds = [(0, 1), (OPEN, 2), (1, 4)]
    begins, ends, steps = (
        relax.scatter_elements(every(default), axes, integers(node, index), axis=0)
        if node.has(index)
        else every(default)
        for default, index in bounds
    )
    lowest = relax.negative(sizes.shape_tensor(node.tensor(0)))
    begins = relax.where(relax.less(steps, const(0, "i64")), relax.maximum(begins, lowest), begins)
    return relax.dynamic_strided_slice(node.tensor(0), begins, ends, steps)


# ---- padding ----

_MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


@register_onnx("", "Pad")
def pad_by_attributes(node: OnnxNode) -> Outputs:
    widths = node.ints("pads", node.ints("paddings", []))
    return _pad(node, widths, list(range(node.rank(0))), node.float("value", 0.0))


@register_onnx("", "Pad", since=11)
def pad(node: OnnxNode) -> Outputs:
    rank, has_axes = node.rank(0), node.version >= 18 and node.has(3)
    axes = node.numbers(3) if has_axes else tuple(range(rank))
    widths = input_sizes(node, 1) if axes is not None else _widths_at_run_time(node, rank)
    value = _fill(node, 2) if node.has(2) else 0
    return _pad(node, widths, tuple(range(rank)) if axes is None else axes, value)


def _fill(node: OnnxNode, index: int) -> int | float | Tensor:
    """Return the fill as a number if it is known and fits an attribute, else as a 0-D tensor."""
    number = node.scalar(index)
    if number is None or (isinstance(number, int) and number >= 2**63):
        return relax.reshape(node.tensor(index), ())
    return int(number) if isinstance(number, bool) else number


def _widths_at_run_time(node: OnnxNode, rank: int) -> list[Size]:
    """Return the widths of all axes for dynamic axes."""
    axes, count = integers(node, 3), input_length(node, 3)
    given, zeros = integers(node, 1), const([0] * rank, "i64")
    halves = [relax.strided_slice(given, axes=[0], begin=[at], end=[at + count]) for at in (0, count)]
    spread = [relax.scatter_elements(zeros, axes, half, axis=0) for half in halves]
    return [sizes.element(half, axis) for half in spread for axis in range(rank)]


def _pad(node: OnnxNode, widths: Sequence[Size], axes: Sequence[int], value: int | float | Tensor) -> Tensor | Value:
    """Pad with `value`, a number or a 0-D tensor."""
    mode, rank = _MODES[node.choice("mode", "constant", _MODES)], node.rank(0)
    if len(widths) != 2 * len(axes) or any(not -rank <= axis < rank for axis in axes):
        raise node.fail(
            f"{counted(len(widths), 'width')} for axes {tuple(axes)} do not fit data with {counted(rank, 'dimension')}",
            "pads",
        )
    pairs = {axis % rank: (widths[index], widths[index + len(axes)]) for index, axis in enumerate(axes)}
    return padded(node.value(0), pairs, mode, value)
