# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with groups of four warps that multiply from shared memory, with wgmma (sm_90a only).

Blocks of both inputs are in shared memory in lines of 128 bytes. Lines go along the reduction or along the input's own
side, as in memory. Their pieces of 16 bytes are swizzled, so that no two of eight lines conflict in a bank. The next
blocks are copied while a group multiplies.

TMA copies the blocks if both inputs are plain matrices (bulk_copies.py). Otherwise, for convolution windows and dynamic
sizes, cp.async does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Value
from ....bindings.rewriting import Decline
from ....emit import loops
from ....emit.numbers import Number, Size, as_index
from ....emit.structured import StructuredOp
from ....emit.vectors import from_elements
from ...core.machine import Machine
from ...gpu.emit.memory_access import elements, wait_for_block
from ...gpu.planned.dequantized_operand import made_of
from ...gpu.planned.group import PlannedGroup, Tile
from ...gpu.planned.kernel import Kernel, is_plain_product
from ...gpu.planned.mma_operands import Factors
from ...gpu.planned.product_kernels import register_instruction
from ...gpu.planned.staging import Staged
from ..objects.arch import WGMMA
from .bulk_copies import bulk_copies
from .instructions import bytes_of, wait_for_copies
from .matrix_units import BytesKernel, HalvesKernel, MatrixKernel, can_be_copied
from .warp_group_instructions import (
    LINE_BYTES,
    LINES,
    Factor,
    add_group_products,
    descriptor,
    show_to_groups,
    wait_for_groups,
)

_GROUP, _WARP = 128, Machine.warp
#: Rows of an instruction, of a warp, of the lanes and per lane; columns of the instruction, in lanes and per lane.
_ROWS, _ROWS_OF_WARP, _LANES_OF_ROWS, _ROWS_OF_LANE = 64, 16, 8, 2
_COLUMNS, _LANES_OF_COLUMNS, _COLUMNS_OF_LANE = 8, 4, 2
_PIECE_BYTES = 16
#: With fewer stages no copy would be in flight during the products of two blocks.
_LEAST_STAGES = 3


