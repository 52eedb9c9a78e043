# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive cache_index: precomputes the indices of a block's reads into buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from relax_mlir import ir
from relax_mlir.dialects.core.indices import is_below
from relax_mlir.dialects.core.symbols_expr import Size, variables_of
from relax_mlir.passes.kernels.loops.body_scalars import Compute, Element, Expr, IterIndex, Load
from relax_mlir.passes.kernels.loops.handles import BlockRV
from relax_mlir.passes.kernels.loops.lanes import may_trap
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.loops.show import Shown
from relax_mlir.passes.kernels.loops.tree import SPATIAL, Access, Block, Iter, iter_variable
from relax_mlir.passes.kernels.loops.tree_buffers import Buffer
from relax_mlir.passes.kernels.primitives.caching import check_scope
from relax_mlir.passes.kernels.primitives.code_motion import plain_iter, wrap_in_new_loops
from relax_mlir.passes.kernels.primitives.compute_inline import merge_reads
from relax_mlir.schedules import register_primitive


@register_primitive
def cache_index(edit: Edit, block: BlockRV, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
    """Compute indices of a block's reads before the block, into buffers of integers.

    Return the blocks that compute them.
    Only indices that are more than one iter and occur more than `cse_thresh` times are computed. The list is empty if
    there are none.
    """
    found = edit.block(block)
    check_scope(edit, storage_scope)
    listed = [index for access in found.reads for index in access.indices if not _is_plain(found, index)]
    computed = [index for load in found.loads for index in load.indices if _is_arithmetic(index)]
    texts = [str(index) for index in listed] + [_text(found, index) for index in computed]
    counts = Counter(texts)
    exprs = dict(zip(texts, [*map(IterIndex, listed), *computed], strict=True))
    chosen = {text: expr for text, expr in exprs.items() if counts[text] > cse_thresh}
    place, made, cached = edit.tree.nest_of(found), list[BlockRV](), dict[str, Access]()
    for number, (text, expr) in enumerate(chosen.items()):
        maker = _maker(edit, found, expr, number, storage_scope)
        cached[text] = maker.writes[0]
        edit.insert(place + number, wrap_in_new_loops(edit, maker))
        edit.tree = edit.tree.with_buffer(maker.writes[0].buffer)
        made.append(edit.handle(edit.tree.block(maker.name)))
    edit.replace(found.name, [_reading(found, cached)])
    return made


def _is_plain(block: Block, index: Size) -> bool:
    return plain_iter(block, index) is not None or not {iter_.name for iter_ in block.iters} & variables_of(index)


def _is_arithmetic(index: Expr) -> bool:
    """Return True if an index is computed, from iters only."""
    is_of_iters = not any(isinstance(part, (Element, Load)) for part in index.walk())
    return isinstance(index, Compute) and is_of_iters and not may_trap(index)


def _text(block: Block, index: Expr) -> str:
    shown = Shown(block, [index])
    return "; ".join([*shown.lines, shown.text(index)])


def _maker(edit: Edit, block: Block, expr: Expr, number: int, scope: str) -> Block:
    """Return the block that computes an index for all points of the iters that the index depends on."""
    used = expr.iters()
    iters = tuple(Iter(iter_.name, SPATIAL, iter_.extent) for iter_ in block.iters if iter_.name in used)
    is_small = isinstance(expr, IterIndex) and is_below(
        expr.value, 1 << 31, {iter_.name: iter_.extent for iter_ in iters}
    )
    element = ir.IntegerType.get_signless(32 if is_small else 64)
    shape = tuple(iter_.extent for iter_ in iters)
    buffer = Buffer(edit.tree.new_buffer_name(f"index_var_{number}"), shape, element, scope)
    point = tuple(map(iter_variable, iters))
    name = edit.new_name(f"index_{number}")
    value = Compute("arith.index_cast", (expr,), (), element)
    return Block(name, iters, (), (), (Access(buffer, point),), (value,))


def _reading(block: Block, cached: dict[str, Access]) -> Block:
    """Return the block with cached indices replaced by reads."""
    reads = [*block.reads, *cached.values()]
    numbers = {len(block.reads) + number: len(reads) + number for number in range(len(block.writes))}

    def looked_up(text: str, index: Expr) -> Expr:
        if text not in cached:
            return index
        return Compute("arith.index_cast", (Element(reads.index(cached[text])),), (), ir.IndexType.get())

    def load(access: Access) -> Load:
        return Load(access.buffer, tuple(looked_up(str(index), IterIndex(index)) for index in access.indices))

    def change(part: Expr) -> Expr | None:
        if isinstance(part, Element) and part.number >= len(block.reads):
            return Element(numbers[part.number])
        if isinstance(part, Element):
            access = block.reads[part.number]
            return load(access) if any(str(index) in cached for index in access.indices) else None
        if isinstance(part, Load):
            return replace(part, indices=others(part.indices))
        return None

    def others(indices: Sequence[Expr]) -> tuple[Expr, ...]:
        texts = [_text(block, index) if _is_arithmetic(index) else "" for index in indices]
        return tuple(
            looked_up(text, index) if text else index.rewritten(change)
            for text, index in zip(texts, indices, strict=True)
        )

    return merge_reads(replace(block, reads=tuple(reads)).with_exprs(lambda expr: expr.rewritten(change)))
