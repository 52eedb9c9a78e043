# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_perfect_tile: factors that are drawn for a split."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..loops.handles import LoopRV
from ..loops.primitives import Edit, register_primitive


@register_primitive
def sample_perfect_tile(
    edit: Edit, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None
) -> list[int]:
    """Draws `n` numbers whose product is a loop's number of steps, for `split`; the last is not above a limit."""
    extent = steps_of(edit, loop, n)
    if decision is None:
        decision = drawn_factors(edit, extent, n, max_innermost_factor)
    check_product(edit, decision, n, extent)
    return edit.decided(list(decision))


def steps_of(edit: Edit, loop: LoopRV, n: int) -> int:
    found = edit.loop(loop)
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' goes {found.extent} times, which is known at run time only")
    if n < 1:
        edit.refuse(f"expected at least one factor, got n = {n}")
    return found.extent


def check_product(edit: Edit, decision: Sequence[int], n: int, extent: int) -> None:
    if len(decision) != n or prod(decision) != extent:
        edit.refuse(f"the decision {list(decision)} is not {n} numbers whose product is {extent}")


def divisors(number: int) -> list[int]:
    small = [each for each in range(1, int(number**0.5) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


def drawn_factors(edit: Edit, extent: int, n: int, largest: int) -> list[int]:
    """From the innermost on: each a divisor of what is left."""
    factors: list[int] = []
    for place in range(n - 1):
        fitting = [each for each in divisors(extent) if place or each <= largest]
        factors.insert(0, edit.random.choice(fitting))
        extent //= factors[0]
    return [extent, *factors]
