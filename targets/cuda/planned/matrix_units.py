# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with warps that multiply tiles by the matrix units, from sm_80 on.

Blocks of both inputs are staged in shared memory, asynchronously if their layout is the same there. A warp loads tiles
of 8x8 from it, one row per lane. It adds products of 16 rows and 8 columns to the sums in its lanes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial

from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....bindings.navigation import users_of
from ....bindings.rewriting import Decline
from ....emit import linalg, loops
from ....emit.arithmetic import result_of
from ....emit.numbers import Number, Size, as_index, select
from ....emit.structured import StructuredOp
from ....emit.vectors import from_elements
from ...core.machine import Machine
from ...gpu.emit.memory_access import elements, wait_for_block
from ...gpu.planned.dequantized_operand import factor_of
from ...gpu.planned.group import PlannedGroup
from ...gpu.planned.kernel import Kernel, is_plain_product
from ...gpu.planned.mma_operands import Factors, factors_of
from ...gpu.planned.product_kernels import register_instruction
from ...gpu.planned.staging import Staged
from .instructions import (
    COPIED_BYTES,
    add_products,
    bytes_of,
    halves,
    load_tiles,
    position,
    row_of,
    stacked,
    start_copy,
    wait_for_copies,
    word_of,
)

_WARP = Machine.warp
#: Instruction shape: rows and columns of a result, and the lanes along both.
_ROWS, _COLUMNS, _LANES_OF_ROWS, _LANES_OF_COLUMNS = 16, 8, 8, 4
#: A lane has two adjacent elements in each of this many rows of a tile.
_ROWS_OF_LANE, _COLUMNS_OF_LANE = 2, 2
#: Bytes of a row of a tile in shared memory.
_ROW_BYTES = 16


