# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive blockize: a loop and all in it as one block."""

from __future__ import annotations

from collections.abc import Sequence

from ..loops.handles import BlockRV, LoopRV
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import AROUND, Loop, Node, blocks_in


@register_primitive
def blockize(edit: Edit, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
    """Makes a block of a loop and all in it, or of several blocks and their loops, one behind the other."""
    del preserve_unit_iters
    nodes = [edit.loop(target)] if isinstance(target, LoopRV) else _nests_of(edit, target)
    names = [block.name for block in blocks_in(nodes)]
    name = edit.new_name(f"{names[0]}_o" if len(names) == 1 else f"outer_{'_'.join(names)}_")
    outer = Loop(name, 1, tuple(nodes), AROUND)
    for each in nodes[1:]:
        edit.replace(each.name, [])
    edit.replace(nodes[0].name, [outer])
    return edit.handle(outer)


def _nests_of(edit: Edit, blocks: Sequence[BlockRV]) -> list[Node]:
    """What stands, directly in the innermost loop around all blocks, around each of them."""
    found = [edit.node(each) for each in blocks]
    if not found:
        edit.refuse("expected a loop, or blocks")
    paths = [[*edit.tree.around(each.name), each] for each in found]
    depth = next(
        (number for number, level in enumerate(zip(*paths, strict=False)) if len({each.name for each in level}) > 1),
        len(paths[0]) - 1,
    )
    nodes = list(dict.fromkeys(path[depth].name for path in paths))
    siblings = paths[0][depth - 1].body if depth else edit.tree.body  # type: ignore[union-attr]  # a loop is around
    names = [each.name for each in siblings]
    first = min(map(names.index, nodes))
    if sorted(nodes) != sorted(names[first : first + len(nodes)]):
        others = ", ".join(f"'{name}'" for name in nodes)
        edit.refuse(f"{others} do not stand one behind the other")
    return list(siblings[first : first + len(nodes)])
