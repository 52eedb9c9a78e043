# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Staging buffers of cache_read and cache_write, and the blocks that copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...dialects.core.symbols_expr import Size
from ..loops.body_scalars import Element
from ..loops.memories import COMMON, all_memories, find_memory
from ..loops.primitives import Edit
from ..loops.tree import SPATIAL, Access, Block, Buffer, Iter, Loop, Node, iter_variable, variable


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
