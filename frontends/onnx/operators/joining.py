# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that join tensors or take one apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ....dialects.core.symbols import equal
from ....support.suggest import counted
from ..prelude import Node, Outputs, Tensor, joined, register_onnx, relax
from ..shapes import sizes
from ..shapes.sizes import Size


@register_onnx("", "Concat")
def concat(node: Node) -> Outputs:
    # The first version had an axis by default; since the fourth there is none.
    axis = node.int("axis", 1)
    parts = [node.tensor(index) for index in range(len(node.inputs))]
    return joined(parts, axis)


@register_onnx("", "Split")
def split(node: Node) -> Outputs:
    """Into parts whose sizes are given, else equal ones, of which the last may be smaller."""
    axis = node.axis(node.rank(0), 0)
    lengths = _given_lengths(node)
    if lengths is None:
        return _equal_parts(node, axis)
    if len(lengths) != node.output_count:
        raise node.fail(f"there are {len(lengths)} parts, but {counted(node.output_count, 'output')}", "split")
    return _parts(node, axis, lengths)


def _given_lengths(node: Node) -> list[Size] | None:
    """The sizes of the parts; in the first version they may be an attribute or an input."""
    held = node.ints("split")
    if held:
        return list(held)
    return sizes.input_sizes(node, 1) if node.has(1) else None


def _equal_parts(node: Node, axis: int) -> list[Any]:
    count = node.int("num_outputs", node.output_count)
    if count != node.output_count:
        raise node.fail(f"there are {count} parts, but {counted(node.output_count, 'output')}", "num_outputs")
    size = sizes.sizes_of(node.value(0))[axis]
    if sizes.is_known(size):
        return _split(node, count, axis)
    length = sizes.divided(sizes.plus(size, count - 1), count)
    return _parts(node, axis, [length] * (count - 1) + [sizes.minus(size, sizes.times(length, count - 1))])


def _split(node: Node, where: Any, axis: int) -> list[Any]:
    found = relax["split"](node.tensor(0), indices_or_sections=where, axis=axis)
    return list(found) if isinstance(found, tuple) else [found]


def _parts(node: Node, axis: int, lengths: Sequence[Size]) -> list[Any]:
    own = sizes.sizes_of(node.value(0))
    ends = list(accumulate(lengths, sizes.plus))
    if sizes.is_known(ends[-1], own[axis]) and equal(ends[-1], own[axis]) is False:
        raise node.fail(f"the parts have {ends[-1]} elements along axis {axis}, the data has {own[axis]}", "split")
    if all(isinstance(end, int) for end in ends):
        return _split(node, ends[:-1], axis)
    begins = [0, *ends[:-1]]
    return [
        sizes.stated(_part(node, axis, begin, end), [*own[:axis], length, *own[axis + 1 :]])
        for begin, end, length in zip(begins, ends, lengths, strict=True)
    ]


def _part(node: Node, axis: int, begin: Size, end: Size) -> Tensor:
    return sizes.sliced(node.value(0), {axis: (begin, end, 1)})
