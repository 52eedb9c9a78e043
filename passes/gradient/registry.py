# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of derivatives by operator.

    @register_gradient("relax.sin")
    def sin(call):
        return relax.multiply(call.gradient, relax.cos(call.x))

A rule is given how the differentiated number changes with the operator's result, `call.gradient`, and returns how it
changes with the operands: one value, or a list with one for each operand. None says that nothing depends on it; a
function without arguments makes a value that is only wanted where an operand is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ...dialects.core.dialect import find_op
from ...support.registry import Registry, names_of

#: `rule(call)` returns the gradients of the operands, see above.
RuleFunction = Callable[[Any], Any]
Function = TypeVar("Function", bound=RuleFunction)


class GradientRule(NamedTuple):
    """How an operator is differentiated. `place` says where the rule is written."""

    op: str
    function: RuleFunction
    place: str

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


_RULES = Registry[GradientRule](
    lambda rule: (rule.op,),
    lambda rule, taken: f"'{rule.op}' has a rule for its derivative already: {taken.place}",
    families=f"{__package__}.rules",
)


def register_gradient(op: str | Sequence[str]) -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator's derivative (or several operators'); use it as a decorator.

    Refuses unknown operators, and a second rule for the same one.
    """

    def rules(function: Function, place: str) -> list[GradientRule]:
        _RULES.load()
        return [GradientRule(find_op(name).full_name, function, place) for name in names_of(op)]

    return _RULES.registering(rules)


def find_gradient(op: str) -> GradientRule | None:
    """The rule of an operator, if there is one."""
    _RULES.load()
    return next(iter(_RULES.tried(op)), None)


def all_gradients() -> list[GradientRule]:
    """Every rule, sorted by operator."""
    _RULES.load()
    return _RULES.all()
