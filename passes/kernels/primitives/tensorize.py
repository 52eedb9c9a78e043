# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive tensorize: maps a loop nest to an instruction or a micro-kernel."""

from __future__ import annotations

from ....dialects.core.symbols_expr import substituted
from ....support.replacing import replace
from ..loops.handles import BlockRV, LoopRV
from ..loops.intrins import INTRIN, TENSORIZED, Mismatch, find_intrin, operands_of
from ..loops.primitives import Edit, register_primitive
from ..loops.tree import AROUND, REDUCE, VECTORIZED, Block, Loop, blocks_in, loops_of, map_nodes
from .decompose_reduction import loops_at, make_init_block
from .legality import check_serial


@register_primitive
def tensorize(
    edit: Edit, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True
) -> None:
    """Compute a loop with its body by an intrinsic (register_tensor_intrin), if its description matches the loop.

    A reduction's init moves to a block before the loop.
    """
    if not preserve_unit_iters:
        edit.refuse("loops of one step stay, so leave preserve_unit_iters=False out")
    loop = _loop_of(edit, block_or_loop)
    check_serial(edit, [loop])
    loop = _started(edit, loop)
    lanes = next((each for each in edit.tree.around(loop.name) if each.kind == VECTORIZED), None)
    if lanes is not None:
        edit.refuse(f"'{lanes.name}' around '{loop.name}' is vectorized, but an intrinsic has no lanes")
    intrin = find_intrin(str(tensor_intrin))
    try:
        operands_of(edit.tree, loop, intrin)
    except Mismatch as mismatch:
        edit.refuse(f"'{tensor_intrin}' does not compute '{loop.name}': {mismatch}")
    notes = {**loop.annotations, INTRIN: tensor_intrin}
    edit.replace(loop.name, [replace(loop, kind=TENSORIZED, annotations=notes)])


def _loop_of(edit: Edit, handle: BlockRV | LoopRV) -> Loop:
    """Return a loop, or the loop in a block that blockize has created."""
    node: Block | Loop = edit.node(handle)
    while isinstance(node, Loop) and node.kind == AROUND:
        if len(node.body) != 1:
            edit.refuse(f"block '{node.name}' contains {len(node.body)} nodes: an intrinsic computes one block")
        node = node.body[0]
    if isinstance(node, Block):
        edit.refuse(f"block '{node.name}' computes one element: pass a loop, or a block from blockize")
    return node


def _started(edit: Edit, found: Loop) -> Loop:
    """Move the init of a loop's block to a block before the loop, and return the loop.

    The new block fills before the first run that adds to the same elements.
    """
    block, *others = blocks_in([found])
    if block.inits is None or others:
        return found
    _, inner = loops_at(edit, block, found)
    moving = loops_of(block)
    if any(loop.name not in moving and loop.extent != 1 for loop in inner):
        return found  # the reduction starts again at each step of such a loop
    node = make_init_block(edit, block, block.inits, edit.new_name(f"{block.name}_init"), inner)
    still = dict.fromkeys([loop.name for loop in inner], 0)
    steps = [at for iter_, at in zip(block.iters, block.bindings, strict=True) if iter_.kind == REDUCE]
    first = tuple((at, 1) for at in (substituted(step, still) for step in steps) if at != 0)
    (node,) = map_nodes([node], lambda each: replace(each, where=(*each.where, *first)))
    edit.replace(block.name, [replace(block, inits=None)])
    edit.replace(found.name, [node, edit.tree.loop(found.name)])
    return edit.tree.loop(found.name)
