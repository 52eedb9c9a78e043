# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive pad_einsum: padding of contractions to multiples of given sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from ..loops.body_scalars import Compute, Element, Expr
from ..loops.handles import BlockRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import REDUCE, Access, Block, Loop, Node, iter_variable, variable
from ..loops.tree_buffers import Buffer
from .caching import make_copy_block
from .code_motion import plain_iter
from .legality import plain_path
from .reducers import reducer_of
from .transform_layout import _fill

_PRODUCTS = frozenset({"arith.mulf", "arith.muli"})
_CONVERSIONS = frozenset({"arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp", "arith.truncf"})


@register_primitive
def pad_einsum(edit: Edit, block: BlockRV, padding: Sequence[int]) -> None:
    """Pad the extents of a block's iters to multiples of these numbers.

    The block works on copies that have zeros beyond the original end. A new block copies the original part of the
    result.
    """
    found = edit.block(block)
    given = list(padding) if isinstance(padding, (list, tuple)) else []
    if len(given) != len(found.iters) or any(type(number) is not int or number < 1 for number in given):
        edit.refuse(f"expected {len(found.iters)} numbers of at least 1, one for each iter, got {padding!r}")
    extents = {iter_.name: -(-iter_.extent // by) * by for iter_, by in zip(found.iters, given, strict=True)}
    grown = {iter_.name for iter_ in found.iters if extents[iter_.name] != iter_.extent}
    _check(edit, found, grown)
    path = plain_path(edit, found, "pad")
    plain = {str(at): iter_ for iter_, at in zip(found.iters, found.bindings, strict=True)}
    if not grown:
        return
    padded = {buffer: _padded(edit, found, buffer, extents) for buffer in found.buffers}
    iters = tuple(replace(iter_, extent=extents[iter_.name]) for iter_ in found.iters)
    # A variable contains its extent.
    longer = found.at({iter_.name: iter_variable(iter_) for iter_ in iters})
    bindings = tuple(variable(name, extents[value.name]) for name, value in plain.items())
    new = longer.with_accesses(lambda access: Access(padded[access.buffer], access.indices))
    node: Node = replace(new, iters=iters, bindings=bindings)
    for loop in reversed(path):
        node = Loop(loop.name, extents[plain[loop.name].name], (node,), loop.kind, loop.annotations)
    _put(edit, found, node, padded)


def _check(edit: Edit, block: Block, grown: set[str]) -> None:
    """Check that zeros beyond the ends do not change the result."""
    for access in block.accesses:
        for index in access.indices:
            if plain_iter(block, index) is None:
                where = f"'{access.buffer.name}' at {index}"
                edit.refuse(f"'{block.name}' uses {where}: the indices of an einsum must be iters")
    if len(block.writes) != 1 or block.loaded:
        edit.refuse(f"'{block.name}' is no einsum, which has one output and reads only at its iters")
    others = [writer.name for writer in edit.tree.writers(block.writes[0].buffer) if writer is not block]
    if others or (block.is_reduction and block.inits is None):
        edit.refuse(f"'{block.name}' has its init in another block: pad it before its reduction is decomposed")
    if not (reduced := [iter_.name for iter_ in block.iters if iter_.kind == REDUCE and iter_.name in grown]):
        return
    value = reducer_of(edit, block)
    factors = _factors(value.value) if value.operation.name in ("arith.addf", "arith.addi") else None
    if factors is None:
        problem = f"'{block.name}' is no sum of products, to which zeros would add nothing"
        edit.refuse(f"{problem}: pad no iter of its reduction")
    for name in reduced:
        other = [block.accesses[number] for number in factors if name not in map(str, block.accesses[number].indices)]
        if other:
            problem = f"'{other[0].buffer.name}' does not go along '{name}': 0 times an element beyond the end"
            edit.refuse(f"{problem} is not 0 if the element is infinite")


def _factors(expr: Expr) -> list[int] | None:
    """Return the numbers of the elements that an expression multiplies, or None for other expressions."""
    if isinstance(expr, Element):
        return [expr.number]
    if isinstance(expr, Compute) and expr.name in _CONVERSIONS:
        return _factors(expr.operands[0])
    if not isinstance(expr, Compute) or expr.name not in _PRODUCTS:
        return None
    found = [_factors(operand) for operand in expr.operands]
    return None if None in found else [number for each in found if each is not None for number in each]


def _padded(edit: Edit, block: Block, buffer: Buffer, extents: dict[str, Size]) -> Buffer:
    access = next(each for each in block.accesses if each.buffer is buffer)
    shape: list[Size] = []
    for index, size in zip(access.indices, buffer.shape, strict=True):
        own = plain_iter(block, index)
        assert own is not None
        if str(own.extent) != str(size):
            edit.refuse(f"'{block.name}' uses only a part of '{buffer.name}', and no zeros follow the part")
        shape.append(extents[own.name])
    if tuple(shape) == buffer.shape:
        return buffer
    return Buffer(edit.tree.new_buffer_name(f"{buffer.name}_pad"), tuple(shape), buffer.element)


def _put(edit: Edit, block: Block, node: Node, padded: dict[Buffer, Buffer]) -> None:
    """Insert the block in its loops, after the copies of its inputs, before the copy of its output."""
    edit.replace(edit.tree.body[edit.tree.nest_of(block)].name, [node])
    written = block.writes[0].buffer
    for buffer, copy in padded.items():
        if copy is buffer:
            continue
        edit.tree = edit.tree.with_buffer(copy)
        place = next(number for number, each in enumerate(edit.tree.body) if each.name == node.name)
        source, target = (copy, buffer) if buffer is written else (buffer, copy)
        name = edit.new_name(copy.name if buffer is not written else f"{buffer.name}_cut")
        edit.insert(place + (buffer is written), make_copy_block(edit, name, source, target, buffer.shape))
        if buffer is not written:
            _fill(edit, copy, 0)
