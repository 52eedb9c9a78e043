# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Space of a product on a GPU: the rectangle of a block of threads, its steps in shared memory, and their stages."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import ClassVar

import relax_mlir as rx
from relax_mlir.bindings.rewriting import Decline
from relax_mlir.emit.structured import StructuredOp
from relax_mlir.schedules import Plan
from relax_mlir.targets.gpu.planned.group import PlannedGroup, Tile
from relax_mlir.targets.gpu.planned.product_kernels import check

from .space import Space, machine_of

_ROWS = (1, 2, 4, 8, 16)
_VECTORS = (1, 2, 4)
_THREADS = (2, 4, 8, 16, 32, 64)
_DEPTHS = (4, 8, 16, 32, 64)
_STAGES = (2, 3, 4)


class BlockSpace(Space):
    """Plans of a GPU's products, beginning with the plans of the target's rules."""

    fits_neighbours: ClassVar[bool] = False

    def can_change(self, op: StructuredOp, plan: Plan) -> bool:
        """Check for a plan with steps in shared memory.

        Products by instructions, and products with threads that share the steps, keep their plans.
        """
        return plan.instruction is None and bool(plan.blocks) and Tile(plan).steps not in dict(plan.threads)

    def changed(self, op: StructuredOp, plan: Plan, random: Random) -> Plan:
        """Return a plan with one to three changes. Raise Decline if it does not fit."""
        for _ in range(random.choice((1, 1, 2, 3))):
            plan = _change(plan, random)
        threads, most = Tile(plan).threads, self.machine.block_threads
        if threads > most:
            raise Decline(f"{threads} threads are more than a block of this GPU may have: {most}")
        check(PlannedGroup(op, plan))
        return plan

    def numbers(self, op: StructuredOp, plan: Plan) -> list[float]:
        """Return numbers that describe a plan."""
        tile = Tile(plan)
        counts = [tile.rows_of_thread, tile.vectors_of_thread, tile.depth, plan.stages]
        return [math.log2(count) for count in (*counts, *map(tile.threads_along, (tile.rows, tile.columns)))]


def plan_space(planned: rx.Module, target: str) -> Space:
    """Return the space of the plans of a kernel, which has plans for a CPU or a GPU."""
    return (BlockSpace if machine_of(target).shared_bytes else Space)(planned, target)


def _change(plan: Plan, random: Random) -> Plan:
    """Change one number of a plan."""
    tile = Tile(plan)
    dim = random.choice([dim for dim in (tile.rows, tile.columns) if dim is not None])
    if (kind := random.choice(("points", "threads", "depth", "stages"))) == "points":
        counts = _ROWS if dim == tile.rows else _VECTORS
        return replace(plan, tile={**plan.tile, dim: random.choice(counts)})
    if kind == "threads":
        return replace(plan, threads=tuple({**dict(plan.threads), dim: random.choice(_THREADS)}.items()))
    if kind == "depth":
        return replace(plan, blocks=((tile.steps, random.choice(_DEPTHS)),))
    # A reduction of a single block of steps has one stage.
    return replace(plan, stages=random.choice(_STAGES)) if plan.stages > 1 else plan
