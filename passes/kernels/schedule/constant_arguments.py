# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants that all callers of a PrimFunc pass: callers can pass them in another layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import function_type_of, operations_in, symbol_name
from ....bindings.rewriting import is_used
from ....dialects.core.call_graph import references_of
from ....dialects.core.infos import signless
from ....dialects.relax.known_constants import stored_elements
from ....dialects.tir.prim_func import prim_funcs_in
from ...graph.fold.constant_graph import CALL_TIR
from ...graph.layout.conversion import constant_like

if TYPE_CHECKING:
    from numpy import ndarray


class Callers(NamedTuple):
    """Calls of a PrimFunc. Empty if other operations refer to the PrimFunc, too."""

    function: Operation
    calls: Sequence[Operation]

    def give_constant(self, place: int) -> bool:
        """Return True if all calls pass a constant as this argument. The argument may be an output."""
        type_ = function_type_of(self.function).inputs[place]
        is_given = bool(self.calls) and all(place < len(call.operands) for call in self.calls)
        return is_given and all(_is_known(call.operands[place], type_) for call in self.calls)

    def constants(self) -> set[int]:
        inputs = range(len(function_type_of(self.function).inputs))
        return {place for place in inputs if self.give_constant(place)}

    def packed(self, place: int, pack: Callable[[ndarray], ndarray]) -> list[ndarray]:
        """Return the packed form of the constant that each call passes."""
        found = [stored_elements(call.operands[place]) for call in self.calls]
        return [pack(elements) for elements in found if elements is not None]

    def replace(self, place: int, packed: Sequence[ndarray]) -> None:
        """Replace the constant that each call passes by its packed form."""
        for call, elements in zip(self.calls, packed, strict=True):
            constant = call.operands[place]
            with call.location, ir.InsertionPoint(call):
                call.operands[place] = constant_like(constant, elements)
            maker = constant.owner.operation
            if not is_used(maker):
                maker.erase()


def callers_in(module: Operation) -> Mapping[str, Callers]:
    """Return the calls of all PrimFuncs, by name."""
    calls: dict[str, list[Operation]] = defaultdict(list)
    others: set[str] = set()
    for operation in operations_in(module):
        if operation.name == CALL_TIR:
            calls[str(operation.attributes["func"].value)].append(operation)
        else:
            others.update(references_of(operation))
    functions = {symbol_name(function): function for function in prim_funcs_in(module)}
    return {name: Callers(function, [] if name in others else calls[name]) for name, function in functions.items()}


def _is_known(value: Value, type_: Type) -> bool:
    """Return True if a caller passes a constant of a type. Signedness is ignored: it is a property of operators."""
    if not isinstance(type_, ir.RankedTensorType):
        return False
    is_same = value.type.shape == type_.shape and signless(str(value.type.element_type)) == str(type_.element_type)
    return is_same and stored_elements(value) is not None
