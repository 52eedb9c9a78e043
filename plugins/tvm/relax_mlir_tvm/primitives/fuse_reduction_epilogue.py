# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive fuse_reduction_epilogue: turns a value that is added to a reduction's result into its init."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relax_mlir.dialects.core.symbols_expr import Size
from relax_mlir.passes.kernels.loops.body_scalars import Compute, Element, Expr
from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import Access, Block, blocks_in
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer
from relax_mlir.passes.kernels.primitives.code_motion import check_passes
from relax_mlir.passes.kernels.primitives.compute_inline import check_inlinable, merge_reads
from relax_mlir.passes.kernels.primitives.reducers import check_neutral, reducer_of
from relax_mlir.schedules import register_primitive

from .reverse_compute_inline import points_of


@register_primitive
def fuse_reduction_epilogue(edit: Edit, reduction_block: BlockRV, epilogue_block: BlockRV) -> None:
    """Start a reduction from the value that a block adds to its result, such as a bias, and remove the block.

    Floating-point sums are rounded differently than with the addend last.
    """
    reduction, epilogue = edit.block(reduction_block), edit.block(epilogue_block)
    if reduction.inits is None:
        edit.refuse(f"'{reduction.name}' has no init: fuse its epilogue before its reduction is decomposed")
    operator = reducer_of(edit, reduction).operation.name
    check_neutral(edit, reduction, reducer_of(edit, reduction))
    check_inlinable(edit, epilogue)
    buffer = reduction.writes[0].buffer
    addend = _addend(edit, epilogue, buffer, operator)
    users = [block for block in edit.tree.blocks() if buffer in block.buffers and block not in (reduction, epilogue)]
    if buffer.is_given or users:
        other = f"'{users[0].name}' uses" if users else "callers see"
        edit.refuse(f"{other} '{buffer.name}' without what '{epilogue.name}' adds")
    values = points_of(edit, epilogue, reduction)
    blocks = edit.tree.blocks()
    passed = blocks[blocks.index(reduction) : blocks.index(epilogue)]
    nest = blocks_in([edit.tree.body[edit.tree.nest_of(reduction)]])
    check_passes(edit, epilogue, [*passed, *nest], between=[buffer])
    edit.replace(epilogue.name, [])
    edit.replace(reduction.name, [_beginning_with(reduction, epilogue, addend, values)])
    edit.tree = edit.tree.without_unused()


def _addend(edit: Edit, epilogue: Block, buffer: Buffer, operator: str) -> Expr:
    """Return the value that the epilogue combines with the reduction's result, by the reduction's combiner."""
    places = {number for number, access in enumerate(epilogue.reads) if access.buffer is buffer}
    result = epilogue.results[0]
    operands = result.operands if isinstance(result, Compute) and result.name == operator else ()
    own = [operand for operand in operands if isinstance(operand, Element) and operand.number in places]
    others = [operand for operand in operands if operand not in own]
    if len(own) != 1 or len(others) != 1 or not places.isdisjoint(others[0].elements()):
        what = operator.partition(".")[2]
        edit.refuse(f"'{epilogue.name}' is no {what} of '{buffer.name}' and one value, like a step of the reduction")
    return others[0]


def _beginning_with(reduction: Block, epilogue: Block, addend: Expr, values: Mapping[str, Size]) -> Block:
    old = reduction.writes[0].buffer
    reads: list[Access] = list(reduction.reads)
    numbers: dict[int, int] = {}
    for number, access in enumerate(epilogue.reads):
        if access.buffer is not old:
            numbers[number] = len(reads)
            reads.append(access.at(values))
    written = {len(reduction.reads): len(reads)}
    steps = {number: number for number in range(len(reduction.reads))} | written
    block = replace(
        reduction,
        reads=tuple(reads),
        writes=(epilogue.writes[0].at(values),),
        results=(reduction.results[0].renumbered(steps),),
        inits=(addend.at(values).renumbered(numbers),),
    )
    return merge_reads(block)
