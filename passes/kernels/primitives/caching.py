# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging buffers of cache_read and cache_write, and the blocks that copy them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....dialects.core.symbols_expr import Size
from ..loops.body_scalars import Element, Expr, Load
from ..loops.handles import BlockRV
from ..loops.memories import COMMON, all_memories, find_memory
from ..loops.primitives import Edit
from ..loops.ranges import range_of
from ..loops.tree import SPATIAL, Access, Block, Iter, Loop, Node, blocks_in, iter_variable
from ..loops.tree_buffers import Buffer
from .code_motion import wrap_in_new_loops


def check_scope(edit: Edit, scope: str) -> None:
    """Refuse an unknown memory scope, with a list of the known ones."""
    if scope in COMMON or find_memory(scope) is not None:
        return
    hints = {"shared.dyn": "shared", "warp": "local"}
    hint = f"; use '{hints[scope]}'" if scope in hints else ""
    known = ", ".join((*COMMON, *(memory.name for memory in all_memories())))
    edit.refuse(f"'{scope}' is no scope of memory (there are {known}){hint}")


def staged_buffer(edit: Edit, buffer: Buffer, scope: str) -> Buffer:
    """Return a buffer with the shape and element type of another one, in memory of a scope."""
    name = edit.tree.new_buffer_name(f"{buffer.name}_{scope.replace('.', '_')}")
    return Buffer(name, buffer.shape, buffer.element, scope)


def staged_block(edit: Edit, handle: BlockRV, index: int | str, what: str) -> tuple[Block, Buffer]:
    """Return a block and the n-th buffer that it reads or writes.

    For a block around others, return the first inner block that accesses the buffer. Buffers that are local to the
    outer block do not count.
    """
    node = edit.any_block(handle)
    blocks = blocks_in([node])
    used = {block.name: _read_in_order(block) if what == "reads" else list(block.writes) for block in blocks}
    accesses = [access for block in blocks for access in used[block.name]]
    if isinstance(node, Loop):
        inside = {access.buffer for block in blocks for access in block.writes}
        outside = {buffer for block in edit.tree.blocks() if block not in blocks for buffer in block.buffers}
        own = inside if what == "reads" else {each for each in inside - outside if not each.is_given}
        accesses = [access for access in accesses if access.buffer not in own]
    buffer = buffer_of(edit, node, accesses, index, what)
    return next(block for block in blocks if any(each.buffer is buffer for each in used[block.name])), buffer


def _read_in_order(block: Block) -> list[Access | Load]:
    """Return the reads of a block in order of occurrence in its expressions, if some indices are computed."""
    if not block.loads:
        return list(block.reads)
    found: list[Access | Load] = []
    waiting = list(reversed(block.results))
    while waiting:
        expr = waiting.pop()
        if isinstance(expr, Element) and expr.number < len(block.reads):
            found.append(block.reads[expr.number])
        found += [expr] if isinstance(expr, Load) else []
        waiting += reversed(expr.parts())
    return found


def buffer_of(
    edit: Edit, block: Block | Loop, accesses: Sequence[Access | Load], index: int | str, what: str
) -> Buffer:
    """Return the n-th distinct buffer of accesses, or the buffer with a name."""
    buffers = list(dict.fromkeys(access.buffer for access in accesses))
    names = ", ".join(f"{number}: {buffer.name}" for number, buffer in enumerate(buffers)) or "none"
    if isinstance(index, str):
        found = next((buffer for buffer in buffers if buffer.name == index), None)
    else:
        found = buffers[index] if type(index) is int and 0 <= index < len(buffers) else None
    if found is None:
        edit.refuse(f"'{block.name}' {what} no buffer {index!r} (it {what} {names})")
    return found


def level_of(edit: Edit, block: Block, others: Sequence[Block]) -> tuple[Loop | None, int]:
    """Return the outermost loop that separates a block from others, with the block's index there.

    The loop is None outside of all loops.
    """
    path = edit.tree.around(block.name)
    for number in range(len(path) + 1):
        siblings = path[number - 1].body if number else edit.tree.body
        node = next(sibling for sibling in siblings if block in blocks_in([sibling]))
        if not any(other in blocks_in([node]) for other in others):
            return (path[number - 1] if number else None), siblings.index(node)
    raise AssertionError("a block stands apart from others in the innermost loop around it")


def buffer_at(edit: Edit, block: Block, which: Any) -> Buffer:
    """Return the buffer of a transform_layout argument: ("read", n), ("write", n), n for the n-th output, or a name."""
    if isinstance(which, (tuple, list)) and len(which) == 2 and which[0] in ("read", "write"):
        accesses = block.reads if which[0] == "read" else block.writes
        return buffer_of(edit, block, accesses, which[1], f"{which[0]}s")
    if isinstance(which, str):
        return buffer_of(edit, block, block.accesses, which, "uses")
    return buffer_of(edit, block, block.writes, which, "writes")


def own_buffer(edit: Edit, block: Block, index: int | str) -> Buffer:
    """Return the n-th buffer that a block writes, which must not be a parameter."""
    buffer = buffer_of(edit, block, block.writes, index, "writes")
    check_own(edit, buffer)
    return buffer


def check_own(edit: Edit, buffer: Buffer) -> None:
    """Refuse a buffer that is a parameter."""
    if buffer.is_given:
        edit.refuse(f"'{buffer.name}' is a parameter in the caller's memory: use cache_write")


def make_copy_block(edit: Edit, name: str, source: Buffer, target: Buffer, shape: Sequence[Size] | None = None) -> Node:
    """Return a block, in its loops, that copies a buffer. `shape` limits the copied part."""
    iters = iters_over(source.shape if shape is None else shape)
    point = tuple(map(iter_variable, iters))
    return wrap_in_new_loops(edit, copy_of(name, iters, Access(source, point), Access(target, point)))


def copy_of(name: str, iters: Sequence[Iter], source: Access, target: Access) -> Block:
    """Return a block without loops that copies one element at each point of its iters."""
    return Block(name, tuple(iters), (), (source,), (target,), (Element(0),))


def filling(edit: Edit, name: str, buffer: Buffer, value: Expr) -> Node:
    """Return a block, in its loops, that fills a buffer with a value."""
    iters = iters_over(buffer.shape)
    return wrap_in_new_loops(
        edit, Block(name, iters, (), (), (Access(buffer, tuple(map(iter_variable, iters))),), (value,))
    )


def shape_of(edit: Edit, indices: Sequence[Size], extents: Mapping[str, Size]) -> tuple[Size, ...]:
    """Return the extents of indices over variables with these extents."""
    shape = []
    for index in indices:
        if (reached := range_of(index, extents)) is None or reached.start != 0:
            edit.refuse(f"the extent of {index} is unknown, or it does not begin at 0")
        shape.append(reached.extent)
    return tuple(shape)


def iters_over(shape: Sequence[Size]) -> tuple[Iter, ...]:
    return tuple(Iter(f"v{number}", SPATIAL, size) for number, size in enumerate(shape))
