# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of decompositions: an operator in terms of others, by its name.

    rx.rules.register_decomposition("mynpu.scaled_relu")(lambda op, x: relax.multiply(relax.nn.relu(x), op.scale))

A definition is given the operation, of which it reads the attributes, and its operands (None for an absent one, a
tuple for a variadic one), and returns what takes the place of its results. It raises `rx.Decline` with the reason where
it is right for some uses only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...bindings.ir import OpView, Value
from ...bindings.mlir import as_list
from ...bindings.rewriting import Decline, blaming_at
from ...dialects.core.rules import OperatorRules, RuleByTypes
from ...support.argument_types import types_checked

#: `definition(op, *operands)` returns a value, or one for each result.
Function = TypeVar("Function", bound=Callable[..., Any])
_DECOMPOSITIONS = OperatorRules(RuleByTypes, "a decomposition", f"{__package__}.definitions")


@types_checked
def register_decomposition(op: str | Sequence[str], *, by_types: bool = False) -> Callable[[Function], Function]:
    """Registers a function as what an operator (or several) is in terms of others; use it as a decorator.

    `by_types` promises that attributes, types and the values of scalar constants alone decide what it makes: then
    relax-gradient makes the derivative of it once for all operators of the same types.

    Refuses unknown operators, and a second decomposition of the same one.
    """
    return _DECOMPOSITIONS.register(op, by_types=by_types)


def find_decomposition(op: str) -> RuleByTypes | None:
    """The decomposition of an operator, if there is one."""
    return _DECOMPOSITIONS.find(op)


def all_decompositions() -> list[RuleByTypes]:
    """Every decomposition, sorted by operator."""
    return _DECOMPOSITIONS.all()


def decomposed(found: RuleByTypes, op: OpView, values: Sequence[Value] | None = None) -> list[Value]:
    """What takes the place of an operation's results, not yet of their types. Raises Decline.

    `values` are taken for its operands, if given.
    """
    sizes = list(op.operation.attributes["operandSegmentSizes"]) if op.definition.segmented else None
    operands = op.definition.segment(list(op.operation.operands if values is None else values), sizes)
    with blaming_at(lambda: f"the decomposition of '{found.op}'", found.function, op, Decline):
        return list(as_list(found.function(op, *operands.values())))
