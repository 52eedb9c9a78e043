# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of products: the rectangle of a block of threads, its steps in shared memory, and their stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....passes.loops.schedule import Schedule
from ..planned.group import PlannedGroup, Tile, check_group

_ROWS = (1, 2, 4, 8, 16)
_VECTORS = (1, 2, 4)
_THREADS = (2, 4, 8, 16, 32, 64)
_DEPTHS = (4, 8, 16, 32, 64)
_STAGES = (1, 2, 3, 4)


def decided_product(sch: Schedule, group: PlannedGroup) -> PlannedGroup:
    """Return a planned product with the decisions of a search, or as it is by default.

    Products by instructions, and products with threads that share the steps, have no decisions. Raises Decline if the
    decisions do not fit a block of threads.
    """
    plan = group.plan
    tile = Tile(plan)
    if plan.instruction is not None or tile.steps in dict(plan.threads) or not plan.blocks:
        return group
    sizes, threads = dict(plan.tile), dict(plan.threads)
    for dim, counts in ((tile.rows, _ROWS), (tile.columns, _VECTORS)):
        if dim is not None:
            sizes[dim] = _decided(sch, counts, sizes.get(dim, 1))
            threads[dim] = _decided(sch, _THREADS, threads.get(dim, 1))
    depth = _decided(sch, _DEPTHS, tile.depth)
    stages = _decided(sch, _STAGES, plan.stages) if plan.stages > 1 else plan.stages
    changed = replace(
        plan,
        tile=sizes,
        threads=tuple((dim, threads[dim]) for dim in threads),
        blocks=((tile.steps, depth),),
        stages=stages,
    )
    made = replace(group, plan=changed)
    check_group(made)
    return made


def _decided(sch: Schedule, values: Sequence[int], default: int) -> int:
    made: int = sch.sample_categorical(sorted({*values, default}), default=default)
    return made
