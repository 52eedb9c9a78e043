# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive reverse_compute_inline: fusion of a consumer into its producer, as an epilogue."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir.dialects.core.indices import is_below, is_never_negative
from relax_mlir.dialects.core.symbols_expr import Size, substituted, variables_of
from relax_mlir.passes.kernels.loops.body_scalars import Element, Expr
from relax_mlir.passes.kernels.loops.boxes import Limits
from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.tree import Block, iter_variable
from relax_mlir.passes.kernels.primitives.code_motion import check_passes, plain_iter
from relax_mlir.passes.kernels.primitives.compute_inline import check_inlinable, check_once, merge_reads
from relax_mlir.schedules import register_primitive

from .inverse_points import inverse_points


@register_primitive
def reverse_compute_inline(edit: Edit, block: BlockRV) -> None:
    """Inline a block into the producer of its input as an epilogue, and remove the buffer between them."""
    found = edit.block(block)
    check_inlinable(edit, found)
    made = [(access, writers) for access in found.reads if (writers := edit.tree.writers(access.buffer))]
    buffers = list(dict.fromkeys(access.buffer for access, _ in made))
    if len(buffers) != 1 or len(made[0][1]) != 1:
        names = ", ".join(f"'{buffer.name}'" for buffer in buffers) or "nothing"
        edit.refuse(f"'{found.name}' reads {names} from other blocks: it must read one result of one block")
    buffer, (producer,) = buffers[0], made[0][1]
    if buffer.is_given:
        edit.refuse(f"'{buffer.name}' is a parameter, which must be written")
    if others := [reader.name for reader in edit.tree.readers(buffer) if reader is not found]:
        edit.refuse(f"'{others[0]}' reads '{buffer.name}', too")
    if producer.is_reduction:
        edit.refuse(f"'{producer.name}' is a reduction, which is not complete at each step: use reverse_compute_at")
    check_once(edit, producer)
    values = _inverse(found, producer) or points_of(edit, found, producer)
    blocks = edit.tree.blocks()
    check_passes(edit, found, blocks[blocks.index(producer) : blocks.index(found)], between=[buffer])
    where = _limits_around(edit, found, producer)
    edit.replace(found.name, [])
    edit.replace(producer.name, [_join(found, producer, values, where)])
    edit.tree = edit.tree.without_unused()


def _inverse(block: Block, producer: Block) -> dict[str, Size] | None:
    """Return the block's iters in terms of the producer's, if the block reads one element per point, at any index.

    Return None otherwise.
    """
    target = producer.writes[0]
    places = {access.indices for access in block.reads if access.buffer is target.buffer}
    if len(places) != 1:
        return None
    return inverse_points(block.iters, list(zip(next(iter(places)), target.indices, strict=True)), producer.iters)


def points_of(edit: Edit, block: Block, producer: Block) -> dict[str, Size]:
    """Return the block's iters in terms of the producer's.

    Each point must read the element of one point of the producer.
    """
    target, values = producer.writes[0], dict[str, Size]()
    for access in block.reads:
        if access.buffer is not target.buffer:
            continue
        for at, place in zip(access.indices, target.indices, strict=True):
            own, other = plain_iter(block, at), plain_iter(producer, place)
            if own is None and other is None:
                continue
            if own is None or other is None or str(own.extent) != str(other.extent):
                where = f"reads '{target.buffer.name}' at {at}"
                edit.refuse(f"'{block.name}' {where}: each of its points must match one point of '{producer.name}'")
            if values.setdefault(own.name, iter_variable(other)) != iter_variable(other):
                edit.refuse(f"'{block.name}' reads several elements of '{target.buffer.name}'")
    if missing := [iter_.name for iter_ in block.iters if iter_.name not in values]:
        edit.refuse(f"'{block.name}' has a loop for '{missing[0]}', which '{producer.name}' lacks")
    return values


def _limits_around(edit: Edit, block: Block, producer: Block) -> Limits:
    """Return the conditions on outer loops under which the block has points.

    In other steps, the producer may write nothing.
    """
    bounds = {(index, iter_.extent) for iter_, index in zip(block.iters, block.bindings, strict=True)}
    around = {loop.name for loop in edit.tree.around(producer.name)}
    limits = [limit for limit in block.where if limit not in bounds]
    own = next((limit for limit in limits if not around.issuperset(variables_of(limit[0]))), None)
    if own is not None:
        edit.refuse(f"'{block.name}' has points only where {own[0]} < {own[1]}: '{producer.name}' has no such loops")
    return limits


def _join(block: Block, producer: Block, values: dict[str, Size], around: Limits) -> Block:
    target = producer.writes[0].buffer
    reads = list(producer.reads)
    numbers: dict[int, int] = {}
    for number, access in enumerate(block.reads):
        if access.buffer is not target:
            numbers[number] = len(reads)
            reads.append(access.at(values))

    def change(part: Expr) -> Expr | None:
        if not isinstance(part, Element):
            return None
        return Element(numbers[part.number]) if part.number in numbers else producer.results[0]

    result = block.results[0].at(values).rewritten(change)
    writes = (block.writes[0].at(values),)
    # The block may have no point for some points of the producer.
    point, extents = producer.point(), {iter_.name: iter_.extent for iter_ in producer.iters}
    ends = [(values[iter_.name], iter_.extent) for iter_ in block.iters]
    limits = [(at, size) for at, size in ends if not is_below(at, size, extents)]
    limits += [(-at, 1) for at, _ in ends if not is_never_negative(at)]
    where = (*producer.where, *around, *((substituted(at, point), limit) for at, limit in limits))
    return merge_reads(replace(producer, reads=tuple(reads), writes=writes, results=(result,), where=where))
