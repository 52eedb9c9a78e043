# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts: first half of a reduction to few results."""

from __future__ import annotations

from ....bindings.ir import Operation
from ....emit.loops import when
from ....emit.numbers import Number, as_index, ceil_divided
from ..emit.threads import block_id, thread_of_grid, threads_of
from ..kernels.fused import Fused
from ..unplanned.points import Points
from ..unplanned.reduce import reduce_row
from ..unplanned.row_teams import Team
from ..unplanned.split import InParts, reduce_part
from ..unplanned.vectors import Lanes
from .form import FusedForm, Group, Limits


class RowPartsForm(FusedForm):
    """A block for each part of contiguous elements."""

    name = "row_parts"

    @classmethod
    def of(cls, group: Group, limits: Limits) -> RowPartsForm | None:
        return cls([group.first], limits) if isinstance(group, InParts) and group.by_rows else None

    def blocks(self) -> Number:
        return as_index(Points(self.ops[0]).count())

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        reduce_row(Lanes(fused, 1), Team(kernel, threads_of(kernel)), block_id(), is_part=True)


class PointPartsForm(FusedForm):
    """A thread for each part."""

    name = "point_parts"

    @classmethod
    def of(cls, group: Group, limits: Limits) -> PointPartsForm | None:
        return cls([group.first], limits) if isinstance(group, InParts) else None

    def blocks(self) -> Number:
        return as_index(ceil_divided(as_index(Points(self.ops[0]).count()), self.threads))

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        points, thread = Points(fused.main), thread_of_grid(kernel)
        when(thread < as_index(points.count()), lambda: reduce_part(points, thread))
