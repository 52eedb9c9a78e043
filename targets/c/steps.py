# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How loops of C run, as steps: sums grow in variables, rectangles of sums of products in arrays that compilers keep in
registers; what is contiguous is one loop.

Loops over rows and columns of a rectangle have constant bounds: compilers unroll the first and make vectors of the
second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...bindings.ir import Operation
from ...bindings.navigation import symbol_name
from ...dialects.core.symbols_expr import Size, variables_of
from ...emit.memrefs import storage_bytes
from ...passes.loops.body_scalars import Compute, Element
from ...passes.loops.handles import BlockRV, LoopRV
from ...passes.loops.ranges import factor_of
from ...passes.loops.schedule import Schedule
from ...passes.loops.tree import REDUCE, SPATIAL, Access, Block, Iter
from ...passes.schedule.registry import ScheduleContext, register_steps
from ...support.errors import RelaxError

#: Of results at a time. With fewer columns GCC unrolls what it would make vectors of.
_ROWS, _COLUMNS, _LEAST_COLUMNS = 8, 32, 17
#: Where there are only one or two rows.
_COLUMNS_OF_FEW = 64
#: Of an element; there are half as many rows of larger ones.
_USUAL_BYTES = 4
#: Sums of less are not worth it.
_LEAST_TERMS = 8


@register_steps("c")
def steps_of_loops(function: Operation, context: ScheduleContext) -> Schedule:
    """Each block's loops, with what goes on with its sums."""
    sch = context.schedule(function)
    _, tree = sch.read_of(symbol_name(function))
    done: set[str] = set()
    for block in tree.blocks():
        is_plain = [str(each) for each in block.bindings] == [loop.name for loop in tree.around(block.name)]
        if is_plain and block.name not in done:
            done |= set(_scheduled(sch, block, is_tiled=context.chosen.option("loops") != "plain"))
    return sch


def _scheduled(sch: Schedule, block: Block, *, is_tiled: bool) -> Iterator[str]:
    kinds = [each.kind for each in block.iters]
    if not block.is_reduction:
        if len(kinds) > 1 and all(_is_row(block, each) or not each.indices for each in block.accesses):
            sch.fuse(*sch.get_loops(sch.get_block(block.name)))
    elif block.inits is not None:
        free = kinds.index(REDUCE)
        if SPATIAL not in kinds[free:]:
            yield from _summed(sch, block, free, is_tiled)
            return
        handle = sch.get_block(block.name)
        sch.decompose_reduction(handle, sch.get_loops(handle)[free])


def _is_row(block: Block, access: Access) -> bool:
    """Whether all elements are gone through one after the other."""
    sizes = {each.name: each.extent for each in block.iters if each.extent != 1}
    places = {str(index): size for index, size in zip(access.indices, access.buffer.shape, strict=True) if size != 1}
    return list(places.items()) == list(sizes.items())


def _summed(sch: Schedule, block: Block, free: int, is_tiled: bool) -> Iterator[str]:
    """Sums in variables, or in arrays; what is done to them is done there: the names of the blocks that do so."""
    handle = sch.get_block(block.name)
    loops = sch.get_loops(handle)
    tile = _Tile(block, free) if is_tiled and _is_product(block, free) else None
    outer, reduced, inner = loops[:free], loops[free:], 0
    if tile is not None and tile.column is not None:
        outer, reduced, inner = tile.cut(sch, loops)
    finish, other = [], _goes_on(sch, handle, block) if outer else None
    while other is not None:
        follower = sch.get_block(other.name)
        if not _is_done(sch.reverse_compute_at, follower, outer[-1]):
            break
        yield other.name
        finish, other = [*finish, follower], _goes_on(sch, follower, other)
    if not finish:
        finish = [sch.cache_write(handle, number, "local") for number in range(len(block.writes))]
        for copy in finish if outer else ():
            sch.reverse_compute_at(copy, outer[-1])
    start = sch.decompose_reduction(handle, reduced[0])
    for each in (start, handle, *finish) if inner else ():
        sch.vectorize(sch.get_loops(each)[-1])


def _is_done(step, *arguments) -> bool:
    try:
        step(*arguments)
    except RelaxError:
        return False
    return True


def _goes_on(sch: Schedule, handle: BlockRV, block: Block) -> Block | None:
    """What works on each of a block's results, and is all that looks at them."""
    _, tree = sch.read_of(handle.function)
    made = block.writes[0].buffer
    readers = [each for each in tree.blocks() if made in each.buffers and each.name != block.name]
    if made.is_given or len(readers) != 1 or len(block.writes) > 1 or readers[0].is_reduction:
        return None
    (reader,) = readers
    is_each = made not in reader.loaded() and all(_is_row(reader, each) for each in reader.reads_of(made))
    return reader if is_each else None


