# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging buffers of cache_read and cache_write, and the blocks that copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...dialects.core.symbols_expr import Size
from ..loops.body_scalars import Element, Expr, Load
from ..loops.handles import BlockRV
from ..loops.memories import COMMON, all_memories, find_memory
from ..loops.primitives import Edit
from ..loops.ranges import range_of
from ..loops.tree import SPATIAL, Access, Block, Buffer, Iter, Loop, Node, blocks_in, iter_variable
from .code_motion import in_new_loops


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
    return Buffer(name, buffer.shape, buffer.element, scope)


def staged_block(edit: Edit, handle: BlockRV, index: int | str, what: str) -> tuple[Block, Buffer]:
    """A block, and the n-th of the buffers that it reads or writes; of a block around others the one of these that does
    so first, of the buffers that are not its own."""
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
    """What a block reads, as it stands in what it computes where some of it is read at places that are computed."""
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


def level_of(edit: Edit, block: Block, others: Sequence[Block]) -> tuple[Loop | None, int]:
    """The outermost loop in which a block stands apart from others, None outside of all, and its place there."""
    path = edit.tree.around(block.name)
    for number in range(len(path) + 1):
        siblings = path[number - 1].body if number else edit.tree.body
        node = next(each for each in siblings if block in blocks_in([each]))
        if not any(other in blocks_in([node]) for other in others):
            return (path[number - 1] if number else None), siblings.index(node)
    raise AssertionError("a block stands apart from others in the innermost loop around it")


def buffer_at(edit: Edit, block: Block, which: Any) -> Buffer:
    """A buffer as transform_layout is given one: ("read", n), ("write", n), n of what is written, or a name."""
    if isinstance(which, (tuple, list)) and len(which) == 2 and which[0] in ("read", "write"):
        accesses = block.reads if which[0] == "read" else block.writes
        return buffer_of(edit, block, accesses, which[1], f"{which[0]}s")
    if isinstance(which, str):
        return buffer_of(edit, block, block.accesses, which, "uses")
    return buffer_of(edit, block, block.writes, which, "writes")


def own_buffer(edit: Edit, block: Block, index: int | str) -> Buffer:
    """The n-th buffer that a block writes, which is the function's own."""
    found = buffer_of(edit, block, block.writes, index, "writes")
    check_own(edit, found)
    return found


def check_own(edit: Edit, buffer: Buffer) -> None:
    if buffer.is_given:
        edit.refuse(f"'{buffer.name}' is a parameter, whose memory is the caller's: use cache_write")


def copying(edit: Edit, name: str, source: Buffer, target: Buffer, shape: Sequence[Size] | None = None) -> Node:
    """A block that copies a buffer, all of it or as far as a shape goes, and its loops."""
    iters = iters_over(source.shape if shape is None else shape)
    point = tuple(map(iter_variable, iters))
    return in_new_loops(edit, copy_of(name, iters, Access(source, point), Access(target, point)))


def copy_of(name: str, iters: Sequence[Iter], source: Access, target: Access) -> Block:
    """A block that copies one element at each point of its iters; it has no loops yet."""
    return Block(name, tuple(iters), (), (source,), (target,), (Element(0),))


def filling(edit: Edit, name: str, buffer: Buffer, value: Expr) -> Node:
    """A block that gives all elements of a buffer one value, and its loops."""
    iters = iters_over(buffer.shape)
    return in_new_loops(edit, Block(name, iters, (), (), (Access(buffer, tuple(map(iter_variable, iters))),), (value,)))


def shape_of(edit: Edit, indices: Sequence[Size], extents: Mapping[str, Size]) -> tuple[Size, ...]:
    """How far indices of variables with these extents go."""
    shape = []
    for index in indices:
        reached = range_of(index, extents)
        if reached is None or reached.start != 0:
            edit.refuse(f"how far {index} goes is not known, or it does not begin at 0")
        shape.append(reached.extent)
    return tuple(shape)


def iters_over(shape: Sequence[Size]) -> tuple[Iter, ...]:
    return tuple(Iter(f"v{number}", SPATIAL, size) for number, size in enumerate(shape))
