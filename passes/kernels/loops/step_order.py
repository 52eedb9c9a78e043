# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of a block's reduction steps, compared with the stated order: another order rounds sums differently."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ....bindings.mlir import ir
from ....dialects.core.symbols_expr import Size, substituted, terms_of
from .body_scalars import Compute, Expr
from .tree import PIPELINED, REDUCE, SERIAL, UNROLLED, Block, Loop, Tree, loops_of, written_by
from .tree_buffers import Buffer

_IN_ORDER = (SERIAL, UNROLLED, PIPELINED)
#: Sums and products, which round.
_ROUNDING = ("arith.addf", "arith.mulf")
#: Extent assumed for a dynamic size.
_ORDINARY = 6
#: Steps that are compared one by one. More of them, with quotients or remainders, count as another order.
_MOST_STEPS = 1 << 14
#: Kind of symbols for loops.
_VARIABLE = "variable"


def changed_order(tree: Tree, before: Tree) -> str:
    """Return the reason why a block's reduction rounds in another order than is stated for it, or "".

    `before` is the tree before its schedule.
    """
    rounding = [block for block in tree.blocks() if block.is_reduction and any(map(_rounds, block.results))]
    if (factored := _factored(rounding, tree, before)) is not None:
        return f"rfactor keeps partial results in '{factored.name}', which are added at the end"
    for block in rounding:
        if block.sum_order is not None and block.sum_order.lanes:
            return (
                f"'{block.name}' has the order {block.sum_order.lanes}, and a schedule adds in the order of its loops"
            )
        if set(_ordered_iters(block)) != {iter_.name for iter_ in block.iters if iter_.kind == REDUCE}:
            return f"a step has replaced the iters of '{block.name}', whose order is stated"
        loops = [loop for loop in tree.around(block.name) if loop.name in loops_of(block, REDUCE)]
        others = loops_of(block) - loops_of(block, REDUCE)
        if (other := next((loop for loop in loops if loop.kind not in _IN_ORDER), None)) is not None:
            return f"steps of '{block.name}' along '{other.name}' ({other.kind}) are added by lanes or threads"
        if not _is_increasing(block, loops, dict.fromkeys(others, 0)):
            return f"steps of '{block.name}' run in another order than its reduction, along {_names(loops)}"
    return ""


def _factored(rounding: Sequence[Block], tree: Tree, before: Tree) -> Buffer | None:
    """Return a new buffer of sums that a reduction adds, or None. A new block computes these sums.

    Without the schedule, both blocks are one.
    """
    known = {buffer.name for buffer in before.buffers}
    new = [block for block in tree.blocks() if block.name not in before.names]
    # A factor of all steps leaves single products, which are rounded as well.
    partial = _unknown((block for block in new if any(map(_rounds, block.results))), known)
    for block in new:
        # Copies to other memories.
        if not block.is_reduction and not partial.isdisjoint(block.buffers):
            partial |= _unknown([block], known)
    read = [access.buffer for block in rounding for access in block.reads]
    return next((buffer for buffer in read if buffer in partial), None)


def _unknown(blocks: Iterable[Block], known: Container[str]) -> set[Buffer]:
    return {buffer for buffer in written_by(blocks) if buffer.name not in known}


def _rounds(expr: Expr) -> bool:
    parts = [part for part in expr.walk() if isinstance(part, Compute) and part.name in _ROUNDING]
    return any(isinstance(part.type, ir.FloatType) for part in parts)


def _names(loops: Sequence[Loop]) -> str:
    return ", ".join(f"'{loop.name}'" for loop in loops)


def _is_increasing(block: Block, loops: Sequence[Loop], others: Mapping[str, Size]) -> bool:
    """Check that each step of the loops adds a later step of the reduction."""
    names = [loop.name for loop in loops]
    extents = [loop.extent if isinstance(loop.extent, int) else _ORDINARY for loop in loops]
    is_linear = all(_is_linear(block.point()[name]) for name in _ordered_iters(block))
    if not is_linear and math.prod(extents) > _MOST_STEPS:
        return False
    pairs = _turns(extents) if is_linear else itertools.pairwise(itertools.product(*map(range, extents)))
    positions = lambda at: _position(block, {**others, **dict(zip(names, at, strict=True))})  # noqa: E731
    return all(positions(before) < positions(after) for before, after in pairs)


def _turns(extents: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield pairs of steps where a loop advances: the inner loops end before, and begin after.

    Sums of multiples of loops increase everywhere if they increase there.
    """
    for level, extent in enumerate(extents):
        for outer in itertools.product(*(sorted({0, number - 1}) for number in extents[:level])):
            for at in sorted({0, max(extent - 2, 0)} if extent > 1 else ()):
                inner = extents[level + 1 :]
                yield (*outer, at, *(number - 1 for number in inner)), (*outer, at + 1, *(0 for _ in inner))


def _is_linear(size: Size) -> bool:
    """Check whether a size is a sum of multiples of variables."""
    return all(len(atoms) <= 1 and all(atom.kind == _VARIABLE for atom in atoms) for atoms in terms_of(size))


def _position(block: Block, known: Mapping[str, Size]) -> tuple[int, ...]:
    """Return the values of the reduction's iters in their order. An unknown one counts as 0."""
    values = (substituted(block.point()[name], known) for name in _ordered_iters(block))
    return tuple(value if isinstance(value, int) else 0 for value in values)


def _ordered_iters(block: Block) -> tuple[str, ...]:
    """Return the names of the reduction's iters in the order that is stated, or in that of the block."""
    if block.sum_order is not None:
        return block.sum_order.iters
    return tuple(iter_.name for iter_ in block.iters if iter_.kind == REDUCE)
