# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a rule of a derivative sees: one use of an operator, and how the differentiated number changes with it."""

from __future__ import annotations

from typing import Any

from ...dialects.core.opdef import OpDef
from ...dialects.core.verifier import call_of
from ...dialects.relax import dialect
from ...dialects.script.names import location_name
from ...support.errors import RelaxError

relax = dialect.ops


def named(operation: Any) -> str:
    """An operation for messages: its operator, and its node's name where it has one."""
    name = location_name(operation.location)
    return f"'{operation.name}' (node '{name}')" if name else f"'{operation.name}'"


class GradientCall:
    """Operands are values (None for an absent one, a tuple for a variadic one), attributes Python's, by their names."""

    def __init__(self, definition: OpDef, operation: Any, gradients: list[Any]):
        call = call_of(definition, operation)
        sizes = [len(each) if type(each) is tuple else int(each is not None) for each in call.operands.values()]
        self._named = {**definition.segment(list(operation.operands), sizes), **call.attributes}
        self._gradients = gradients
        self.operation = operation
        #: The operands in the order of the operation.
        self.operands: list[Any] = list(operation.operands)
        #: What the operator has computed.
        self.results: list[Any] = list(operation.results)

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("_named", {})
        if name not in held:
            raise AttributeError(f"{self.operation.name} has no operand or attribute '{name}' (it has {list(held)})")
        return held[name]

    @property
    def result(self) -> Any:
        return self.results[0]

    @property
    def gradient(self) -> Any:
        """How the differentiated number changes with the (first) result."""
        return self.gradients[0]

    @property
    def gradients(self) -> list[Any]:
        """As `gradient`, for each of the results."""
        for index, result in enumerate(self.results):
            if self._gradients[index] is None:
                self._gradients[index] = relax["zeros_like"](result)
        return self._gradients

    def arrives_at(self, index: int) -> bool:
        """Whether the differentiated number changes with a result."""
        return self._gradients[index] is not None

    def fail(self, reason: str) -> RelaxError:
        """`raise call.fail("...")`: this use of the operator cannot be differentiated."""
        return RelaxError(f"{named(self.operation)} cannot be differentiated: {reason}")
