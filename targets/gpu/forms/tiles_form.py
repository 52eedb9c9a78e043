# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles: planned reduction with its epilogues."""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation
from ....emit.numbers import Number, as_index
from ....emit.structured import analyze
from ....passes.kernels.schedule.plan import Plan
from ..emit.threads import block_id, thread_id
from ..kernels.fused import Fused
from ..planned import product_kernels
from .form import FusedForm, Group, Limits


@dataclass(frozen=True)
class TilesForm(FusedForm):
    """A block for each rectangle of the result."""

    name = "tiles"

    main: Operation
    plan: Plan

    @classmethod
    def of(cls, group: Group, limits: Limits) -> TilesForm | None:
        if not isinstance(group, Fused) or group.plan is None:
            return None
        return cls(group.ops, limits, group.main, group.plan)

    def blocks(self) -> Number:
        return as_index(product_kernels.blocks(analyze(self.main, on_memrefs=True), self.plan))

    @property
    def threads(self) -> int:
        return product_kernels.threads(self.plan)

    @staticmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        product_kernels.write(fused.planned(), block_id(), thread_id())
