# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registries of what operations mean: operators by functions of arrays, upstream's operations by steps.

    @rx.rules.register_reference("mynpu.scaled_relu")
    def scaled_relu(call, x):
        return numpy.maximum(x, 0) * call.scale

A meaning is given the call, of which it reads attributes and `call.result`, the type of what it gives, with the sizes
that symbols stand for, and the operands: arrays (None for an absent one, a tuple for a variadic one), of shapes tuples
of sizes. Floats come in f64 whatever the operator's type is, and what is returned is rounded to that: an array, or a
list with one for each result. With `stored=True` elements have their own type. An operator's row may have the same
function: `reference=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..dialects.core.rules import OperatorRule, OperatorRules
from ..support.argument_types import types_checked
from ..support.registry import Registry, names_of
from .sites import Site, Step

#: `meaning(call, *operands)`, see above.
Function = TypeVar("Function", bound=Callable[..., Any])
Prepare = TypeVar("Prepare", bound=Callable[[Site], Step])


@dataclass(frozen=True)
class Meaning(OperatorRule):
    """What an operator means."""

    #: Whether it is given elements of their own type.
    stored: bool = False


_MEANINGS = OperatorRules(Meaning, "a reference", f"{__package__}.relax {__package__}.tir")


@types_checked
def register_reference(op: str | Sequence[str], *, stored: bool = False) -> Callable[[Function], Function]:
    """Registers a function as what an operator (or several) means; use it as a decorator.

    Refuses unknown operators, and a second meaning of the same one.
    """
    return _MEANINGS.register(op, stored=stored)


def find_reference(op: str) -> Meaning | None:
    """What an operator means, where that is written."""
    return _MEANINGS.find(op)


def all_references() -> list[Meaning]:
    """Every one, sorted by operator."""
    return _MEANINGS.all()


@dataclass(frozen=True)
class _PreparedStep:
    op: str
    function: Callable[[Site], Step]
    place: str


_STEPS: Registry[_PreparedStep] = Registry(
    lambda step: (step.op,),
    lambda step, taken: f"'{step.op}' has a step already: {taken.place}",
    families=f"{__package__}.upstream {__package__}.tir {__package__}.relax",
)


def register_step(op: str | Sequence[str]) -> Callable[[Prepare], Prepare]:
    """Registers how an operation without a row in this project's tables is run: the function reads its attributes once,
    and returns what is done each time it is reached. `mydialect.*` is for all that the dialect has no other step for.
    """

    def steps(prepare: Callable[[Site], Step], place: str) -> list[_PreparedStep]:
        return [_PreparedStep(name, prepare, place) for name in names_of(op)]

    return _STEPS.registering(steps)


def find_prepared(op: str) -> _PreparedStep | None:
    return _STEPS.find(op) or _STEPS.find(f"{op.partition('.')[0]}.*")


def find_step(op: str) -> Callable[[Site], Step] | None:
    found = find_prepared(op)
    return None if found is None else found.function


# ---- sizes that types do not state, and that must fit when an operator runs: a ValueError, as of programs ----


def require_same(one: int, other: int, what: str) -> None:
    if one != other:
        raise ValueError(f"{what}: sizes {one} and {other} differ")


def require_at_most(size: int, most: int, what: str) -> None:
    if size > most:
        raise ValueError(f"{what}: size {size} is larger than {most}")
