# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors of loops, for primitives that decide how a loop is split."""

from __future__ import annotations

from collections.abc import Sequence

from ..loops.decisions import TileDecision
from ..loops.handles import LoopRV
from ..loops.primitives import Edit


def static_steps(edit: Edit, loop: LoopRV, count: int) -> int:
    """Return the number of steps of a loop that is split into factors. Refuses a dynamic number, and wrong counts."""
    found = edit.loop(loop)
    if not isinstance(found.extent, int):
        edit.refuse(f"'{found.name}' has {found.extent} steps, which is known at run time only")
    if not 1 <= count <= 64:
        edit.refuse(f"expected 1 to 64 factors, got n = {count}")
    return found.extent


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, sorted."""
    small = [index for index in range(1, int(number**0.5) + 1) if number % index == 0]
    return sorted({*small, *(number // each for each in small)})


def draw_factors(edit: Edit, extent: int, count: int, largest: int) -> list[int]:
    """Draw factors from the innermost on, each a divisor of the remaining extent."""
    factors: list[int] = []
    for place in range(count - 1):
        factors.insert(0, edit.random.choice([divisor for divisor in divisors(extent) if place or divisor <= largest]))
        extent //= factors[0]
    return [extent, *factors]


def check_factors(edit: Edit, decision: Sequence[int], count: int, extent: int) -> None:
    """Refuse factors that are not `count` numbers with the product `extent`."""
    if problem := TileDecision(extent, count, extent, (), ()).refusal(tuple(decision)):
        edit.refuse(problem)
