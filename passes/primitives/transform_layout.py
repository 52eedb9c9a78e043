# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive transform_layout: a buffer's layout, by an index map."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from ...bindings.mlir import ir
from ...dialects.core.symbols_expr import Size
from ..loops.body_scalars import Compute
from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from ..loops.ranges import range_of
from ..loops.tree import Access, Block, Buffer, variable
from .caching import buffer_of, filling


@register_primitive
def transform_layout(
    edit: Edit,
    block: BlockRV,
    buffer: tuple[str, int] | int | str,
    index_map: IndexMap,
    pad_value: float | None = None,
    *,
    assume_injective_transform: bool = False,
) -> None:
    """Stores a buffer's element (i, j, ...) at `index_map(i, j, ...)`, wherever it is written and read.

    `buffer` is ("read", n), ("write", n), n of what is written, or a name. Where the map leaves places free these hold
    `pad_value`, or anything.
    """
    found = edit.block(block)
    old = _buffer(edit, found, buffer)
    if old.is_given:
        edit.refuse(
            f"'{old.name}' is a parameter, whose layout its callers choose: transform a copy of it (cache_read)"
        )
    if any(old in each.loaded() for each in edit.tree.blocks()):
        edit.refuse(f"'{old.name}' is read at places that are computed")
    if len(index_map.parameters) != len(old.shape):
        edit.refuse(f"'{old.name}' has {len(old.shape)} dimensions, the map {len(index_map.parameters)}")
    shape = _shape(edit, old, index_map)
    if not assume_injective_transform and not index_map.is_injective(old.shape):
        sizes = ", ".join(map(str, old.shape))
        edit.refuse(f"{index_map} puts several elements of '{old.name}' ({sizes}) at the same place")
    new = replace(old, shape=shape)
    edit.tree = edit.tree.mapped(lambda each: _moved(each, old, new, index_map))
    edit.tree = replace(edit.tree, buffers=tuple(new if each is old else each for each in edit.tree.buffers))
    if pad_value is not None:
        _fill(edit, new, pad_value)


def _buffer(edit: Edit, block: Block, which: Any) -> Buffer:
    if isinstance(which, (tuple, list)) and len(which) == 2 and which[0] in ("read", "write"):
        accesses = block.reads if which[0] == "read" else block.writes
        return buffer_of(edit, block, accesses, which[1], f"{which[0]}s")
    if isinstance(which, str):
        return buffer_of(edit, block, block.accesses, which, "uses")
    return buffer_of(edit, block, block.writes, which, "writes")


def _shape(edit: Edit, buffer: Buffer, index_map: IndexMap) -> tuple[Size, ...]:
    variables = {name: variable(name, size) for name, size in zip(index_map.parameters, buffer.shape, strict=True)}
    extents = dict(zip(index_map.parameters, buffer.shape, strict=True))
    shape = []
    for result in index_map.at(list(variables.values())):
        reached = range_of(result, extents)
        if reached is None or reached.start != 0:
            edit.refuse(f"how far {result} goes is not known, or it does not begin at 0")
        shape.append(reached.extent)
    return tuple(shape)


def _moved(block: Block, old: Buffer, new: Buffer, index_map: IndexMap) -> Block:
    def moved(access: Access) -> Access:
        return Access(new, index_map.at(access.indices)) if access.buffer is old else access

    return replace(block, reads=tuple(map(moved, block.reads)), writes=tuple(map(moved, block.writes)))


def _fill(edit: Edit, buffer: Buffer, value: float) -> None:
    """A block before all that writes the buffer."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        edit.refuse(f"pad_value is a number, not {value!r}")
    is_integer = isinstance(buffer.element, (ir.IntegerType, ir.IndexType))
    if abs(value) > (2**63 - 1 if is_integer else sys.float_info.max):
        edit.refuse(f"pad_value {value!r} is too large for '{buffer.name}'")
    make, number = (ir.IntegerAttr.get, int(value)) if is_integer else (ir.FloatAttr.get, float(value))
    attribute = make(buffer.element, number)
    constant = Compute("arith.constant", (), (("value", attribute),), buffer.element)
    place = min(map(edit.tree.nest_of, edit.tree.writers(buffer)))
    edit.insert(place, filling(edit, edit.new_name(f"{buffer.name}_fill"), buffer, constant))
