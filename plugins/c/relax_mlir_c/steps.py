# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedule steps for loops in C.

Sums are accumulated in variables. Sums of products form tiles in arrays that compilers keep in registers. Contiguous
loops are fused. The row and column loops of a tile have constant bounds: compilers unroll the former and vectorize the
latter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import symbol_name
from relax_mlir.dialects.core.symbols_expr import Size, variables_of
from relax_mlir.emit.memrefs import storage_bytes
from relax_mlir.passes.kernels.loops.body_scalars import Compute, Element
from relax_mlir.passes.kernels.loops.handles import BlockRV, LoopRV
from relax_mlir.passes.kernels.loops.ranges import factor_of
from relax_mlir.passes.kernels.loops.schedule import Schedule
from relax_mlir.passes.kernels.loops.tree import REDUCE, SPATIAL, Access, Block, Iter
from relax_mlir.passes.kernels.schedule.registry import ScheduleContext, register_steps
from relax_mlir.support.errors import RelaxError

#: Tile sizes. With fewer columns GCC unrolls the loop instead of vectorizing it.
_ROWS, _COLUMNS, _LEAST_COLUMNS = 8, 32, 17
#: Columns of a tile with one or two rows.
_COLUMNS_OF_FEW = 64
#: Bytes of an element. Tiles of larger elements have half as many rows.
_USUAL_BYTES = 4
#: Shorter sums are not tiled.
_LEAST_TERMS = 8


@register_steps("c")
def steps_of_loops(function: Operation, context: ScheduleContext) -> Schedule:
    """Schedule the loops of each block, together with the blocks that consume its sums."""
    sch = context.schedule(function)
    _, tree = sch.read_of(symbol_name(function))
    moved: set[str] = set()
    for block in tree.blocks():
        is_plain = [str(binding) for binding in block.bindings] == [loop.name for loop in tree.around(block.name)]
        if not is_plain or block.name in moved:
            continue
        if block.inits is not None:
            moved |= _reduce(sch, block, is_tiled=context.chosen.option("loops") != "plain")
        elif len(block.iters) > 1 and all(_is_row(block, access) or not access.indices for access in block.accesses):
            sch.fuse(*sch.get_loops(sch.get_block(block.name)))
    return sch


def _is_row(block: Block, access: Access) -> bool:
    """Check whether an access visits all elements in order."""
    sizes = {iter_.name: iter_.extent for iter_ in block.iters if iter_.extent != 1}
    places = {str(index): size for index, size in zip(access.indices, access.buffer.shape, strict=True) if size != 1}
    return not block.is_reduction and list(places.items()) == list(sizes.items())


def _reduce(sch: Schedule, block: Block, *, is_tiled: bool) -> set[str]:
    """Accumulate sums in variables or arrays, and move consumers there. Return the names of the moved blocks."""
    handle, kinds = sch.get_block(block.name), [iter_.kind for iter_ in block.iters]
    loops, free = sch.get_loops(handle), kinds.index(REDUCE)
    if SPATIAL in kinds[free:]:
        sch.decompose_reduction(handle, loops[free])
        return set()
    tile = _tile_of(block, free) if is_tiled and _is_product(block, free) else None
    outer, first = (loops[:free], loops[free]) if tile is None else tile.cut(sch, loops)
    moved = _move_consumers(sch, handle, outer[-1]) if outer else set()
    try:
        copies = [] if moved else [sch.cache_write(handle, number, "local") for number in range(len(block.writes))]
        for copy in copies if outer else ():
            sch.reverse_compute_at(copy, outer[-1])
    except RelaxError:  # other blocks add to the same memory
        pass
    sch.decompose_reduction(handle, first)
    return moved


def _move_consumers(sch: Schedule, maker: BlockRV, loop: LoopRV) -> set[str]:
    """Move the only consumer of a block's results into a loop, then its consumer, and so on. Return the moved names."""
    _, tree = sch.read_of(maker.function)
    block = tree.block(maker.name)
    buffer = block.writes[0].buffer
    readers = [each for each in tree.blocks() if buffer in each.buffers and each is not block]
    if buffer.is_given or len(block.writes) > 1 or len(readers) != 1 or buffer in readers[0].loaded:
        return set()
    if not all(_is_row(readers[0], each) for each in readers[0].reads_of(buffer)):
        return set()
    follower = sch.get_block(readers[0].name)
    try:
        sch.reverse_compute_at(follower, loop)
    except RelaxError:  # it needs results from behind the loop
        return set()
    return {follower.name, *_move_consumers(sch, follower, loop)}


