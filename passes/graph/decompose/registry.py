# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of decompositions of operators into others, by operator.

    rx.rules.register_decomposition("mynpu.scaled_relu")(lambda op, x: relax.multiply(relax.nn.relu(x), op.scale))

A definition receives the operation, for its attributes, and the operands: None for an absent one, a tuple for a
variadic one. The definition returns the values that replace the results. It raises `rx.Decline` with the reason for
uses that it does not cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ....bindings.ir import OpView, Value
from ....bindings.mlir import as_list
from ....bindings.rewriting import Decline, blaming_at
from ....dialects.core.rules import OperatorRules, RuleByTypes
from ....support.argument_types import types_checked

#: `definition(op, *operands)` returns a value, or one for each result.
Function = TypeVar("Function", bound=Callable[..., Any])
_DECOMPOSITIONS = OperatorRules(RuleByTypes, "a decomposition", f"{__package__}.definitions")


@types_checked
def register_decomposition(op: str | Sequence[str], *, by_types: bool = False) -> Callable[[Function], Function]:
    """Register a function as the decomposition of one or more operators. Use it as a decorator.

    `by_types` promises that the definition depends only on attributes, types and values of scalar constants. The
    derivative in relax-gradient is then built once for all operators of the same types.

    Unknown operators and a second decomposition of an operator are refused.
    """
    return _DECOMPOSITIONS.register(op, by_types=by_types)


def find_decomposition(op: str) -> RuleByTypes | None:
    """Return the decomposition of an operator, or None."""
    return _DECOMPOSITIONS.find(op)


def all_decompositions() -> list[RuleByTypes]:
    """Return all decompositions, sorted by operator."""
    return _DECOMPOSITIONS.all()


def decomposed(types: RuleByTypes, op: OpView, values: Sequence[Value] | None = None) -> list[Value]:
    """Return the values that replace an operation's results, before casts to their types. Raise Decline.

    `values` replace the operation's operands, if given.
    """
    sizes = list(op.operation.attributes["operandSegmentSizes"]) if op.definition.segmented else None
    operands = op.definition.segment(list(op.operation.operands if values is None else values), sizes)
    with blaming_at(lambda: f"the decomposition of '{types.op}'", types.function, op, Decline):
        return list(as_list(types.function(op, *operands.values())))
