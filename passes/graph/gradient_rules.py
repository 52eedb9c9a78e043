# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of derivatives by operator. The plug-in plugins/training has this project's rules, and calls all rules.

    @rx.rules.register_gradient("relax.sin")
    def sin(call):
        return relax.multiply(call.gradient, relax.cos(call.x))

A rule reads the gradient of the operator's result, `call.gradient`. It returns the gradients of the operands: one
value, or a list with one for each operand. None means no dependence. A function without arguments computes a
gradient only if the operand is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...dialects.core.dialect import find_op
from ...dialects.core.rules import OperatorRules, RuleByTypes
from ...support.argument_types import types_checked

#: `rule(call)` returns the gradients of the operands.
Function = TypeVar("Function", bound=Callable[[Any], object])
_RULES = OperatorRules(RuleByTypes, "a rule for its derivative", announced="gradients")


@types_checked
def register_gradient(op: str | Sequence[str], *, by_types: bool = False) -> Callable[[Function], Function]:
    """Register a function as the gradient rule of one or several operators. Use it as a decorator.

    `by_types` promises that only attributes, types and values of scalar constants determine the rule's result. The
    result is then reused for operators of the same types.

    Raises RelaxError for unknown operators, and for a second rule.
    """
    return _RULES.register(op, by_types=by_types)


#: Reasons why operators have no derivative.
_REASONS: dict[str, str] = {}


def no_gradient(ops: Sequence[str], reason: str) -> None:
    """State why operators have no derivative. A registered rule takes precedence."""
    _REASONS.update({find_op(op).full_name: reason for op in ops})


def reason_against(op: str) -> str | None:
    """Return the stated reason why an operator has no derivative, or None."""
    _RULES.load()
    return _REASONS.get(op)


def find_gradient(op: str) -> RuleByTypes | None:
    """Return the rule of an operator, or None."""
    return _RULES.find(op)


def all_gradients() -> list[RuleByTypes]:
    """Return all rules, sorted by operator."""
    return _RULES.all()