# ---- rectangles ----


def _is_product(block: Block, free: int) -> bool:
    """Whether there is one result, made of several operands, by sums of some length."""
    terms = math.prod(each.extent if isinstance(each.extent, int) else _LEAST_TERMS for each in block.iters[free:])
    factors = [access for access in block.reads if access.indices]
    result, held = block.results[0], len(block.reads)
    is_sum = (
        isinstance(result, Compute)
        and result.name in ("arith.addf", "arith.mulf")
        and any(isinstance(each, Element) and each.number == held for each in result.operands)
    )
    return is_sum and len(block.results) == 1 and len(factors) > 1 and terms >= _LEAST_TERMS


def _stride(access: Access, along: Iter) -> int | None:
    """By how many elements it moves; None where that is dynamic."""
    total: int = 0
    stride: Size = 1
    for index, size in zip(reversed(access.indices), reversed(access.buffer.shape), strict=True):
        if along.name in variables_of(index):
            factor = factor_of(index, along.name)
            if factor is None or not isinstance(stride, int):
                return None
            total += factor * stride
        stride = stride * size
    return total


class _Tile:
    """How many results are computed at a time, along which loops, and the order of all."""

    def __init__(self, block: Block, free: int) -> None:
        self._block, self._free = block, free
        self.column = next((dim for dim in reversed(range(free)) if self._is_column(dim)), None)

    def cut(self, sch: Schedule, loops: Sequence[LoopRV]) -> tuple[list[LoopRV], list[LoopRV], int]:
        """The loops over rectangles, those that add up, and how many are in these."""
        column, iters = self.column, self._block.iters
        row = next((dim for dim in reversed(range(self._free)) if dim != column and self._is_row(dim)), None)
        rows = 1 if row is None else self._row_count(iters[row].extent)
        steps = {column: self._column_count(iters[column].extent, rows), **({} if row is None else {row: rows})}
        others = [dim for dim in range(self._free) if dim not in steps]
        shared = [dim for dim in others if all(self._moves(access, dim) for access in self._block.accesses)]
        single = [dim for dim in others if dim not in shared]
        parts = {dim: sch.split(loops[dim], [None, count]) for dim, count in steps.items()}
        outer = [loops[dim] for dim in shared]
        outer += [parts[column][0], *(loops[dim] for dim in single)]
        outer += [] if row is None else [parts[row][0]]
        reduced = [loops[dim] for dim in self._reductions()]
        inner = [parts[dim][1] for dim in (row, column) if dim is not None]
        sch.reorder(*outer, *reduced, *inner)
        return outer, reduced, len(inner)

    def _moves(self, access: Access, dim: int) -> bool:
        return _stride(access, self._block.iters[dim]) != 0

    def _is_column(self, dim: int) -> bool:
        """Whether the result, and what is not the same for all of a loop's points, are contiguous along the loop."""
        along = self._block.iters[dim]
        is_long = isinstance(along.extent, int) and along.extent >= _LEAST_COLUMNS
        steps = {_stride(access, along) for access in self._block.reads}
        return is_long and _stride(self._block.writes[0], along) == 1 and {1} <= steps <= {0, 1}

    def _across(self) -> list[Access]:
        return [each for each in self._block.reads if _stride(each, self._block.iters[self.column]) == 1]

    def _is_row(self, dim: int) -> bool:
        """Whether something that differs along the columns is the same for all results along this loop."""
        is_kept = any(not self._moves(access, dim) for access in self._across())
        return self._block.iters[dim].extent != 1 and is_kept

    def _row_count(self, size: Size) -> int:
        """As many as have place in registers with all their columns."""
        element = self._block.writes[0].buffer.element
        most = _ROWS if storage_bytes(element) <= _USUAL_BYTES else _ROWS // 2
        if not isinstance(size, int):
            return most
        return size if size < most else next((each for each in range(most, most // 2, -1) if size % each == 0), most)

    @staticmethod
    def _column_count(size: int, rows: int) -> int:
        if rows < 3 and size % _COLUMNS_OF_FEW == 0:
            return _COLUMNS_OF_FEW
        if size < _COLUMNS:
            return size
        return next((count for count in (32, 48, 40, 24) if size % count == 0), _COLUMNS)

    def _reductions(self) -> list[int]:
        """The loops that add up: what is contiguous along the columns is gone through from first to last."""
        across, iters = self._across()[0], self._block.iters
        strides = {dim: _stride(across, iters[dim]) for dim in range(self._free, len(iters))}
        return sorted(strides, key=lambda dim: -(math.inf if strides[dim] is None else strides[dim]))
