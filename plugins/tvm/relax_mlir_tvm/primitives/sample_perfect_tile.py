# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_perfect_tile: draws factors for a split."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relax_mlir.primitives import Edit, LoopRV
from relax_mlir.schedules import register_primitive


@register_primitive
def sample_perfect_tile(
    edit: Edit, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
) -> list[int]:
    """Draw `n` numbers for `split` with a loop's number of steps as their product. The last number has a limit."""
    extent = steps_of(edit, loop, n)
    if decision is None:
        decision = drawn_factors(edit, extent, n, max_innermost_factor)
    check_product(edit, decision, n, extent)
    return edit.decided(list(decision))


def steps_of(edit: Edit, loop: LoopRV, n: int) -> int:
    found = edit.loop(loop)
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' has {found.extent} steps, which is known at run time only")
    if n < 1:
        edit.refuse(f"expected at least one factor, got n = {n}")
    return found.extent


def check_product(edit: Edit, decision: Sequence[int], n: int, extent: int) -> None:
    if len(decision) != n or prod(decision) != extent:
        edit.refuse(f"the decision {list(decision)} is not {n} numbers with the product {extent}")


def divisors(number: int) -> list[int]:
    small = [each for each in range(1, int(number**0.5) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


def drawn_factors(edit: Edit, extent: int, n: int, largest: int) -> list[int]:
    """Draw factors from the innermost on, each a divisor of the remaining extent."""
    factors: list[int] = []
    for place in range(n - 1):
        fitting = [each for each in divisors(extent) if place or each <= largest]
        factors.insert(0, edit.random.choice(fitting))
        extent //= factors[0]
    return [extent, *factors]
