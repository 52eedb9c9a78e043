# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code size of a tree. Unrolled loops, and lanes that run one by one, repeat their code."""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects.core.symbols_expr import Size
from .body_scalars import Compute, Expr
from .lanes import LaneLoop, fits_lanes, goes_along, is_row_of, moves_of
from .primitives import Edit
from .tree import UNROLLED, VECTORIZED, Block, Node, Tree

#: Maximum number of operations of a function. LLVM takes minutes for more.
MOST_OPERATIONS = 1 << 14
#: Estimated operations of a function like exp, and of a loop.
_OF_FUNCTION, _OF_LOOP = 128, 16


#: Sizes of nodes and expressions, which are immutable.
Sizes = dict[Node | Expr, int]


def check_size(edit: Edit, before: Tree, most: int, known: Sizes) -> None:
    """Refuse a step that makes the code longer than `most` operations."""
    size = code_size(edit.tree, known)
    if size > most and size > code_size(before, known):
        edit.refuse(f"the code would have {size} operations, at most {most} are allowed: choose shorter or fewer loops")


def code_size(tree: Tree, known: Sizes | None = None) -> int:
    """Return the number of operations of a tree.

    `known` caches the sizes of nodes, for trees that share most of them.
    """
    extents, sizes = tree.extents(), Sizes() if known is None else known
    return sum(_of_node(node, None, extents, sizes) for node in tree.body)


def _of_node(node: Node, lanes: LaneLoop | None, extents: Mapping[str, Size], known: Sizes) -> int:
    if lanes is None and node in known:
        return known[node]
    if isinstance(node, Block):
        total = _of_block(node, lanes, extents, known)
    else:
        is_vector = node.kind == VECTORIZED and isinstance(node.extent, int)
        inner_lanes = LaneLoop(node.name, int(node.extent)) if is_vector else lanes  # type: ignore[arg-type]
        total = sum(_of_node(each, inner_lanes, extents, known) for each in node.body)
        if node.kind == UNROLLED and isinstance(node.extent, int):
            total *= node.extent
        elif not is_vector:
            total += _OF_LOOP
    if lanes is None:
        known[node] = total
    return total


def _of_block(block: Block, lanes: LaneLoop | None, extents: Mapping[str, Size], known: Sizes) -> int:
    computed = sum(_of_expr(expr, known) for expr in (*block.results, *(block.inits or ())))
    if lanes is None or not goes_along(block, lanes):
        return computed + len(block.accesses)
    if not fits_lanes(block, lanes, extents):
        return lanes.width * (computed + len(block.accesses))
    moves = [moves_of(access, lanes) for access in block.placed_accesses]
    return computed + sum(1 if is_row_of(move) or not any(move) else lanes.width for move in moves)


def _of_expr(expr: Expr, known: Sizes) -> int:
    if expr not in known:
        names = (part.name for part in expr.walk() if isinstance(part, Compute) and part.name != "arith.constant")
        known[expr] = sum(1 if name.startswith("arith.") else _OF_FUNCTION for name in names)
    return known[expr]
