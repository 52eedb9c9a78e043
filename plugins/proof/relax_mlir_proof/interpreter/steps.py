# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of steps, which run operations of graphs that are no operators, and checks of sizes at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from relax_mlir.dialects.core.rules import OperatorRule
from relax_mlir.support.registry import Registry, names_of

from .sites import Site, Step

Prepare = TypeVar("Prepare", bound=Callable[[Site], Step])


#: The families of operators register their references, too.
STEPS: Registry[OperatorRule] = Registry(
    lambda step: (step.op,),
    lambda step, taken: f"'{step.op}' has a step already: {taken.place}",
    families=f"{__package__}.graph {__package__}.tir {__package__}.relax",
)


def register_step(op: str | Sequence[str]) -> Callable[[Prepare], Prepare]:
    """Register a function that prepares operations without a row in this project's tables. Use it as a decorator.

    The function reads an operation's attributes once, and returns the step to run each time. `mydialect.*` covers all
    operations of the dialect without a step of their own.
    """

    def steps(prepare: Callable[[Site], Step], place: str) -> list[OperatorRule]:
        return [OperatorRule(name, prepare, place) for name in names_of(op)]

    return STEPS.registering(steps)


def find_step(op: str) -> Callable[[Site], Step] | None:
    found = STEPS.find(op) or STEPS.find(f"{op.partition('.')[0]}.*")
    return None if found is None else found.function


# ---- run-time checks of sizes that types do not state: they raise ValueError, as programs do ----


def require_same(one: int, other: int, what: str) -> None:
    if one != other:
        raise ValueError(f"{what}: sizes {one} and {other} differ")


def require_at_most(size: int, most: int, what: str) -> None:
    if size > most:
        raise ValueError(f"{what}: size {size} is larger than {most}")
