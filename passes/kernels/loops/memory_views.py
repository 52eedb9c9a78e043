# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views (aliases) of memory: translation of a view's indices to indices of the underlying buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ....bindings.ir import Operation, Value
from ....dialects.core.symbols_expr import Size
from ....emit.collapse import groups_of
from ....emit.tensors import SlicePlace, kept_axes
from .tree_buffers import Buffer

#: Function from the indices of a view to the indices of its buffer.
Place = Callable[[Sequence[Size]], tuple[Size, ...]]


class View(NamedTuple):
    buffer: Buffer
    place: Place


class ViewReader(Protocol):
    """Reader of a function, as views need it: known views of memory, and sizes."""

    views: dict[Value, View]

    def size(self, value: Value) -> Size: ...

    def size_of(self, memref: Value, axis: int) -> Size: ...


def _cast(reader: ViewReader, op: Operation) -> View:
    return reader.views[op.operands[0]]


def _subview(reader: ViewReader, op: Operation) -> View:
    source = reader.views[op.operands[0]]
    offsets, _, strides = (
        [each if isinstance(each, int) else reader.size(each) for each in part] for part in SlicePlace.of(op)
    )
    kept = kept_axes(op)

    def place(indices: Sequence[Size]) -> tuple[Size, ...]:
        at: list[Size] = [0] * len(offsets)
        for index, axis in zip(indices, kept, strict=True):
            at[axis] = index
        moved = [offset + index * stride for offset, index, stride in zip(offsets, at, strides, strict=True)]
        return source.place(moved)

    return View(source.buffer, place)


def _expanded(reader: ViewReader, op: Operation) -> View:
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


def _collapsed(reader: ViewReader, op: Operation) -> View:
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


VIEWS: dict[str, Callable[[ViewReader, Operation], View]] = {
    "memref.cast": _cast,
    "memref.subview": _subview,
    "memref.expand_shape": _expanded,
    "memref.collapse_shape": _collapsed,
}
