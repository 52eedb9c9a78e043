# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what calls of kernels and parts give results of a function, so that one can look at it where it runs."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..dialects.core.codec import decode, encode
from ..dialects.core.infos import TensorInfo, tensor
from ..dialects.core.ir_attributes import INPUT_GROUPS, PRIM_FUNC, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from ..dialects.core.substitute import dims_of, symbols_in
from ..dialects.relax.known_constants import is_constant
from ..support.errors import OptionError
from .core.base import Pass
from .core.registry import register_pass
from .params.signature import state_type

#: What gives values that are there when the program runs.
CALLS = ("relax.call_tir", "relax.call_external", "relax.call_dps_packed")
#: What says how callers see results and arguments.
_OF_RESULTS = (RESULT_NAMES, RESULT_GROUPS, STRUCTURE)
_OF_ARGUMENTS = (INPUT_GROUPS, "arg_attrs")


@register_pass
class Observe(Pass):
    """Adds to each public function f @f_observed, which gives as well what calls of kernels and parts give, behind its
    own results, and @f_observed_0, ..: the first of these calls alone, what it is given are the arguments, ..
    """

    name: ClassVar[str] = "relax-observe"

    def run(self, op: Operation) -> None:
        names = {symbol_name(each) for each in functions_in(op)}
        for function in list(functions_in(op)):
            if not has_body(function) or is_private(function) or PRIM_FUNC in function.attributes:
                continue
            name = observed_name(symbol_name(function))
            if name in names:
                raise OptionError(
                    f"relax-observe: there is a function @{name}: what is observed of a function has such a name"
                )
            _observe(_copied(function, op, name))
            for place in range(len(observed_calls(function))):
                alone = _copied(function, op, observed_name(symbol_name(function), place))
                if not leave_alone(alone, place):
                    alone.erase()


def observed_name(function: str, place: int | None = None) -> str:
    """The function that gives all of it; that of one call."""
    return f"{function}_observed" if place is None else f"{function}_observed_{place}"


def _copied(function: Operation, module: Operation, name: str) -> Operation:
    with function.context, function.location:
        copied: Operation = function.clone(ip=ir.InsertionPoint(body_of(module))).operation
        copied.attributes["sym_name"] = ir.StringAttr.get(name)
    return copied


def _observe(function: Operation) -> None:
    values = [value for call in observed_calls(function) for value in observed_values(call)]
    _return(function, [*last_of(body_of(function)).operands, *values])
    state_type(function)


def leave_alone(function: Operation, place: int) -> bool:
    """Leaves one call of a function, its operands are the arguments then; behind them, for each size that none of them
    has, an array of that many bytes. False where the call needs other arguments of the function, which is half done.
    """
    block, call = body_of(function), observed_calls(function)[place]
    own = len(block.arguments)
    for index in passed_operands(call):
        call.operands[index] = block.add_argument(call.operands[index].type, call.location)
    _return(function, observed_values(call))
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
    return [each for each in operations_of(body_of(function)) if each.name in CALLS and observed_values(each)]


def observed_values(call: Operation) -> list[Value]:
    """The tensors that a call gives; not those that nothing reads, as memory that parts work in."""
    return [call.results[place] for place in observed_places(call)]


def observed_places(call: Operation) -> list[int]:
    """Their places among its results."""
    return [
        place
        for place, value in enumerate(call.results)
        if use_count(value) and isinstance(decode(value.type), TensorInfo)
    ]


def passed_operands(call: Operation) -> list[int]:
    """The places of the operands that a call alone is given: tensors that are no constants."""
    return [
        place
        for place, value in enumerate(call.operands)
        if isinstance(value.type, ir.RankedTensorType) and not is_constant(value)
    ]


def nodes_of(call: Operation) -> list[str]:
    """Where a call comes from: the nodes of the model that it computes, the last one is what it gives."""
    return [origin.name for origin in origins(call.location)]
