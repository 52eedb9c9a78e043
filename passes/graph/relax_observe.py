# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observation of intermediate values: results of kernels and parts become results of the function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...bindings.diagnostics import origins
from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import (
    body_of,
    functions_in,
    has_body,
    is_private,
    last_of,
    operations_of,
    symbol_name,
    use_count,
)
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import TensorInfo, tensor
from ...dialects.core.ir_attributes import INPUT_GROUPS, PRIM_FUNC, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from ...dialects.core.substitute import dims_of, symbols_in
from ...dialects.relax.known_constants import is_constant
from ...support.errors import OptionError
from ..core.base import Pass
from ..core.registry import register_pass
from .params.signature import state_type

#: Operations with results that exist when the program runs.
CALLS = ("relax.call_tir", "relax.call_external", "relax.call_dps_packed")
#: Attributes that describe to callers the results and arguments.
_OF_RESULTS = (RESULT_NAMES, RESULT_GROUPS, STRUCTURE)
_OF_ARGUMENTS = (INPUT_GROUPS, "arg_attrs")


@register_pass
class Observe(Pass):
    """Add @f_observed for each public function f: results of all calls of kernels and parts follow its own results.

    Also adds @f_observed_0, @f_observed_1, ...: each contains one of these calls, with the operands as arguments.
    """

    name: ClassVar[str] = "relax-observe"

    def run(self, op: Operation) -> None:
        names = {symbol_name(each) for each in functions_in(op)}
        for function in list(functions_in(op)):
            if not has_body(function) or is_private(function) or PRIM_FUNC in function.attributes:
                continue
            if (name := observed_name(symbol_name(function))) in names:
                raise OptionError(f"relax-observe: there is a function @{name} already: the pass needs this name")
            _observe(_copy_function(function, op, name))
            for place in range(len(observed_calls(function))):
                alone = _copy_function(function, op, observed_name(symbol_name(function), place))
                if not leave_alone(alone, place):
                    alone.erase()


def observed_name(function: str, place: int | None = None) -> str:
    """Return the name of the function that observes all calls, or the call at `place`."""
    return f"{function}_observed" if place is None else f"{function}_observed_{place}"


def _copy_function(function: Operation, module: Operation, name: str) -> Operation:
    with function.context, function.location:
        copied: Operation = function.clone(ip=ir.InsertionPoint(body_of(module))).operation
        copied.attributes["sym_name"] = ir.StringAttr.get(name)
    return copied


def _observe(function: Operation) -> None:
    values = [value for call in observed_calls(function) for value in observed_values(call)]
    return_values(function, [*last_of(body_of(function)).operands, *values])
    state_type(function)


def leave_alone(function: Operation, place: int) -> bool:
    """Reduce a function to one of its calls, with the operands of the call as arguments.

    For each size that none of them has, an array of that many bytes follows. Returns False, with the function half
    changed, if the call needs other arguments of the function.
    """
    block, call = body_of(function), observed_calls(function)[place]
    own = len(block.arguments)
    for index in passed_operands(call):
        call.operands[index] = block.add_argument(call.operands[index].type, call.location)
    return_values(function, observed_values(call))
    for operation in reversed(operations_of(block)[:-1]):
        if operation != call and not any(map(use_count, operation.results)):
            operation.erase()
    if any(use_count(argument) for argument in list(block.arguments)[:own]):
        return False
    for _ in range(own):
        block.erase_argument(0)
    for name in _OF_ARGUMENTS:
        if name in function.attributes:
            del function.attributes[name]
    known = {str(dim) for argument in block.arguments for dim in dims_of(decode(argument.type))}
    for symbol in sorted(symbols_in(function) - known):
        block.add_argument(encode(tensor((symbol,), "uint8"), function.context), call.location)
    state_type(function)
    return True


def return_values(function: Operation, values: Sequence[Value]) -> None:
    """Make a function return other values, and forget what described its results to callers."""
    returned = last_of(body_of(function))
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create("func.return", operands=list(values))
    returned.erase()
    for name in _OF_RESULTS:
        if name in function.attributes:
            del function.attributes[name]


def observed_calls(function: Operation) -> list[Operation]:
    """Return the calls of a function with observable results, in program order."""
    return [
        operation
        for operation in operations_of(body_of(function))
        if operation.name in CALLS and observed_values(operation)
    ]


def observed_values(call: Operation) -> list[Value]:
    """Return the tensors among a call's results, without unread ones, such as the workspaces of parts."""
    return [call.results[place] for place in observed_places(call)]


def observed_places(call: Operation) -> list[int]:
    """Return the positions of the observed tensors among the results."""
    return [
        place
        for place, value in enumerate(call.results)
        if use_count(value) and isinstance(decode(value.type), TensorInfo)
    ]


def passed_operands(call: Operation) -> list[int]:
    """Return the positions of the operands that only the caller can pass: tensors that are not constants."""
    return [
        place
        for place, value in enumerate(call.operands)
        if isinstance(value.type, ir.RankedTensorType) and not is_constant(value)
    ]


def nodes_of(call: Operation) -> list[str]:
    """Return the nodes of the model that a call computes. The last one is its result."""
    return [origin.name for origin in origins(call.location)]
