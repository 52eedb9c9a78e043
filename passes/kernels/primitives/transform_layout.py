# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive transform_layout: transforms a buffer's layout by an index map."""

from __future__ import annotations

import sys

from ....bindings.mlir import ir
from ....dialects.core.indices import undivided
from ....dialects.core.symbols_expr import Size
from ..loops.body_scalars import Compute, Expr, Load
from ..loops.handles import BlockRV, IndexMap
from ..loops.index_exprs import indices_at
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import Access, Block, variable
from ..loops.tree_buffers import Buffer
from .cache_read import cache_read
from .cache_write import cache_write
from .caching import buffer_at, filling, shape_of


@register_primitive
def transform_layout(
    edit: Edit,
    block: BlockRV,
    buffer: tuple[str, int] | int | str,
    index_map: IndexMap,
    pad_value: float | IndexMap | None = None,
    *,
    assume_injective_transform: bool = False,
) -> None:
    """Store a buffer's element (i, j, ...) at `index_map(i, j, ...)`, and adapt all its reads and writes.

    `buffer` is ("read", n), ("write", n), n for the n-th output, or a name. Places that the map leaves free are filled
    with `pad_value`, or undefined without it. Parameters keep the callers' layout: a copy has the new one.
    """
    if isinstance(pad_value, IndexMap):
        pad_value = _number(edit, pad_value)
    found = edit.block(block)
    old = buffer_at(edit, found, buffer)
    if len(index_map.parameters) != len(old.shape):
        edit.refuse(f"'{old.name}' has {len(old.shape)} dimensions, but the map takes {len(index_map.parameters)}")
    shape = _shape(edit, old, index_map)
    if not assume_injective_transform and not index_map.is_injective(old.shape):
        sizes = ", ".join(map(str, old.shape))
        edit.refuse(f"{index_map} maps several elements of '{old.name}' ({sizes}) to the same place")
    if old.is_given:
        (cache_write if found.writes_of(old) else cache_read)(edit, block, old.name, "global")
        old = edit.tree.buffers[-1]
    new = old.laid_out(shape)
    edit.tree = edit.tree.mapped(lambda each: _moved(edit, each, old, new, index_map)).redeclared(old, new)
    if pad_value is not None:
        _fill(edit, new, pad_value)


def _number(edit: Edit, value: IndexMap) -> float:
    """Return the constant result of a function of indices."""
    if len(value.results) != 1 or not isinstance(value.results[0], int):
        edit.refuse(f"pad_value must be one number for all places, not {value}")
    return value.results[0]


def _shape(edit: Edit, buffer: Buffer, index_map: IndexMap) -> tuple[Size, ...]:
    variables = {name: variable(name, size) for name, size in zip(index_map.parameters, buffer.shape, strict=True)}
    extents = dict(zip(index_map.parameters, buffer.shape, strict=True))
    return shape_of(edit, index_map.at(list(variables.values())), extents)


def _moved(edit: Edit, block: Block, old: Buffer, new: Buffer, index_map: IndexMap) -> Block:
    def moved(access: Access) -> Access:
        return Access(new, tuple(map(undivided, index_map.at(access.indices)))) if access.buffer is old else access

    def loaded(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.buffer is not old:
            return None
        values = [index.rewritten(loaded) for index in part.indices]
        indices = indices_at(index_map.results, dict(zip(index_map.parameters, values, strict=True)))
        if indices is None:
            edit.refuse(f"'{old.name}' is read at computed indices, to which {index_map} cannot be applied")
        return Load(new, tuple(indices))

    return block.with_accesses(moved).with_exprs(lambda expr: expr.rewritten(loaded))


def _fill(edit: Edit, buffer: Buffer, value: float) -> None:
    """Insert a block that fills the buffer before all its writers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        edit.refuse(f"pad_value must be a number, not {value!r}")
    is_integer = isinstance(buffer.element, (ir.IntegerType, ir.IndexType))
    if abs(value) > (2**63 - 1 if is_integer else sys.float_info.max):
        edit.refuse(f"pad_value {value!r} is too large for '{buffer.name}'")
    make, number = (ir.IntegerAttr.get, int(value)) if is_integer else (ir.FloatAttr.get, float(value))
    constant = Compute("arith.constant", (), (("value", make(buffer.element, number)),), buffer.element)
    place = min(map(edit.tree.nest_of, edit.tree.writers(buffer)))
    edit.insert(place, filling(edit, edit.new_name(f"{buffer.name}_fill"), buffer, constant))
