# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive decompose_padding: splits a padding block into a fill and a copy of the interior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects.core.indices import is_never_negative
from relax_mlir.dialects.core.symbols_expr import Size, extremum, variables_of
from relax_mlir.passes.kernels.loops.body_scalars import Element, Expr, Load
from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.index_exprs import choice_of, limits_of, places_of_load
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.ranges import Range, factor_of, substitute_zero
from relax_mlir.passes.kernels.loops.tree import SERIAL, Access, Block, Loop, blocks_in, variable
from relax_mlir.passes.kernels.primitives.code_motion import order_of
from relax_mlir.passes.kernels.primitives.compute_inline import merge_reads
from relax_mlir.passes.kernels.primitives.decompose_reduction import loops_at, make_init_block
from relax_mlir.schedules import register_primitive


@register_primitive
def decompose_padding(edit: Edit, block: BlockRV, loop: LoopRV) -> BlockRV:
    """Split a block that chooses between an element inside and a constant outside. Return the block that fills.

    The new block fills the whole buffer with the constant before a loop. The old block copies the interior only.
    """
    found, before = edit.block(block), edit.loop(loop)
    inside, value, ranges = _padding(edit, found)
    _, inner = loops_at(edit, found, before)
    _check_alone(edit, found, before)
    name = edit.new_name(f"{found.name}_pad_const")
    node = make_init_block(edit, found, [value], name, inner)
    copy, shorter = _bound_anew(_make_interior_block(found, inside, ranges), found, ranges, inner)
    edit.replace(found.name, [copy])
    for each in shorter:
        edit.replace(each.name, [replace(each, body=edit.tree.loop(each.name).body)])
    edit.replace(before.name, [node, edit.tree.loop(before.name)])
    return edit.handle(edit.tree.block(name))


def _padding(edit: Edit, block: Block) -> tuple[Expr, Expr, dict[str, Range]]:
    """Return the expression of the interior, the constant outside, and the ranges of the iters in the interior."""
    choice = choice_of(block.results[0]) if len(block.results) == 1 else None
    if choice is None or block.is_reduction:
        edit.refuse(f"'{block.name}' does not choose between an element and a value, as T.if_then_else does")
    condition, inside, value = choice
    if any(isinstance(part, (Element, Load)) for part in value.walk()):
        edit.refuse(f"'{block.name}' also reads memory outside of the interior: expected a constant")
    if (limits := limits_of(condition)) is None:
        edit.refuse(f"the condition of '{block.name}' is no limit of its iters only")
    low: dict[str, list[Size]] = {iter_.name: [0] for iter_ in block.iters}
    high: dict[str, list[Size]] = {iter_.name: [iter_.extent] for iter_ in block.iters}
    for limit in limits:
        names = variables_of(limit) & low.keys()
        name = next(iter(names), "")
        factor = factor_of(limit, name) if len(names) == 1 else None
        if factor == 1:
            low[name].append(-substitute_zero(limit, name))
        elif factor == -1:
            high[name].append(substitute_zero(limit, name) + 1)
        elif not is_never_negative(limit):
            edit.refuse(f"'{block.name}' is inside where {limit} is not negative, which is no limit of one iter")
    starts = {name: extremum("max", sizes) for name, sizes in low.items()}
    ranges = {name: Range(starts[name], extremum("min", sizes) - starts[name]) for name, sizes in high.items()}
    empty = next(
        (name for name, range_ in ranges.items() if isinstance(range_.extent, int) and range_.extent < 1), None
    )
    if empty is not None:
        edit.refuse(f"no point of '{empty}' is inside: '{block.name}' only writes the constant")
    return inside, value, ranges


def _check_alone(edit: Edit, found: Block, before: Loop) -> None:
    """Check that nothing else writes the buffer, and that no block uses it between the fill and the copy."""
    buffer, order = found.writes[0].buffer, order_of(edit)
    others = [writer.name for writer in edit.tree.writers(buffer) if writer is not found]
    if others or found.reads_of(buffer):
        edit.refuse(f"'{(others or [found.name])[0]}' depends on previous values of '{buffer.name}'")
    early = [
        block for block in blocks_in([before]) if buffer in block.buffers and order[block.name] < order[found.name]
    ]
    if early:
        edit.refuse(f"'{early[0].name}' uses '{buffer.name}' in '{before.name}' before '{found.name}'")


def _make_interior_block(block: Block, inside: Expr, ranges: dict[str, Range]) -> Block:
    """Return the block over the interior only. Reads at arithmetic of its iters need no condition any more."""
    values = {iter_.name: variable(iter_.name, ranges[iter_.name].extent) + ranges[iter_.name].start
              for iter_ in block.iters}  # fmt: skip
    copy = block.at(values)
    reads = list(copy.reads)

    def change(part: Expr) -> Expr | None:
        places = places_of_load(part) if isinstance(part, Load) else [None]
        known = [place for place in places if place is not None]
        if not isinstance(part, Load) or len(known) < len(places):
            return None
        reads.append(Access(part.buffer, tuple(known)))
        return Element(len(reads) - 1)

    result = inside.at(values).rewritten(change)
    iters = tuple(replace(iter_, extent=ranges[iter_.name].extent) for iter_ in block.iters)
    return merge_reads(replace(copy, iters=iters, reads=tuple(reads), results=(result,)))


def _bound_anew(copy: Block, block: Block, ranges: dict[str, Range], inner: Sequence[Loop]) -> tuple[Block, list[Loop]]:
    """Return the block with bindings by the loops around, and shortened loops.

    A loop that is just an iter gets the extent of its range.
    """
    used = [*block.bindings, *(index for index, _ in block.where)]

    def is_alone(loop: Loop) -> bool:
        return blocks_in([loop]) == [block] and sum(loop.name in variables_of(index) for index in used) == 1

    bindings: list[Size] = []
    shorter: list[Loop] = []
    for iter_, at in zip(block.iters, block.bindings, strict=True):
        reached = ranges[iter_.name]
        own = next((loop for loop in inner if str(at) == loop.name and loop.extent == iter_.extent), None)
        if own is None or own.kind != SERIAL or not is_alone(own):
            bindings.append(at - reached.start)
        else:
            bindings.append(variable(own.name, reached.extent))
            shorter.append(replace(own, extent=reached.extent))
    return replace(copy, bindings=tuple(bindings)), shorter