# ---- tiles ----


def _is_product(block: Block, free: int) -> bool:
    """Check whether a block computes one sum of products of several operands, with enough terms."""
    terms = math.prod(iter_.extent if isinstance(iter_.extent, int) else _LEAST_TERMS for iter_ in block.iters[free:])
    result, factors = block.results[0], [access for access in block.reads if access.indices]
    is_sum = isinstance(result, Compute) and result.name in ("arith.addf", "arith.mulf")
    is_added = any(isinstance(part, Element) and part.number == len(block.reads) for part in result.parts())
    return is_sum and is_added and len(block.results) == 1 and len(factors) > 1 and terms >= _LEAST_TERMS


def _stride(access: Access, along: Iter) -> int | None:
    """Return an access's stride along an iter in elements, or None if dynamic."""
    total: int = 0
    stride: Size = 1
    for index, size in zip(reversed(access.indices), reversed(access.buffer.shape), strict=True):
        if along.name in variables_of(index):
            if (factor := factor_of(index, along.name)) is None or not isinstance(stride, int):
                return None
            total += factor * stride
        stride = stride * size
    return total


class _Tile(NamedTuple):
    """Tile sizes of the loops, rows first, and the order of the outer and reduction loops."""

    steps: dict[int, int]
    outer: list[int]
    reduced: list[int]

    def cut(self, sch: Schedule, loops: Sequence[LoopRV]) -> tuple[list[LoopRV], LoopRV]:
        parts = {dim: sch.split(loops[dim], [None, count]) for dim, count in self.steps.items()}
        outer = [parts[dim][0] if dim in parts else loops[dim] for dim in self.outer]
        sch.reorder(*outer, *(loops[dim] for dim in self.reduced), *(parts[dim][1] for dim in self.steps))
        return outer, loops[self.reduced[0]]


def _tile_of(block: Block, free: int) -> _Tile | None:
    """Choose a tile. None if no loop is contiguous in the result and in all operands that it indexes."""
    sizes = [iter_.extent for iter_ in block.iters]
    *reads, write = ([_stride(access, iter_) for iter_ in block.iters] for access in block.accesses)
    long = [dim for dim in range(free) if isinstance(size := sizes[dim], int) and size >= _LEAST_COLUMNS]
    column = next((d for d in reversed(long) if write[d] == 1 and {1} <= {read[d] for read in reads} <= {0, 1}), None)
    if column is None:
        return None
    across = [read for read in reads if read[column] == 1]
    # An operand that varies along the columns is reused by all results along the rows.
    rows = [dim for dim in range(free) if dim != column and sizes[dim] != 1 and any(read[dim] == 0 for read in across)]
    counts = {dim: _row_count(block, sizes[dim]) for dim in rows[-1:]}
    steps = {**counts, column: _column_count(sizes[column], next(iter(counts.values()), 1))}
    others = [dim for dim in range(free) if dim not in steps]
    # Loops that all operands depend on come first. Then operands that do not depend on the other loops are reused
    # sooner.
    shared = [dim for dim in others if all(strides[dim] != 0 for strides in (*reads, write))]
    outer = [*shared, column, *(dim for dim in others if dim not in shared), *counts]
    # The operand that is contiguous along the columns is read in memory order.
    apart = [math.inf if stride is None else stride for stride in across[0]]
    return _Tile(steps, outer, sorted(range(free, len(sizes)), key=lambda dim: -apart[dim]))


def _row_count(block: Block, size: Size) -> int:
    """Return the number of rows that fit in registers with all their columns."""
    most = _ROWS if storage_bytes(block.writes[0].buffer.element) <= _USUAL_BYTES else _ROWS // 2
    if not isinstance(size, int):
        return most
    return size if size < most else next((index for index in range(most, most // 2, -1) if size % index == 0), most)


def _column_count(size: Size, rows: int) -> int:
    assert isinstance(size, int)
    if rows < 3 and size % _COLUMNS_OF_FEW == 0:
        return _COLUMNS_OF_FEW
    if size < _COLUMNS:
        return size
    return next((count for count in (32, 48, 40, 24) if size % count == 0), _COLUMNS)
