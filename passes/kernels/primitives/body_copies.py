# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of a loop's body: new names, and inits only where a reduction begins."""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace
from ..loops.primitives import Edit
from ..loops.ranges import range_of
from ..loops.tree import REDUCE, Block, Loop, Node, loops_in, rebind, variable


def drop_unreached_init(edit: Edit, part: Loop, block: Block) -> Block:
    """Return the block without an init if no step of the part is the first one of a reduction."""
    if block.inits is None:
        return block
    inner = {loop.name: loop.extent for loop in (*edit.tree.loops(), part, *loops_in(part.body))}
    bindings = [binding for iter_, binding in zip(block.iters, block.bindings, strict=True) if iter_.kind == REDUCE]
    starts = [reached.start for binding in bindings if (reached := range_of(binding, inner)) is not None]
    return replace(block, inits=None) if any(isinstance(start, int) and start > 0 for start in starts) else block


def rename_nodes(nodes: tuple[Node, ...], names: Mapping[str, str]) -> tuple[Node, ...]:
    """Return the nodes with new names of all loops and blocks. Without names, return the nodes as they are."""
    if not names:
        return nodes
    inner = loops_in(nodes)
    values: dict[str, Size] = {loop.name: variable(names[loop.name], loop.extent) for loop in inner}

    def renamed(node: Node) -> Node:
        if isinstance(node, Block):
            return replace(node, name=names[node.name])
        return replace(node, name=names[node.name], body=tuple(map(renamed, node.body)))

    return tuple(map(renamed, rebind(nodes, values)))