class MatrixKernel(Kernel):
    """Kernel with results in the layout of the instruction: a lane has two adjacent elements in every eighth row."""

    dialects = ("vector", "nvgpu", "nvvm")
    #: Reduction steps of an instruction.
    steps: int
    kinds: tuple[Factors, ...]

    @classmethod
    def check(cls, group: PlannedGroup) -> None:
        op, plan = group.op, group.plan
        kernel_rows = next((dim for dim, _ in plan.threads if dim not in (plan.vector, plan.order[-1])), None)
        if not is_plain_product(group) or len(plan.shared) != 2:
            raise Decline(f"'{plan.instruction}' multiplies elements of two shared inputs")
        cls.factors(op, plan.shared)
        threads, tile = dict(plan.threads), plan.tile
        fits = (
            kernel_rows is not None
            and threads[kernel_rows] % _LANES_OF_ROWS == 0
            and threads[plan.vector] % _LANES_OF_COLUMNS == 0
            and tile.get(kernel_rows, 1) % _ROWS_OF_LANE == 0
            and tile.get(plan.vector, 1) % 2 == 0
            and plan.lanes == _COLUMNS_OF_LANE
            and dict(plan.blocks).get(plan.order[-1], 1) % cls.steps == 0
        )
        if not fits:
            raise Decline(
                f"'{plan.instruction}' has threads 8 and 4 for rows and columns, or multiples, two columns for a "
                f"lane's vector, even tiles, and blocks of {cls.steps} steps or multiples"
            )

    @classmethod
    def factors(cls, op: StructuredOp, inputs: Sequence[int]) -> Factors:
        """Return the factors that the body multiplies. Raises Decline if the instruction does not support them."""
        return factors_of(op, inputs, cls.kinds)

    def __init__(self, group: PlannedGroup, block: Number, thread: Number):
        self.warp, self.lane = thread // _WARP, thread % _WARP
        super().__init__(group, block, thread)
        sides = {each.side: position for position, each in enumerate(self.staged)}
        assert self.tile.rows is not None
        self._of_rows, self._of_columns = sides[self.tile.rows], sides[self.tile.columns]

    def steps_last(self, operand: int) -> bool | None:
        """Return True for elements of a byte, because their tiles cannot be transposed on the way to registers."""
        return True if bytes_of(factor_of(self.op, operand).type) == 1 else None

    # ---- places of a lane's results ----

    @property
    def _warps_of_columns(self) -> int:
        return self.tile.threads_along(self.tile.columns) // _LANES_OF_COLUMNS

    @property
    def _tiles_of_rows(self) -> int:
        return self.tile.rows_of_thread // _ROWS_OF_LANE

    def _first_row(self) -> Number:
        return self.warp // self._warps_of_columns * (self._tiles_of_rows * _ROWS)

    def _first_column(self) -> Number:
        return self.warp % self._warps_of_columns * (self.tile.vectors_of_thread * _COLUMNS)

    def row_places(self) -> list[Number]:
        mine = self._first_row() + self.lane // _LANES_OF_COLUMNS
        return [mine + row * _LANES_OF_ROWS for row in range(self.tile.rows_of_thread)]

    def vector_places(self) -> list[Number]:
        mine = self._first_column() + self.lane % _LANES_OF_COLUMNS * _COLUMNS_OF_LANE
        return [mine + vector * _COLUMNS for vector in range(self.tile.vectors_of_thread)]

    # ---- copies to shared memory ----

    def summed(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        if self.stages == 1 or not all(map(can_be_copied, self.staged)):
            return super().summed(memories, count, first)
        for stage in range(self.stages - 1):
            self._copy(memories, as_index(stage), count)

        def inside(block: Number, *sums: Value) -> list[Value]:
            wait_for_copies(self.stages - 2)
            wait_for_block()
            self._copy(memories, block + (self.stages - 1), count)
            return self.block(memories, block % self.stages, block, sums)

        return loops.for_range(0, count, inside, *first)

    def _copy(self, memories: Sequence[Value], block: Number, count: Size) -> None:
        """Start to copy a block of steps, if it exists, and commit a group of copies in any case."""
        loops.when(block < count, lambda: self._start_copies(memories, block))
        ir.Operation.create("nvvm.cp.async.commit.group")

    def _start_copies(self, memories: Sequence[Value], block: Number) -> None:
        for each, memory in zip(self.staged, memories, strict=True):
            for move in each.moves(self.origin, self.first_step(block), self.thread):
                count = None if move.has_step is None else select(move.has_step, as_index(each.lanes), as_index(0))
                to = [block % self.stages, *move.target]
                start = partial(start_copy, each.memref, move.source, memory, to, each.lanes, count)
                loops.when_all([move.is_some], start)

    # ---- products from shared memory ----

    def block(self, memories: Sequence[Value], stage: Number, block: Number, sums: Sequence[Value]) -> list[Value]:
        values = list(sums)
        for step in range(0, self.tile.depth, self.steps):
            rows = self._tiles(memories, stage, step, self._of_rows, self._first_row(), self._tiles_of_rows)
            count = self.tile.vectors_of_thread // 2
            columns = self._tiles(memories, stage, step, self._of_columns, self._first_column(), count)
            self._multiply(rows, [half for column in columns for half in halves(column)], values)
        return values

    def _tiles(
        self, memories: Sequence[Value], stage: Number, step: int, which: int, first: Number, count: int
    ) -> list[Value]:
        """Load pairs of tiles along the rows or columns, each with two tiles along the steps."""
        staged, memory, lane = self.staged[which], memories[which], self.lane
        wide = _ROW_BYTES // bytes_of(staged.element)
        # A lane holds a row of one of four tiles. The second tile of rows is along the rows, that of columns along the
        # steps.
        inner, outer = lane // 8 % 2, lane // 16
        along_side, along_steps = (inner, outer) if which == self._of_rows else (outer, inner)
        row = lane % 8
        if staged.steps_last:
            side, steps = along_side * 8 + row, along_steps * wide
        else:
            side, steps = along_side * 8, along_steps * 8 + row
        return [
            load_tiles(
                memory,
                [stage, *staged.place_in_block(first + side + pair * 16, steps + step)],
                is_turned=not staged.steps_last,
            )
            for pair in range(count)
        ]

    def _multiply(self, rows: Sequence[Value], columns: Sequence[Value], sums: list[Value]) -> None:
        vectors = self.tile.vectors_of_thread
        for row, left in enumerate(rows):
            for vector, right in enumerate(columns):
                places = [(row * 2 + half) * vectors + vector for half in range(_ROWS_OF_LANE)]
                found = self.multiplied(left, right, [sums[place] for place in places])
                for place, value in zip(places, found, strict=True):
                    sums[place] = value

    @abstractmethod
    def multiplied(self, left: Value, right: Value, sums: Sequence[Value]) -> list[Value]:
        """Add the products of a lane's parts of two tiles to the sums of both rows."""


@register_instruction("m16n8k16")
class HalvesKernel(MatrixKernel):
    """Products of 16-bit numbers."""

    steps = 16
    kinds: tuple[Factors, ...] = (Factors("f16", "f32", ("arith.extf",)), Factors("bf16", "f32", ("arith.extf",)))

    def multiplied(self, left: Value, right: Value, sums: Sequence[Value]) -> list[Value]:
        total = add_products(left, right, stacked(sums))
        return [row_of(total, half) for half in range(len(sums))]


@register_instruction("m16n8k32")
class BytesKernel(MatrixKernel):
    """Products of signed and unsigned bytes. Sums wrap around, while nvgpu.mma.sync would saturate them."""

    steps = 32
    kinds = (Factors("i8", "i32", ("arith.extsi", "arith.extui")),)

    def multiplied(self, left: Value, right: Value, sums: Sequence[Value]) -> list[Value]:
        word = sums[0].type.element_type
        parts = [[word_of(row_of(tiles, row)) for row in range(tiles.type.shape[0])] for tiles in (left, right)]
        parts.append([element for value in sums for element in elements(value)])
        attributes = {
            "shape": f"#nvvm.shape<m = {_ROWS}, n = {_COLUMNS}, k = {self.steps}>",
            "layoutA": "#nvvm.mma_layout<row>",
            "layoutB": "#nvvm.mma_layout<col>",
            "multiplicandAPtxType": f"#nvvm.mma_type<{self.sign(self._of_rows)}>",
            "multiplicandBPtxType": f"#nvvm.mma_type<{self.sign(self._of_columns)}>",
            "intOverflowBehavior": "#nvvm.mma_int_overflow<wrapped>",
        }
        total = result_of(
            "nvvm.mma.sync",
            [each for part in parts for each in part],
            ir.Type.parse(f"!llvm.struct<({', '.join([str(word)] * len(parts[2]))})>"),
            **linalg.segments(*map(len, parts)),
            **{name: ir.Attribute.parse(text) for name, text in attributes.items()},
        )
        words = [result_of("llvm.extractvalue", [total], word, position=position(at)) for at in range(len(parts[2]))]
        return [from_elements(words[:_COLUMNS_OF_LANE]), from_elements(words[_COLUMNS_OF_LANE:])]

    def sign(self, which: int) -> str:
        """Return PTX's name of an input's element type."""
        argument = self.op.block.arguments[self.staged[which].operand]
        return "u8" if users_of(argument)[0].name == "arith.extui" else "s8"


def can_be_copied(staged: Staged) -> bool:
    """Check whether an input has the same layout in shared memory as in memory."""
    as_they_are = staged.factor == staged.op.block.arguments[staged.operand]
    return as_they_are and staged.keeps_neighbours and staged.lanes * bytes_of(staged.element) in COPIED_BYTES
