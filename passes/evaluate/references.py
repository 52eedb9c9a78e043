# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of reference functions, which define operators in NumPy. `rx.reference` of plugins/proof runs them.

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

from ...dialects.core.opdef import OpDef
from ...dialects.core.rules import OperatorRule, OperatorRules
from ...support.argument_types import types_checked
from .registry import find_evaluation

#: Signature `meaning(call, *operands)`, as described above.
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Meaning(OperatorRule):
    """Reference function of an operator."""

    #: True if the function receives elements of their own type.
    stored: bool = False


_MEANINGS = OperatorRules(Meaning, "a reference", announced="references")


@types_checked
def register_reference(op: str | Sequence[str], *, stored: bool = False) -> Callable[[Function], Function]:
    """Register a function as the reference of one or more operators. Use it as a decorator.

    Unknown operators and a second reference of an operator are refused.
    """
    return _MEANINGS.register(op, stored=stored)


def meaning_of(row: OpDef) -> Meaning | None:
    """Return an operator's reference: its row's `reference=`, a registered one, or its evaluation of known elements."""
    if row.reference is not None:
        return Meaning(row.full_name, row.reference, row.place)
    if (found := _MEANINGS.find(row.full_name)) is not None:
        return found
    evaluation = find_evaluation(row.full_name)
    return None if evaluation is None else Meaning(row.full_name, evaluation.function, evaluation.place, stored=True)


def all_references() -> list[Meaning]:
    """Return all references, sorted by operator."""
    return _MEANINGS.all()
