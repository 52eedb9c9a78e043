# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what calls of kernels and parts give results of the function, so that one can look at it where it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.diagnostics import origins
from ..bindings.ir import Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import (
    body_of,
    functions_in,
    has_body,
    is_private,
    last_of,
    operations_of,
    symbol_name,
    use_count,
)
from ..dialects.core.codec import decode
from ..dialects.core.infos import TensorInfo
from ..dialects.core.ir_attributes import INPUT_GROUPS, PRIM_FUNC, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from ..support.errors import OptionError
from .core.base import Pass
from .core.registry import register_pass
from .params.signature import state_type

#: What gives values that are there when the program runs.
CALLS = ("relax.call_tir", "relax.call_external", "relax.call_dps_packed")
#: What says how callers see results and arguments.
_OF_RESULTS = (RESULT_NAMES, RESULT_GROUPS, STRUCTURE)
_OF_ARGUMENTS = (INPUT_GROUPS,)


@register_pass
@dataclass(frozen=True)
class Observe(Pass):
    """Adds the tensors that calls of kernels and parts give to the results of public functions, behind their own."""

    name: ClassVar[str] = "relax-observe"

    #: The place of one call: functions become that call alone, what it is given are their arguments.
    only: int = -1

    def run(self, op: Operation) -> None:
        for function in functions_in(op):
            if not has_body(function) or is_private(function) or PRIM_FUNC in function.attributes:
                continue
            if self.only < 0:
                _observe(function)
            else:
                _leave_alone(function, self.only)


def _observe(function: Operation) -> None:
    returned = last_of(body_of(function))
    _return(function, [*returned.operands, *observed_values(function)])
    state_type(function)


def _leave_alone(function: Operation, place: int) -> None:
    block, calls = body_of(function), observed_calls(function)
    if place >= len(calls):
        raise OptionError(f"relax-observe: only={place}, but @{symbol_name(function)} has {len(calls)} calls")
    call, own = calls[place], len(block.arguments)
    for index, value in enumerate(list(call.operands)):
        if isinstance(value.type, ir.RankedTensorType):
            call.operands[index] = block.add_argument(value.type, call.location)
    _return(function, list(call.results))
    for operation in reversed(operations_of(block)[:-1]):
        if operation != call and not any(map(use_count, operation.results)):
            operation.erase()
    for _ in range(own):
        block.erase_argument(0)
    for name in (*_OF_ARGUMENTS, "arg_attrs"):
        if name in function.attributes:
            del function.attributes[name]
    state_type(function)


def _return(function: Operation, values: Sequence[Value]) -> None:
    returned = last_of(body_of(function))
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create("func.return", operands=list(values))
    returned.erase()
    for name in _OF_RESULTS:
        if name in function.attributes:
            del function.attributes[name]


def observed_calls(function: Operation) -> list[Operation]:
    """The calls of a function whose values are there to be looked at, in their order."""
    return [each for each in operations_of(body_of(function)) if each.name in CALLS]


def observed_values(function: Operation) -> list[Value]:
    """The tensors that they give."""
    values = (value for call in observed_calls(function) for value in call.results)
    return [value for value in values if isinstance(decode(value.type), TensorInfo)]


def nodes_of(call: Operation) -> list[str]:
    """Where a call comes from: the nodes of the model that it computes, the last one is what it gives."""
    return [origin.name for origin in origins(call.location)]
