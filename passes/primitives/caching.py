# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging buffers of cache_read and cache_write, and the blocks that copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...dialects.core.symbols_expr import Size
from ..loops.body_scalars import Element, Expr
from ..loops.memories import COMMON, all_memories, find_memory
from ..loops.primitives import Edit
from ..loops.ranges import range_of
from ..loops.tree import SPATIAL, Access, Block, Buffer, Iter, Node, iter_variable
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


def buffer_of(edit: Edit, block: Block, accesses: Sequence[Access], index: int | str, what: str) -> Buffer:
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
