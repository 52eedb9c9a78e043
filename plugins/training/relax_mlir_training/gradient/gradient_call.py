# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of operators as rules of derivatives receive them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.opdef import OpDef
from relax_mlir.dialects.core.verifier import call_of
from relax_mlir.dialects.script.value_names import location_name
from relax_mlir.support.errors import RefusalError, RelaxError


def named(operation: Operation) -> str:
    """Return an operation for messages: its operator, and its node's name if it has one."""
    name = location_name(operation.location)
    return f"'{operation.name}' (node '{name}')" if name else f"'{operation.name}'"


class UnknownSizes(RefusalError):
    """Refusal because sizes have no name. The rule is then called again for the operator on named sizes."""


class GradientCall:
    """Operator call for a rule, with operands and attributes by name.

    Operands are values, None if absent, or tuples if variadic. Attributes are Python values.
    """

    def __init__(self, definition: OpDef, operation: Operation, gradients: list[Any]):
        #: The call as inference sees it.
        self.inferred = call = call_of(definition, operation)
        #: Number of values of each operand.
        self.segments = [
            len(operand) if type(operand) is tuple else int(operand is not None) for operand in call.operands.values()
        ]
        self._named = {**definition.segment(list(operation.operands), self.segments), **call.attributes}
        self._gradients = gradients
        self.operation = operation
        #: The operands in the order of the operation.
        self.operands: list[Value] = list(operation.operands)
        #: The operator's results.
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
        """The gradient of the (first) result."""
        return self.gradients[0]

    @property
    def gradients(self) -> list[Value]:
        """The gradients of all results, as in `gradient`."""
        for index, result in enumerate(self.results):
            if self._gradients[index] is None:
                self._gradients[index] = relax.zeros_like(result)
        return self._gradients

    @property
    def arriving(self) -> Sequence[Value | None]:
        """The gradients of all results, or None for results that the differentiated number does not depend on."""
        return self._gradients

    def arrives_at(self, index: int) -> bool:
        """Check whether the differentiated number depends on a result."""
        return self._gradients[index] is not None

    def fail(self, reason: str) -> RelaxError:
        """Return an error for a use that cannot be differentiated: `raise call.fail("...")`."""
        return RefusalError(f"{named(self.operation)} cannot be differentiated: {reason}")


#: Result of `rule(call)`: the gradients of the operands.
Gradient: TypeAlias = Value | Callable[[], Value] | None
Gradients: TypeAlias = Gradient | Sequence[Gradient]
