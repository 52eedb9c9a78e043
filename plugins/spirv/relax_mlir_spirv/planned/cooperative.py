# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with subgroups that multiply cooperative matrices, for instance on tensor cores.

Blocks of both inputs are staged in shared memory. A subgroup loads matrices from there and accumulates products in
matrices in its registers. Only the device knows the assignment of elements to threads. So each result matrix goes
through shared memory at the end, from which threads read their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from relax_mlir.bindings.ir import Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.emit.arithmetic import constant_value, result_of
from relax_mlir.emit.numbers import Number, Size, as_index
from relax_mlir.passes.kernels.schedule.plan import Plan
from relax_mlir.targets.gpu.emit.memory_access import load, shared_memory, wait_for_block
from relax_mlir.targets.gpu.planned.group import GAP_BYTES, PlannedGroup, Tile
from relax_mlir.targets.gpu.planned.kernel import Kernel, is_plain_product
from relax_mlir.targets.gpu.planned.mma_operands import Factors, factors_of
from relax_mlir.targets.gpu.planned.product_kernels import register_instruction

from ..matrices import INSTRUCTION, Matrices, matrices_of_instruction

#: Operand types by the names of factors. Sums of bytes wrap around.
KINDS = {
    "f16": Factors("f16", "f32", ("arith.extf",)),
    "i8": Factors("i8", "i32", ("arith.extsi",)),
    "ui8": Factors("i8", "i32", ("arith.extui",)),
}
#: Padding between rows of results in shared memory, in elements.
_GAP = GAP_BYTES // 4


def result_bytes(matrices: Matrices) -> int:
    """Return the bytes of shared memory for the results of a subgroup."""
    return 4 * matrices.rows * (matrices.columns + _GAP)


