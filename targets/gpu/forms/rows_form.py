# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows: loop with one row per step, or an operation that reduces rows."""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, constant_of, operations_of, users_of
from ....dialects.core.ir_attributes import TEAM
from ....emit.memrefs import root_of
from ....emit.numbers import Number, ceil_divided, number
from ..kernels.fused import Fused
from ..kernels.own_memory import own_memory
from ..unplanned.points import Points
from ..unplanned.reduce import is_combined, reduce_row, shape_of_row
from ..unplanned.row_teams import Team, TeamShape, shape_of, steps_of
from ..unplanned.rows import rows_of, write_rows
from ..unplanned.vectors import Lanes
from .form import Collapsed, FusedForm, Group, Limits, SharedLoop
from .loop_forms import shared_loops_in, take_body


@dataclass(frozen=True)
class RowsForm(FusedForm):
    """A team of threads for each row."""

    name = "rows"

    count: Number
    shape: TeamShape
    #: The loop's own memory is never written.
    is_in_registers: bool = True

    @classmethod
    def of(cls, group: Group, limits: Limits) -> RowsForm | None:
        if isinstance(group, SharedLoop):
            return cls._make_for_loop(group, limits)
        if not isinstance(group, Collapsed):
            return None
        points = Points(group.fused.main)
        if not points.reduces_rows() or not is_combined(points):
            return None
        shape = shape_of_row(points).within(limits.most_threads)
        group.fused.main.attributes[TEAM] = shape.attribute()
        return cls(group.fused.ops, limits, group.count, shape)

    @classmethod
    def _make_for_loop(cls, loop: SharedLoop, limits: Limits) -> RowsForm | None:
        if (rows := rows_of(loop.op)) is None:
            return None
        shape = rows.shape().within(limits.most_threads)
        loop.op.attributes[TEAM] = shape.attribute()
        return cls([loop.op], limits, loop.steps, shape, rows.length is not None and shape.chunks > 0)

    @property
    def teams(self) -> int:
        """Number of teams per block."""
        known = constant_of(self.count)
        return self.shape.teams(-1 if known is None else known)

    def blocks(self) -> Number:
        return self.count if self.teams == 1 else ceil_divided(self.count, self.teams)

    @property
    def threads(self) -> int:
        return self.shape.threads * self.teams

    def own_memory(self) -> list[Value]:
        return [] if self.is_in_registers else own_memory(self.ops[0], self.count, self.limits.own_bytes)

    @classmethod
    def write(cls, kernel: Operation) -> None:
        if loops := shared_loops_in(kernel):
            _write_loop(kernel, *loops)
        else:
            super().write(kernel)

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        lanes, shape = Lanes(fused, 1), shape_of(fused.main)
        team = Team(kernel, shape.threads, lanes.points.count())
        reduce_row(lanes, team, team.row, shape.lanes)


def _write_loop(kernel: Operation, loop: Operation) -> None:
    rows, shape = rows_of(loop), shape_of(loop)
    assert rows is not None, "as gpu-outline-kernels has found"
    own = [op.results[0] for op in operations_of(body_of(loop)) if op.name == "memref.alloc"]
    first, _, step = map(number, loop.operands)
    with loop.location, ir.InsertionPoint(loop):
        team = Team(kernel, shape.threads, steps_of(loop))
        take_body(loop, first + team.row * step)
        write_rows(rows, team, shape, lambda memref: root_of(memref) in own)
    loop.erase()
    for points in reversed(rows.ops):
        points.operation.erase()
    for memref in own:
        _erase_unused(memref)


def _erase_unused(memref: Value) -> None:
    """Erase memory that registers have replaced."""
    for user in users_of(memref):
        if user.name == "memref.dealloc":
            user.erase()
        elif len(user.results):
            _erase_unused(user.results[0])
    if not users_of(memref):
        memref.owner.operation.erase()
