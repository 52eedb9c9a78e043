# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging buffers of cache_read and cache_write, and the blocks that copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...dialects.core.symbols_expr import Size
from ..loops.body_scalars import Element
from ..loops.handles import BlockRV
from ..loops.memories import COMMON, all_memories, find_memory
from ..loops.primitives import Edit
from ..loops.tree import SPATIAL, Access, Block, Buffer, Iter, Loop, Node, blocks_in, iter_variable, variable


def check_scope(edit: Edit, scope: str) -> None:
    if scope in COMMON or find_memory(scope) is not None:
        return
    hints = {"shared.dyn": "shared", "warp": "local"}
    hint = f"; use '{hints[scope]}'" if scope in hints else ""
    known = ", ".join((*COMMON, *(each.name for each in all_memories())))
    edit.refuse(f"'{scope}' is no scope of memory (there are {known}){hint}")


def staged_buffer(edit: Edit, buffer: Buffer, scope: str) -> Buffer:
    """A buffer like another one, in memory of a scope."""
    name = edit.tree.new_buffer_name(f"{buffer.name}_{scope.replace('.', '_')}")
    return replace(buffer, name=name, scope=scope, is_given=False)


def staged_block(edit: Edit, handle: BlockRV, index: int | str, what: str) -> tuple[Block, Buffer]:
    """A block, and the n-th of the buffers that it reads or writes; of a block around others the one of these that does
    so first, of the buffers that are not its own."""
    node = edit.any_block(handle)
    blocks = blocks_in([node])
    accesses = [access for block in blocks for access in getattr(block, what)]
    if isinstance(node, Loop):
        inside = {access.buffer for block in blocks for access in block.writes}
        outside = {buffer for block in edit.tree.blocks() if block not in blocks for buffer in block.buffers}
        own = inside if what == "reads" else {each for each in inside - outside if not each.is_given}
        accesses = [access for access in accesses if access.buffer not in own]
    buffer = buffer_of(edit, node, accesses, index, what)
    return next(block for block in blocks if any(a.buffer is buffer for a in getattr(block, what))), buffer


def buffer_of(edit: Edit, block: Block | Loop, accesses: Sequence[Access], index: int | str, what: str) -> Buffer:
    """The n-th buffer of some accesses, each counted once, or that of a name."""
    buffers = list(dict.fromkeys(access.buffer for access in accesses))
    names = ", ".join(f"{number}: {buffer.name}" for number, buffer in enumerate(buffers)) or "none"
    if isinstance(index, str):
        found = next((buffer for buffer in buffers if buffer.name == index), None)
    else:
        found = buffers[index] if type(index) is int and 0 <= index < len(buffers) else None
    if found is None:
        edit.refuse(f"'{block.name}' {what} no buffer {index!r} (it {what} {names})")
    return found


def inserted(edit: Edit, loop: Loop | None, place: int, node: Node) -> None:
    """Puts a node into a loop, or among the outermost ones."""
    if loop is None:
        edit.tree = replace(edit.tree, body=(*edit.tree.body[:place], node, *edit.tree.body[place:]))
        return
    target = edit.tree.loop(loop.name)
    edit.replace(loop.name, [replace(target, body=(*target.body[:place], node, *target.body[place:]))])


def level_of(edit: Edit, block: Block, others: Sequence[Block]) -> tuple[Loop | None, int]:
    """The outermost loop in which a block stands apart from others, None outside of all, and its place there."""
    path = edit.tree.around(block.name)
    for number in range(len(path) + 1):
        siblings = path[number - 1].body if number else edit.tree.body
        node = next(each for each in siblings if block in blocks_in([each]))
        if not any(other in blocks_in([node]) for other in others):
            return (path[number - 1] if number else None), siblings.index(node)
    raise AssertionError("a block stands apart from others in the innermost loop around it")


def copying(edit: Edit, name: str, source: Buffer, target: Buffer, shape: Sequence[Size] | None = None) -> Node:
    """A block that copies a buffer, all of it or as far as a shape goes, and its loops."""
    sizes = source.shape if shape is None else shape
    iters = [Iter(f"v{number}", SPATIAL, size) for number, size in enumerate(sizes)]
    point: tuple[Size, ...] = tuple(map(iter_variable, iters))
    loops = list(zip(edit.new_names([f"ax{number}" for number in range(len(iters))]), sizes, strict=True))
    bindings = tuple(variable(*loop) for loop in loops)
    node: Node = Block(name, tuple(iters), bindings, (Access(source, point),), (Access(target, point),), (Element(0),))
    for loop, extent in reversed(loops):
        node = Loop(loop, extent, (node,))
    return node