@register_instruction(INSTRUCTION)
class CooperativeKernel(Kernel):
    """Kernel with matrices as sums. A thread receives adjacent elements of some rows of each finished matrix."""

    dialects = ("vector", "gpu")

    @classmethod
    def check(cls, group: PlannedGroup) -> None:
        plan, tile = group.plan, Tile(group.plan)
        matrices = _matrices_of(plan)
        if not is_plain_product(group) or len(plan.shared) != 2:
            raise Decline(f"'{plan.instruction}' multiplies elements of two shared inputs")
        factors_of(group.op, plan.shared, [KINDS[matrices.factors]])
        fits = (
            tile.rows is not None
            and tile.threads_along(tile.rows) % matrices.threads_down == 0
            and tile.threads_along(tile.columns) % matrices.threads_across == 0
            and tile.rows_of_thread % matrices.rows_of_thread == 0
            and tile.lanes == matrices.lanes
            and tile.depth % matrices.steps == 0
        )
        if not fits:
            raise Decline(
                f"'{plan.instruction}' has threads {matrices.threads_down} and {matrices.threads_across} for rows and "
                f"columns, or multiples, tiles of {matrices.rows_of_thread} rows, or multiples, vectors of "
                f"{matrices.lanes} lanes, and blocks of {matrices.steps} steps or multiples"
            )

    def __init__(self, group: PlannedGroup, block: Number, thread: Number):
        self.matrices = _matrices_of(group.plan)
        self.subgroup, self.lane = thread // self.matrices.threads, thread % self.matrices.threads
        super().__init__(group, block, thread)
        sides = {each.side: position for position, each in enumerate(self.staged)}
        assert self.tile.rows is not None
        self._of_rows, self._of_columns = sides[self.tile.rows], sides[self.tile.columns]

    def steps_last(self, operand: int) -> bool | None:
        """Return None, because matrices can be loaded along their rows or their columns."""
        return None

    # ---- places of a thread's results ----

    @property
    def _subgroups_of_columns(self) -> int:
        return self.tile.threads_along(self.tile.columns) // self.matrices.threads_across

    @property
    def _rows_of_matrices(self) -> int:
        """Number of a subgroup's matrices one below the other."""
        return self.tile.rows_of_thread // self.matrices.rows_of_thread

    def _first_row(self) -> Number:
        return self.subgroup // self._subgroups_of_columns * (self._rows_of_matrices * self.matrices.rows)

    def _first_column(self) -> Number:
        return self.subgroup % self._subgroups_of_columns * (self.tile.vectors_of_thread * self.matrices.columns)

    def _rows_in_matrix(self) -> list[Number]:
        first = self.lane // self.matrices.threads_across
        return [first + row * self.matrices.threads_down for row in range(self.matrices.rows_of_thread)]

    def _column_in_matrix(self) -> Number:
        return self.lane % self.matrices.threads_across * self.matrices.lanes

    def row_places(self) -> list[Number]:
        first, inside = self._first_row(), self._rows_in_matrix()
        return [
            first + (row + matrix * self.matrices.rows) for matrix in range(self._rows_of_matrices) for row in inside
        ]

    def vector_places(self) -> list[Number]:
        first = self._first_column() + self._column_in_matrix()
        return [first + vector * self.matrices.columns for vector in range(self.tile.vectors_of_thread)]

    # ---- code ----

    def summed(self, memories: Sequence[Value], count: Size, first: Sequence[Value]) -> list[Value]:
        zero = constant_value(0, self._total)
        type_ = _matrix_type(self.matrices.rows, self.matrices.columns, str(self._total), "C")
        zeros = [
            result_of("gpu.subgroup_mma_constant_matrix", [zero], type_)
            for _ in range(self._rows_of_matrices * self.tile.vectors_of_thread)
        ]
        return self._read_results(super().summed(memories, count, zeros), first)

    @property
    def _total(self) -> Type:
        return ir.Type.parse(KINDS[self.matrices.factors].total)

    def block(self, memories: Sequence[Value], stage: Number, block: Number, sums: Sequence[Value]) -> list[Value]:
        values = list(sums)
        for step in range(0, self.tile.depth, self.matrices.steps):
            rows = [
                self._load(memories, stage, step, self._of_rows, self._first_row() + place * self.matrices.rows)
                for place in range(self._rows_of_matrices)
            ]
            columns = [
                self._load(
                    memories, stage, step, self._of_columns, self._first_column() + place * self.matrices.columns
                )
                for place in range(self.tile.vectors_of_thread)
            ]
            for place, (left, right) in enumerate(product(rows, columns)):
                values[place] = result_of("gpu.subgroup_mma_compute", [left, right, values[place]], values[place].type)
        return values

    def _load(self, memories: Sequence[Value], stage: Number, step: int, which: int, side: Number) -> Value:
        staged, memory, is_left = self.staged[which], memories[which], which == self._of_rows
        # The element type states the signedness.
        element = {"i8": "si8"}.get(self.matrices.factors, self.matrices.factors)
        if is_left:
            type_ = _matrix_type(self.matrices.rows, self.matrices.steps, element, "A")
        else:
            type_ = _matrix_type(self.matrices.steps, self.matrices.columns, element, "B")
        attributes = {"leadDimension": _index(staged.shape[-1])}
        if staged.steps_last != is_left:
            attributes["transpose"] = ir.UnitAttr.get()
        at = [stage, *staged.place_in_block(side, step)]
        return result_of("gpu.subgroup_mma_load_matrix", [memory, *map(as_index, at)], type_, **attributes)

    def _read_results(self, sums: Sequence[Value], first: Sequence[Value]) -> list[Value]:
        """Return a thread's results of all matrices, added to the initial values of its sums."""
        subgroups, width = self.tile.threads // self.matrices.threads, self.matrices.columns + _GAP
        memory = shared_memory(self.op.operation, [subgroups, self.matrices.rows, width], self._total, self.alignment)
        vectors, results = self.tile.vectors_of_thread, list(first)
        for place, matrix in enumerate(sums):
            at = [self.subgroup, as_index(0), as_index(0)]
            ir.Operation.create(
                "gpu.subgroup_mma_store_matrix",
                operands=[matrix, memory, *map(as_index, at)],
                attributes={"leadDimension": _index(width)},
            )
            wait_for_block()
            for row, where in enumerate(self._rows_in_matrix()):
                own = load(memory, [self.subgroup, where, self._column_in_matrix()], self.tile.lanes)
                result = (place // vectors * self.matrices.rows_of_thread + row) * vectors + place % vectors
                results[result] = self._add(first[result], own)
            if place + 1 < len(sums):
                wait_for_block()
        return results

    def _add(self, first: Value, own: Value) -> Value:
        name = "arith.addf" if KINDS[self.matrices.factors].total == "f32" else "arith.addi"
        return result_of(name, [first, own], own.type)


def _matrices_of(plan: Plan) -> Matrices:
    """Return the matrices of the plan's instruction. Raises Decline for another instruction."""
    matrices = matrices_of_instruction(str(plan.instruction))
    if matrices is None:
        raise Decline(f"'{plan.instruction}' does not name cooperative matrices, such as cooperative_f16_16x16x16_32")
    return matrices


def _matrix_type(rows: int, columns: int, element: str, use: str) -> Type:
    return ir.Type.parse(f'!gpu.mma_matrix<{rows}x{columns}x{element}, "{use}Op">')


def _index(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IndexType.get(), number)
