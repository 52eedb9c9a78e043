# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what calls of kernels and parts give results of the function, so that one can look at it where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.diagnostics import origins
from ..bindings.ir import Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, functions_in, has_body, is_private, last_of, operations_of
from ..dialects.core.codec import decode
from ..dialects.core.infos import TensorInfo
from ..dialects.core.ir_attributes import PRIM_FUNC, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from .core.base import Pass
from .core.registry import register_pass
from .params.signature import state_type

#: What gives values that are there when the program runs.
CALLS = ("relax.call_tir", "relax.call_external", "relax.call_dps_packed")
#: What says how callers see the results.
_OF_RESULTS = (RESULT_NAMES, RESULT_GROUPS, STRUCTURE)


@register_pass
@dataclass(frozen=True)
class Observe(Pass):
    """Adds the tensors that calls of kernels and parts give to the results of public functions, behind their own."""

    name: ClassVar[str] = "relax-observe"

    def run(self, op: Operation) -> None:
        for function in functions_in(op):
            if has_body(function) and not is_private(function) and PRIM_FUNC not in function.attributes:
                _observe(function)


def _observe(function: Operation) -> None:
    returned = last_of(body_of(function))
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create("func.return", operands=[*returned.operands, *observed_values(function)])
    returned.erase()
    state_type(function)
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
