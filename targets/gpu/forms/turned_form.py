# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turned: transposition, with inputs and outputs that are contiguous along different loops."""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation
from ....bindings.mlir import i64_attribute
from ....dialects.core.ir_attributes import LANES
from ....emit.numbers import Number
from ..kernels.fused import Fused
from ..unplanned.points import Points
from ..unplanned.transpose import Turned, turned, write_turned
from .form import Collapsed, FusedForm, Group, Limits


@dataclass(frozen=True)
class TurnedForm(FusedForm):
    """A block for each tile."""

    name = "turned"

    tile: Turned

    @classmethod
    def of(cls, group: Group, limits: Limits) -> TurnedForm | None:
        if not isinstance(group, Collapsed) or group.fused.epilogues:
            return None
        if (tile := turned(Points(group.fused.main), limits.shared_bytes)) is None:
            return None
        group.fused.main.attributes[LANES] = i64_attribute(tile.lanes)
        return cls(group.fused.ops, limits, tile)

    def blocks(self) -> Number:
        return self.tile.blocks()

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        tile = turned(Points(fused.main))
        assert tile is not None, "as gpu-outline-kernels has found"
        write_turned(kernel, tile)
