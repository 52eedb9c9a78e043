# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reindex: staging of a buffer with a block's iters as dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.relation import Relation
from ....dialects.core.symbols_expr import Size, variables_of
from ....support.replacing import replace
from ..loops.handles import BlockRV, IndexMap
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import SPATIAL, Access, Block, Iter, blocks_in, iter_variable
from ..loops.tree_buffers import Buffer
from .cache_read import place_of
from .caching import check_scope, copy_of, shape_of
from .code_motion import wrap_in_new_loops
from .legality import check_not_part


@register_primitive
def reindex(edit: Edit, block: BlockRV, buffer: tuple[str, int] | str) -> BlockRV:
    """Let a block access a copy of a buffer that has the block's iters as dimensions. Return the block that copies.

    The buffer is ("read", n), ("write", n) or a name.
    """
    found = edit.block(block)
    if isinstance(buffer, str):
        buffer = _named(edit, found, buffer)
    if len(buffer) != 2 or buffer[0] not in ("read", "write"):
        edit.refuse(f"expected ('read', n) or ('write', n), got {buffer!r}")
    access = access_of(edit, found, *buffer)
    own = [iter_ for iter_ in found.iters if iter_.name in _variables(access.indices)]
    return staged(edit, found, buffer[0], access, tuple(map(iter_variable, own)), "global", "reindex")


def _named(edit: Edit, block: Block, name: str) -> tuple[str, int]:
    """Return the kind and the number of a block's only access to a buffer."""
    listed = [
        *(("read", *each) for each in enumerate(block.reads)),
        *(("write", *each) for each in enumerate(block.writes)),
    ]
    found = [(kind, number) for kind, number, access in listed if access.buffer.name == name]
    if len(found) != 1:
        edit.refuse(f"'{block.name}' uses '{name}' {len(found)} times: expected ('read', n) or ('write', n)")
    return found[0]


def access_of(edit: Edit, block: Block, kind: str, index: int) -> Access:
    accesses = block.reads if kind == "read" else block.writes
    if index not in range(len(accesses)):
        listed = ", ".join(f"{number}: {access.buffer.name}" for number, access in enumerate(accesses)) or "none"
        edit.refuse(f"'{block.name}' has no {kind} {index} (it {kind}s {listed})")
    return accesses[index]


def stage_by_map(edit: Edit, handle: BlockRV, kind: str, index: int, scope: str, index_map: IndexMap) -> BlockRV:
    """Stage a buffer at the indices that a map computes from all of a block's iters."""
    found = edit.block(handle)
    check_scope(edit, scope)
    access = access_of(edit, found, kind, index)
    if len(index_map.parameters) != len(found.iters):
        edit.refuse(f"'{found.name}' has {len(found.iters)} iters, but the map takes {len(index_map.parameters)}")
    indices = index_map.at([iter_variable(iter_) for iter_ in found.iters])
    return staged(edit, found, kind, access, indices, scope, scope.replace(".", "_"))


def staged(
    edit: Edit, block: Block, kind: str, access: Access, indices: tuple[Size, ...], scope: str, suffix: str
) -> BlockRV:
    """Stage an access at `indices`, which are in terms of the block's iters. Return the block that copies."""
    buffer = access.buffer
    used = _variables(indices)
    own = [iter_ for iter_ in block.iters if iter_.name in used]
    _check(edit, block, kind, access, indices, own)
    shape = shape_of(edit, indices, {each.name: each.extent for each in own})
    cached = Buffer(edit.tree.new_buffer_name(f"{buffer.name}_{suffix}"), shape, buffer.element, scope)
    name = edit.new_name(cached.name)
    inner = Access(cached, indices)
    source, target = (access, inner) if kind == "read" else (inner, access)
    node = wrap_in_new_loops(edit, copy_of(name, [replace(each, kind=SPATIAL) for each in own], source, target))
    place = place_of(edit, buffer, [block]) if kind == "read" else edit.tree.nest_of(block) + 1

    edit.replace(block.name, [block.with_accesses(lambda each: inner if each == access else each)])
    edit.insert(place, node)
    edit.tree = edit.tree.with_buffer(cached)
    return edit.handle(edit.tree.block(name))


def _check(edit: Edit, found: Block, kind: str, access: Access, indices: Sequence[Size], own: Sequence[Iter]) -> None:
    buffer, names = access.buffer, [iter_.name for iter_ in own]
    if found.within:
        edit.refuse(f"'{found.name}' excludes steps of its reduction: the elements for these steps are unknown")
    if buffer in found.loaded:
        edit.refuse(f"'{buffer.name}' is read at computed indices")
    if missing := sorted(_variables(access.indices) & {iter_.name for iter_ in found.iters} - set(names)):
        edit.refuse(
            f"'{buffer.name}' is used at different indices for each '{missing[0]}', but the copy has no such dimension"
        )
    own_map = IndexMap(tuple(names), tuple(indices))
    if not own_map.is_injective([iter_.extent for iter_ in own]):
        edit.refuse(f"{own_map} maps several points of '{found.name}' to one place")
    if kind == "read":
        if found.writes_of(buffer):
            edit.refuse(f"'{found.name}' writes '{buffer.name}', too")
        if not Relation({each.name: each.extent for each in own}, access.indices).is_inside(buffer.shape):
            edit.refuse(f"'{buffer.name}' is read outside of its bounds for some values of '{', '.join(names)}'")
        return
    check_not_part(edit, found)
    if any(iter_.kind != SPATIAL for iter_ in own) or found.reads_of(buffer) and found.inits is None:
        edit.refuse(f"'{found.name}' depends on previous values of '{buffer.name}'")
    if any(each.buffer is buffer for each in found.reads) or len(found.writes_of(buffer)) > 1:
        edit.refuse(f"'{found.name}' uses '{buffer.name}' several times")
    place = edit.tree.nest_of(found)
    others = [
        block.name for block in blocks_in([edit.tree.body[place]]) if block is not found and buffer in block.buffers
    ]
    if others:
        edit.refuse(
            f"'{others[0]}' uses '{buffer.name}' in the same loops: copy the buffer before the loops are merged"
        )
    spatial = {iter_.name for iter_ in found.iters if iter_.kind == SPATIAL and iter_.extent != 1}
    if not spatial <= set(names):
        edit.refuse(f"'{found.name}' writes the same elements of '{buffer.name}' at several points")


def _variables(indices: Sequence[Size]) -> set[str]:
    return set().union(*map(variables_of, indices))
