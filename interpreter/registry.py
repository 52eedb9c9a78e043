# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registries of reference functions for operators, and of steps for the other operations of graphs.

    @rx.rules.register_reference("mynpu.scaled_relu")
    def scaled_relu(call, x):
        return numpy.maximum(x, 0) * call.scale

A reference function receives the call and the operands. The call has the attributes and `call.result`, the type of the
result, with numbers in place of symbols. Operands are arrays: None for an absent one, a tuple for a variadic one.
Shapes are tuples of sizes. Floats are f64 for all element types of the operator, and the returned values are rounded to
the operator's type. The function returns an array, or a list with one per result. With `stored=True` elements have
their own type. An operator's row can state the same function as `reference=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..dialects.core.rules import OperatorRule, OperatorRules
from ..support.argument_types import types_checked
from ..support.registry import Registry, names_of
from .sites import Site, Step

#: Signature `meaning(call, *operands)`, as described above.
Function = TypeVar("Function", bound=Callable[..., Any])
Prepare = TypeVar("Prepare", bound=Callable[[Site], Step])


@dataclass(frozen=True)
class Meaning(OperatorRule):
    """Reference function of an operator."""

    #: True if the function receives elements of their own type.
    stored: bool = False


_MEANINGS = OperatorRules(Meaning, "a reference", f"{__package__}.relax {__package__}.tir")


@types_checked
def register_reference(op: str | Sequence[str], *, stored: bool = False) -> Callable[[Function], Function]:
    """Register a function as the reference of one or more operators. Use it as a decorator.

    Unknown operators and a second reference of an operator are refused.
    """
    return _MEANINGS.register(op, stored=stored)


def find_reference(op: str) -> Meaning | None:
    """Return the registered reference of an operator, or None."""
    return _MEANINGS.find(op)


def all_references() -> list[Meaning]:
    """Return all references, sorted by operator."""
    return _MEANINGS.all()


@dataclass(frozen=True)
class _PreparedStep:
    op: str
    function: Callable[[Site], Step]
    place: str


_STEPS: Registry[_PreparedStep] = Registry(
    lambda step: (step.op,),
    lambda step, taken: f"'{step.op}' has a step already: {taken.place}",
    families=f"{__package__}.graph {__package__}.tir {__package__}.relax",
)


def register_step(op: str | Sequence[str]) -> Callable[[Prepare], Prepare]:
    """Register a function that prepares operations without a row in this project's tables. Use it as a decorator.

    The function reads an operation's attributes once, and returns the step to run each time. `mydialect.*` covers all
    operations of the dialect without a step of their own.
    """

    def steps(prepare: Callable[[Site], Step], place: str) -> list[_PreparedStep]:
        return [_PreparedStep(name, prepare, place) for name in names_of(op)]

    return _STEPS.registering(steps)


def find_prepared(op: str) -> _PreparedStep | None:
    return _STEPS.find(op) or _STEPS.find(f"{op.partition('.')[0]}.*")


def find_step(op: str) -> Callable[[Site], Step] | None:
    found = find_prepared(op)
    return None if found is None else found.function


# ---- run-time checks of sizes that types do not state: they raise ValueError, as programs do ----


def require_same(one: int, other: int, what: str) -> None:
    if one != other:
        raise ValueError(f"{what}: sizes {one} and {other} differ")


def require_at_most(size: int, most: int, what: str) -> None:
    if size > most:
        raise ValueError(f"{what}: size {size} is larger than {most}")