class TurnedPieces(Staged):
    """Staged input in lines of 128 bytes.

    If lines go along the input's own side, each 128 bytes of it form a separate stack of lines.
    """

    @property
    def line(self) -> int:
        return LINE_BYTES // bytes_of(self.element)

    @property
    def shape(self) -> list[int]:
        return [self.tile.extent(self.side) * self.tile.depth // self.line, self.line]

    def place_in_block(self, side: Size, step: Size) -> list[Size]:
        side, step = as_index(side), as_index(step)
        line, inner = (side, step) if self.steps_last else (self.first_line(side) + step, side % self.line)
        return [line, inner ^ (line % LINES * (_PIECE_BYTES // bytes_of(self.element)))]

    def first_line(self, side: Number) -> Number:
        """Return the first line of the side's points from `side` on, a multiple of the points in a line."""
        return side if self.steps_last else side // self.line * self.tile.depth

    def as_factor(self, type_: str) -> Factor:
        """Return the layout for the instruction."""
        next_side = _PIECE_BYTES if self.steps_last else self.tile.depth * LINE_BYTES
        return Factor(type_, next_side, not self.steps_last)


class GroupKernel(MatrixKernel):
    """Kernel with results in the instruction's layout: a lane has two adjacent elements in every eighth row."""

    alignment = LINES * LINE_BYTES
    staged_as = TurnedPieces

    @classmethod
    def check(cls, group: PlannedGroup) -> None:
        op, plan, tile = group.op, group.plan, Tile(group.plan)
        if not is_plain_product(group) or len(plan.shared) != 2:
            raise Decline(f"'{plan.instruction}' multiplies elements of two shared inputs")
        cls.factors(op, plan.shared)
        columns = int(str(plan.instruction).partition("n")[2].partition("k")[0])
        fits = (
            tile.rows is not None
            and tile.threads_along(tile.rows) % (_GROUP // _LANES_OF_COLUMNS) == 0
            and tile.threads_along(tile.columns) == _LANES_OF_COLUMNS
            and tile.rows_of_thread % _ROWS_OF_LANE == 0
            and tile.lanes == _COLUMNS_OF_LANE
            and tile.width == columns
            and tile.depth == cls.depth()
        )
        if not fits:
            raise Decline(
                f"'{plan.instruction}' has a multiple of 32 threads for rows, 4 for columns, two columns for a lane's "
                f"vector, an even tile of rows, {columns} columns in all, and blocks of {cls.depth()} steps"
            )

    @classmethod
    def factors(cls, op: StructuredOp, inputs: Sequence[int]) -> Factors:
        if any(made_of(op, input_) for input_ in inputs):
            raise Decline("dequantized inputs reach shared memory through registers")
        return super().factors(op, inputs)

    @classmethod
    def depth(cls) -> int:
        """Return the steps of a block, which fill a line of 128 bytes."""
        return 4 * cls.steps

    # ---- places of a lane's results ----

    @property
    def _groups_of_rows(self) -> int:
        """Number of blocks of 64 rows that a group of warps processes, one below the other."""
        return self.tile.rows_of_thread // _ROWS_OF_LANE

    @property
    def _first_row_of_group(self) -> Number:
        return self.thread // _GROUP * (self._groups_of_rows * _ROWS)

    def row_places(self) -> list[Number]:
        warp = self.warp % (_GROUP // _WARP) * _ROWS_OF_WARP
        mine = self._first_row_of_group + warp + self.lane // _LANES_OF_COLUMNS
        return [
            mine + (row // _ROWS_OF_LANE * _ROWS + row % _ROWS_OF_LANE * _LANES_OF_ROWS)
            for row in range(self.tile.rows_of_thread)
        ]

    # ---- the sums ----

    def summed(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        if self.stages < _LEAST_STAGES or not all(map(can_be_copied, self.staged)):
            return Kernel.summed(self, memories, count, first)
        ahead = self.stages - 2
        lines = [self._pieces(which).line for which in range(len(self.staged))]
        bulk = bulk_copies(self.group, self.staged, memories, lines, self.thread)

        def start(block: Number) -> None:
            if bulk is None:
                self._copy(memories, block, count)
            else:
                bulk.start(block, count, self.origin, self.first_step(block))

        def wait(block: Number) -> None:
            if bulk is None:
                wait_for_copies(ahead - 1)
                show_to_groups()
            else:
                bulk.wait(block)

        for stage in range(ahead):
            start(as_index(stage))

        def inside(block: Number, *sums: Value) -> list[Value]:
            wait(block)
            wait_for_block()
            found = self._accumulate(memories, block % self.stages, sums, pending=1)
            # This overwrites the stage of the block before the last one. All groups have finished its products at the
            # wait above.
            start(block + ahead)
            return found

        scalars = [element for value in first for element in elements(value)]
        return _pairs(wait_for_groups(loops.for_range(0, count, inside, *scalars)))

    def _put(self, memories: Sequence[Value], stage: Size, fetched: Sequence[Value]) -> None:
        super()._put(memories, stage, fetched)
        show_to_groups()

    def block(self, memories: Sequence[Value], stage: Number, block: Number, sums: Sequence[Value]) -> list[Value]:
        scalars = [element for value in sums for element in elements(value)]
        return _pairs(self._accumulate(memories, stage, scalars, pending=0))

    def _accumulate(self, memories: Sequence[Value], stage: Number, sums: Sequence[Value], pending: int) -> list[Value]:
        """Add the products of a block's steps to the sums, row by row. Up to `pending` blocks may be in flight."""
        rows, columns = (self._factor(which) for which in (self._of_rows, self._of_columns))
        at = {
            which: descriptor(memories[which], stage, self._lines_before(which), factor)
            for which, factor in ((self._of_rows, rows), (self._of_columns, columns))
        }
        order = self._order()
        group_products = add_group_products(
            (rows, columns), (at[self._of_rows], at[self._of_columns]), [sums[place] for place in order],
            self.tile.width, self._groups_of_rows, self.steps, pending,
        )  # fmt: skip
        placed = dict(zip(order, group_products, strict=True))
        return [placed[place] for place in range(len(sums))]

    def _lines_before(self, which: int) -> Number:
        """Return the first line of a group's own rows."""
        if which == self._of_columns:
            return as_index(0)
        return self._pieces(which).first_line(self._first_row_of_group)

    def _order(self) -> list[int]:
        """Return the positions, among sums row by row, of a lane's numbers in the instruction's order."""
        vectors = self.tile.vectors_of_thread
        return [
            ((group * _ROWS_OF_LANE + row) * vectors + vector) * _COLUMNS_OF_LANE + column
            for group in range(self._groups_of_rows)
            for vector in range(vectors)
            for row in range(_ROWS_OF_LANE)
            for column in range(_COLUMNS_OF_LANE)
        ]

    def _factor(self, which: int) -> Factor:
        return self._pieces(which).as_factor(self.type_of(which))

    def _pieces(self, which: int) -> TurnedPieces:
        staged = self.staged[which]
        assert isinstance(staged, TurnedPieces)
        return staged

    def type_of(self, which: int) -> str:
        """Return PTX's name of an input's element type."""
        return str(self.staged[which].element)


class HalvesGroupKernel(GroupKernel, HalvesKernel):
    """Products of 16-bit numbers."""


class BytesGroupKernel(GroupKernel, BytesKernel):
    """Products of signed and unsigned bytes, which are contiguous along the reduction."""

    def type_of(self, which: int) -> str:
        return self.sign(which)


for _name in WGMMA:
    register_instruction(_name)(HalvesGroupKernel if _name.endswith("k16") else BytesGroupKernel)


def _pairs(scalars: Sequence[Value]) -> list[Value]:
    """Group numbers into a lane's vectors."""
    return [from_elements(scalars[at : at + _COLUMNS_OF_LANE]) for at in range(0, len(scalars), _COLUMNS_OF_LANE)]
