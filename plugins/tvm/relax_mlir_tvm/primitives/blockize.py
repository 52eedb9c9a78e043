# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive blockize: turns a loop nest into one block."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import AROUND, Loop, Node, blocks_in
from relax_mlir.schedules import register_primitive


@register_primitive
def blockize(edit: Edit, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
    """Turn a loop with its body, or adjacent blocks with their loops, into one block."""
    if not preserve_unit_iters:
        edit.refuse("loops of one step stay, so leave preserve_unit_iters=False out")
    nodes = [edit.loop(target)] if isinstance(target, LoopRV) else _nests_of(edit, target)
    names = [block.name for block in blocks_in(nodes)]
    name = edit.new_name(f"{names[0]}_o" if len(names) == 1 else f"outer_{'_'.join(names)}_")
    outer = Loop(name, 1, tuple(nodes), AROUND)
    for node in nodes[1:]:
        edit.replace(node.name, [])
    edit.replace(nodes[0].name, [outer])
    return edit.handle(outer)


def _nests_of(edit: Edit, blocks: Sequence[BlockRV]) -> list[Node]:
    """Return the nodes around the blocks, directly inside of the innermost loop around all of them."""
    if not (found := [edit.node(block) for block in blocks]):
        edit.refuse("expected a loop, or blocks")
    paths = [[*edit.tree.around(each.name), each] for each in found]
    depth = next(
        (number for number, level in enumerate(zip(*paths, strict=False)) if len({each.name for each in level}) > 1),
        len(paths[0]) - 1,
    )
    nodes = list(dict.fromkeys(path[depth].name for path in paths))
    siblings = paths[0][depth - 1].body if depth else edit.tree.body  # type: ignore[union-attr]  # a loop is around
    names = [sibling.name for sibling in siblings]
    first = min(map(names.index, nodes))
    if sorted(nodes) != sorted(names[first : first + len(nodes)]):
        others = ", ".join(f"'{name}'" for name in nodes)
        edit.refuse(f"{others} are not adjacent")
    return list(siblings[first : first + len(nodes)])
