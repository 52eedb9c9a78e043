# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views (aliases) of memory: arithmetic from their indices to those of the memory that they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ...bindings.ir import Operation, Value
from ...bindings.mlir import DYNAMIC
from ...dialects.core.symbols_expr import Size
from .tree import Buffer

#: Gives the indices of a buffer behind those of a view of it.
Place = Callable[[Sequence[Size]], tuple[Size, ...]]


class View(NamedTuple):
    buffer: Buffer
    place: Place


class Reader(Protocol):
    """Who reads a function: what memory shows, and what sizes are."""

    views: dict[Value, View]

    def size(self, value: Value) -> Size: ...

    def size_of(self, memref: Value, axis: int) -> Size: ...


def _cast(reader: Reader, op: Operation) -> View:
    return reader.views[op.operands[0]]


def _subview(reader: Reader, op: Operation) -> View:
    source = reader.views[op.operands[0]]
    offsets = mixed_sizes(reader, op, "static_offsets", 0)
    strides = mixed_sizes(reader, op, "static_strides", 2)
    kept = kept_axes(op)

    def place(indices: Sequence[Size]) -> tuple[Size, ...]:
        at: list[Size] = [0] * len(offsets)
        for index, axis in zip(indices, kept, strict=True):
            at[axis] = index
        moved = [offset + index * stride for offset, index, stride in zip(offsets, at, strides, strict=True)]
        return source.place(moved)

    return View(source.buffer, place)


def mixed_sizes(reader: Reader, op: Operation, name: str, segment: int) -> list[Size]:
    """Offsets, sizes or strides: numbers, or the operands of their segment."""
    counts = list(op.attributes["operandSegmentSizes"])
    start = counts[0] + sum(counts[1 : 1 + segment])
    dynamic = iter(list(op.operands)[start : start + counts[1 + segment]])
    return [reader.size(next(dynamic)) if each == DYNAMIC else int(each) for each in op.attributes[name]]


def kept_axes(op: Operation) -> list[int]:
    """The source's axis of each axis of a subview: those of size 1 may be left out."""
    sizes = [int(each) for each in op.attributes["static_sizes"]]
    shape = [int(each) for each in op.result.type.shape]
    kept, axis = [], 0
    for size in shape:
        while sizes[axis] != size:
            axis += 1
        kept.append(axis)
        axis += 1
    return kept


def groups_of(op: Operation) -> list[list[int]]:
    return [[int(each.value) for each in group] for group in op.attributes["reassociation"]]


def _expanded(reader: Reader, op: Operation) -> View:
    source = reader.views[op.operands[0]]
    sizes = [reader.size_of(op.result, axis) for axis in range(op.result.type.rank)]

    def place(indices: Sequence[Size]) -> tuple[Size, ...]:
        joined: list[Size] = []
        for group in groups_of(op):
            total: Size = 0
            for axis in [axis for axis in group if sizes[axis] != 1] or group[:1]:
                total = total * sizes[axis] + indices[axis]
            joined.append(total)
        return source.place(joined)

    return View(source.buffer, place)


def _collapsed(reader: Reader, op: Operation) -> View:
    source = reader.views[op.operands[0]]
    sizes = [reader.size_of(op.operands[0], axis) for axis in range(op.operands[0].type.rank)]

    def place(indices: Sequence[Size]) -> tuple[Size, ...]:
        apart: list[Size] = [0] * len(sizes)
        for group, index in zip(groups_of(op), indices, strict=True):
            rest = index
            for axis in reversed(group[1:]):
                apart[axis], rest = rest % sizes[axis], rest // sizes[axis]
            if group:
                apart[group[0]] = rest
        return source.place(apart)

    return View(source.buffer, place)


VIEWS: dict[str, Callable[[Reader, Operation], View]] = {
    "memref.cast": _cast,
    "memref.subview": _subview,
    "memref.expand_shape": _expanded,
    "memref.collapse_shape": _collapsed,
}
