# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_partitioned_tile: draws factors for a split with a constraint on the inner ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relax_mlir.passes.kernels.loops.handles import LoopRV
from relax_mlir.passes.kernels.loops.primitives import Edit
from relax_mlir.passes.kernels.primitives.factors import check_factors, divisors, draw_factors, static_steps
from relax_mlir.schedules import register_primitive


@register_primitive
def sample_partitioned_tile(
    edit: Edit,
    loop: LoopRV,
    n: int,
    partition_pos: int = 0,
    innerpart_factor: int = 1,
    decision: Sequence[int] | None = None,
) -> list[int]:
    """Draw `n` numbers with a loop's number of steps as their product.

    From `partition_pos` on, their product is a multiple of `innerpart_factor`.
    """
    extent = static_steps(edit, loop, n)
    if not 0 <= partition_pos <= n or innerpart_factor < 1:
        edit.refuse(f"partition_pos must be from 0 to {n}, and innerpart_factor at least 1")
    if decision is None:
        decision = _drawn(edit, extent, n, partition_pos, innerpart_factor)
    check_factors(edit, decision, n, extent)
    if prod(decision[partition_pos:]) % innerpart_factor:
        edit.refuse(f"the product of {list(decision[partition_pos:])} is no multiple of {innerpart_factor}")
    return edit.decided(list(decision))


def _drawn(edit: Edit, extent: int, n: int, place: int, factor: int) -> list[int]:
    if extent % factor or (place == n and factor > 1):
        edit.refuse(f"{extent} steps cannot be split so that the inner ones are a multiple of {factor}")
    inner = extent if place == 0 else factor * edit.random.choice(divisors(extent // factor)) if place < n else 1
    outer = draw_factors(edit, extent // inner, place, extent) if place else []
    return [*outer, *(draw_factors(edit, inner, n - place, extent) if place < n else [])]
