# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of derivatives by operator, and what they see.

    @register_gradient("relax.sin")
    def sin(call):
        return relax.multiply(call.gradient, relax.cos(call.x))

A rule is given how the differentiated number changes with the operator's result, `call.gradient`, and returns how it
changes with the operands: one value, or a list with one for each operand. None says that nothing depends on it; a
function without arguments makes a value that is only wanted where an operand is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from ...bindings.ir import Operation, Value
from ...dialects import relax
from ...dialects.core.dialect import find_op
from ...dialects.core.opdef import OpDef
from ...dialects.core.rules import OperatorRules, RuleByTypes
from ...dialects.core.verifier import call_of
from ...dialects.script.value_names import location_name
from ...support.argument_types import types_checked
from ...support.errors import RefusalError, RelaxError


def named(operation: Operation) -> str:
    """An operation for messages: its operator, and its node's name where it has one."""
    name = location_name(operation.location)
    return f"'{operation.name}' (node '{name}')" if name else f"'{operation.name}'"


class UnknownSizes(RefusalError):
    """A rule wants sizes that have no name: it is asked again of the operator on sizes with names."""


class GradientCall:
    """Operands are values (None for an absent one, a tuple for a variadic one), attributes Python's, by their names."""

    def __init__(self, definition: OpDef, operation: Operation, gradients: list[Any]):
        #: As inference sees it.
        self.inferred = call = call_of(definition, operation)
        #: How many values each operand is.
        self.segments = [len(each) if type(each) is tuple else int(each is not None) for each in call.operands.values()]
        self._named = {**definition.segment(list(operation.operands), self.segments), **call.attributes}
        self._gradients = gradients
        self.operation = operation
        #: The operands in the order of the operation.
        self.operands: list[Value] = list(operation.operands)
        #: What the operator has computed.
        self.results: list[Value] = list(operation.results)

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("_named", {})
        if name not in held:
            raise AttributeError(f"{self.operation.name} has no operand or attribute '{name}' (it has {list(held)})")
        return held[name]

    @property
    def result(self) -> Value:
        return self.results[0]

    @property
    def gradient(self) -> Value:
        """How the differentiated number changes with the (first) result."""
        return self.gradients[0]

    @property
    def gradients(self) -> list[Value]:
        """As `gradient`, for each of the results."""
        for index, result in enumerate(self.results):
            if self._gradients[index] is None:
                self._gradients[index] = relax.zeros_like(result)
        return self._gradients

    @property
    def arriving(self) -> Sequence[Value | None]:
        """As `gradients`, None where the differentiated number does not change with a result."""
        return self._gradients

    def arrives_at(self, index: int) -> bool:
        """Whether the differentiated number changes with a result."""
        return self._gradients[index] is not None

    def fail(self, reason: str) -> RelaxError:
        """`raise call.fail("...")`: this use of the operator cannot be differentiated."""
        return RefusalError(f"{named(self.operation)} cannot be differentiated: {reason}")


#: `rule(call)` returns the gradients of the operands, see above.
Gradient: TypeAlias = Value | Callable[[], Value] | None
Gradients: TypeAlias = Gradient | Sequence[Gradient]
Function = TypeVar("Function", bound=Callable[[GradientCall], Gradients])
_RULES = OperatorRules(RuleByTypes, "a rule for its derivative", f"{__package__}.rules")


@types_checked
def register_gradient(op: str | Sequence[str], *, by_types: bool = False) -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator's derivative (or several operators'); use it as a decorator.

    `by_types` promises that attributes, types and the values of scalar constants alone decide what it makes: then
    what it made once is made again for operators of the same types without asking.

    Refuses unknown operators, and a second rule for the same one.
    """
    return _RULES.register(op, by_types=by_types)


#: Why operators have no derivative.
_REASONS: dict[str, str] = {}


def no_gradient(ops: Sequence[str], reason: str) -> None:
    """Says why operators have no derivative; who knows better registers a rule all the same."""
    _REASONS.update({find_op(op).full_name: reason for op in ops})


def reason_against(op: str) -> str | None:
    """Why an operator has no derivative, if that is known."""
    _RULES.load()
    return _REASONS.get(op)


def find_gradient(op: str) -> RuleByTypes | None:
    """The rule of an operator, if there is one."""
    return _RULES.find(op)


def all_gradients() -> list[RuleByTypes]:
    """Every rule, sorted by operator."""
    return _RULES.all()
