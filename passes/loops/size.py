# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code size of a tree: unrolled loops, and lanes that run one by one, are emitted again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.core.symbols_expr import Size
from .body_scalars import Compute, Expr
from .lanes import LaneLoop, fits_lanes, goes_along, is_row_of, moves_of
from .primitives import Edit
from .tree import UNROLLED, VECTORIZED, Block, Node, Tree

#: Operations that a function may come to; more take LLVM minutes.
MOST_OPERATIONS = 1 << 14
#: Those that a function like exp becomes, and what a loop costs.
_OF_FUNCTION, _OF_LOOP = 128, 16


def check_size(edit: Edit, before: Tree, most: int) -> None:
    """Refuses a step that makes the code longer than that."""
    size = code_size(edit.tree)
    if size > most and size > code_size(before):
        edit.refuse(f"it comes to {size} operations of code, {most} at most: choose shorter loops, or fewer")


def code_size(tree: Tree) -> int:
    return _of_nodes(tree.body, None, tree.extents())


def _of_nodes(nodes: Sequence[Node], lanes: LaneLoop | None, extents: Mapping[str, Size]) -> int:
    total = 0
    for node in nodes:
        if isinstance(node, Block):
            total += _of_block(node, lanes, extents)
        elif node.kind == VECTORIZED and isinstance(node.extent, int):
            total += _of_nodes(node.body, LaneLoop(node.name, node.extent), extents)
        else:
            inner = _of_nodes(node.body, lanes, extents)
            is_unrolled = node.kind == UNROLLED and isinstance(node.extent, int)
            total += inner * int(node.extent) if is_unrolled else inner + _OF_LOOP  # type: ignore[arg-type]
    return total


def _of_block(block: Block, lanes: LaneLoop | None, extents: Mapping[str, Size]) -> int:
    computed = sum(map(_of_expr, (*block.results, *(block.inits or ()))))
    if lanes is None or not goes_along(block, lanes):
        return computed + len(block.accesses)
    if not fits_lanes(block, lanes, extents):
        return lanes.count * (computed + len(block.accesses))
    moves = [moves_of(block.placed(access), lanes) for access in block.accesses]
    return computed + sum(1 if is_row_of(each) or not any(each) else lanes.count for each in moves)


def _of_expr(expr: Expr) -> int:
    names = (part.name for part in expr.walk() if isinstance(part, Compute) and part.name != "arith.constant")
    return sum(1 if name.startswith("arith.") else _OF_FUNCTION for name in names)
