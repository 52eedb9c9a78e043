# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Points: linalg operation with its epilogues."""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation
from ....bindings.mlir import i64_attribute
from ....dialects.core.ir_attributes import LANES
from ....emit.numbers import Number, as_index, ceil_divided
from ..emit.threads import thread_of_grid
from ..kernels.fused import Fused
from ..unplanned.points import Points
from ..unplanned.vectors import Lanes, lanes_of
from .form import Collapsed, FusedForm, Group, Limits


@dataclass(frozen=True)
class PointsForm(FusedForm):
    """A thread for each point, or for adjacent ones."""

    name = "points"

    count: Number
    #: Points per thread.
    lanes: int

    @classmethod
    def of(cls, group: Group, limits: Limits) -> PointsForm | None:
        if not isinstance(group, Collapsed):
            return None
        fused = group.fused
        lanes = lanes_of(Points(fused.main), [Points(epilogue) for epilogue in fused.epilogues])
        fused.main.attributes[LANES] = i64_attribute(lanes)
        return cls(fused.ops, limits, group.count, lanes)

    def blocks(self) -> Number:
        return ceil_divided(self.count, self.threads * self.lanes)

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        lanes = Lanes(fused, fused.main.attributes[LANES].value)
        lanes.write(thread_of_grid(kernel) * lanes.count, as_index(lanes.points.count()))
