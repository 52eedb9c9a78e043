# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shape inference by equations: operators, their types and relax.match_cast state which sizes are equal.

n rows next to 20 in a concat make n 20, and so does a reshape of [n, 4] to [80]. A match_cast from [2*m] to [n] makes n
2*m. The pass writes the solution into all types. If no size satisfies two operations, the error names both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation, Type, Value
from ...bindings.navigation import (
    callee_of,
    function_type_of,
    functions_in,
    has_body,
    is_private,
    made_by,
    operations_in,
    symbol_name,
)
from ...dialects.core.call_graph import UNITS, CallGraph, references_of
from ...dialects.core.codec import decode, encode
from ...dialects.core.infos import Info
from ...dialects.core.substitute import dims_of, substituted_type, with_dims
from ..core.base import Pass
from ..core.registry import register_pass
from .symbolic_shapes.equations import Equation, Equations, names_in
from .symbolic_shapes.function_shapes import FunctionShapes, merge
from .symbolic_shapes.signatures import agreed_numbers, calls_in, cast_parameters, fit_call, set_signature, specialize


@register_pass
@dataclass(frozen=True)
class InferSymbolicShapes(Pass):
    """Infer equal and unequal sizes, and write the known sizes into all types."""

    name: ClassVar[str] = "relax-infer-symbolic-shapes"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    #: Refine signatures of public functions, too. Callers outside the module must pass the refined types. Otherwise the
    #: function checks the sizes.
    include_public: bool = False

    def run(self, op: Operation) -> None:
        graph = _Calls(op, {symbol_name(function): function for function in functions_in(op)}, self.include_public)
        for name in graph.callees_first:
            graph.infer(name)
        for name in reversed(graph.callees_first):
            if graph.takes_from_callers(name):
                graph.infer(name)


class _Calls:
    """Functions of a module, and their calls."""

    def __init__(self, module: Operation, functions: Mapping[str, Operation], include_public: bool):
        self._functions = functions
        graphs = {
            name: function for name, function in functions.items() if has_body(function) and not _is_unit(function)
        }
        self.callees_first = CallGraph(graphs, lambda _: True, leave_recursion=True).bottom_up()
        self._calls: dict[str, list[Operation]] = {name: [] for name in graphs}
        for graph in graphs.values():
            for call in calls_in(graph):
                self._calls.get(callee_of(call), []).append(call)
        own = [name for name, each in graphs.items() if include_public or is_private(each)]
        inside = operations_in(module) if own else ()
        references = Counter(name for each in inside for name in references_of(each))
        #: Functions keep their signatures if other operations than calls refer to them.
        self._changeable = {name for name in own if references[name] == len(self._calls[name])}

    def infer(self, name: str) -> None:
        """Infer the sizes of a function, write them into its types, and adapt its calls."""
        function, is_changeable = self._functions[name], name in self._changeable
        shapes = FunctionShapes(function)
        if not shapes.equations.answers and not shapes.refined:
            return
        if specialize(function, shapes, self._functions, changes_signature=is_changeable):
            self._fit_calls(name)

    def _fit_calls(self, name: str) -> None:
        signature = function_type_of(self._functions[name])
        for call in self._calls[name]:
            fit_call(call, signature)

    def takes_from_callers(self, name: str) -> bool:
        """Refine a signature by numbers that all calls pass for open sizes. Return True if the signature changed."""
        function, calls = self._functions[name], self._calls[name]
        # Callers outside of the module may pass other sizes.
        if name not in self._changeable or not calls or not is_private(function):
            return False
        signature = function_type_of(function)
        answers = [_numbers_of(call, list(signature.inputs)) for call in calls]
        numbers = {
            name: size for name, size in answers[0].items() if all(answer.get(name) == size for answer in answers)
        }
        after = []
        for index, type_ in enumerate(signature.inputs):
            known = decode(substituted_type(type_, numbers))
            passed = [decode(_skip_cast(call.operands[index]).type) for call in calls]
            after.append(encode(_with_passed(known, passed), type_.context))
        if after == list(signature.inputs):
            return False
        cast_parameters(function, after, lambda _: function.location)
        set_signature(function, after, list(signature.results))
        self._fit_calls(name)
        return True


def _skip_cast(value: Value) -> Value:
    """Return an argument before the cast to the type of the parameter."""
    cast = made_by(value, "relax.match_cast")
    return value if cast is None else cast.operands[0]


def _numbers_of(call: Operation, inputs: Sequence[Type]) -> dict[str, int]:
    """Return the numbers that a call passes for a function's symbols. Raises RelaxError if none fit."""
    parameters = [decode(type_) for type_ in inputs]
    equations = Equations({name: -1 for info in parameters for name in names_in(dims_of(info))})
    for operand, info in zip(call.operands, parameters, strict=True):
        dims = dims_of(decode(_skip_cast(operand).type))
        for size, passed in zip(dims_of(info), dims, strict=False):
            if size is not None and isinstance(passed, int):
                equations.add(Equation(size, passed, call))
    sizes = {name: equations.resolve(answer.size) for name, answer in equations.answers.items()}
    return {name: size for name, size in sizes.items() if isinstance(size, int)}


def _with_passed(info: Info, passed: Sequence[Info]) -> Info:
    """Add to a parameter's type the rank and the sizes that it leaves open and all calls agree on."""
    numbers = agreed_numbers(passed)
    return info if len(numbers) < len(dims_of(passed[0])) else merge(info, with_dims(passed[0], numbers))


def _is_unit(function: Operation) -> bool:
    return any(name in function.attributes for name in UNITS)
