# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The codegen `blas`: products of matrices in PrimFuncs, with a bias and a relu behind them, go to OpenBLAS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    last_of,
    made_by,
    operations_of,
    symbol_name,
)
from ....bindings.rewriting import located_error
from ....dialects.relax.known_constants import elements_of, is_constant
from ....passes.partition.codegen import Codegen, register_codegen
from ....passes.partition.options import CodegenOption
from ....passes.patterns.calls import is_call_tir
from ....passes.patterns.match import match
from ....passes.patterns.tree import wildcard
from ....passes.structures.prim_funcs import KnownPrimFuncs, remembering
from ....runtime.external.blas import Function, Part, Step, packed
from ....support.errors import RefusalError
from .products import biases, products, relus, spec_of

_A, _B, _BIAS = (wildcard().named(name) for name in ("a", "b", "bias"))
_PRODUCT = is_call_tir(structure=products())(_A, _B)
_RELU = is_call_tir(structure=relus())
# What others read too stays as it is: a step writes one value.
_BIASED = _PRODUCT.optional(lambda y: is_call_tir(structure=biases())(y.used_inside_only(), _BIAS))
_LAYER = _BIASED.optional(lambda y: _RELU(y.used_inside_only()).named("relu"))


@register_codegen("blas")
class Blas(Codegen):
    """Says what to multiply with what; the library is looked for where the program runs."""

    patterns: ClassVar[list[Any]] = [("blas.product", _LAYER)]
    options: ClassVar[Mapping[str, CodegenOption]] = {
        "threads": CodegenOption("how many threads compute one product", int, 1, least=1)
    }

    def compile(self, module: Any, options: Mapping[str, Any]) -> bytes:
        writer = _Writer({symbol_name(each): each for each in functions_in(module.operation)})
        with remembering(KnownPrimFuncs()):
            written = {name: writer.function(each) for name, each in self.functions(module).items()}
        return packed(Part(options["threads"], written, writer.constants))


class _Writer:
    """Functions as steps on numbered values: inputs first, then what the steps make; constants are negative."""

    def __init__(self, functions: Mapping[str, Operation]):
        self._functions = functions
        #: Arrays that functions read.
        self.constants: list[Any] = []

    def function(self, function: Operation) -> Function:
        body = body_of(function)
        numbers: dict[Value, int] = {value: number for number, value in enumerate(body.arguments)}
        steps: list[Step] = []
        *operations, end = operations_of(body)
        for op in operations:
            if op.name == "func.call" and callee_of(op) in self._functions:
                steps.append(self._step(op, self._functions[callee_of(op)], numbers))
                numbers[op.results[0]] = len(body.arguments) + len(steps) - 1
            elif not is_constant_op(op):
                raise located_error(f"codegen 'blas' has no {op.name}", op.location)
        return Function(len(body.arguments), steps, [self._number(value, numbers) for value in end.operands])

    def _number(self, value: Value, numbers: dict[Value, int]) -> int:
        if value not in numbers:
            array = elements_of(value) if is_constant(value) else None
            if array is None:
                raise RefusalError(f"codegen 'blas' cannot hold a constant of {value.type}")
            self.constants.append(array)
            numbers[value] = -len(self.constants)
        return numbers[value]

    def _step(self, call: Operation, composite: Operation, numbers: dict[Value, int]) -> Step:
        """What a composite function computes: what it was matched by matches it again."""
        body = body_of(composite)
        root = made_by(last_of(body).operands[0])
        found = match(_LAYER, root) if root is not None else None
        if found is None:
            raise located_error(f"@{symbol_name(composite)} is no product of matrices", composite.location)
        arguments = dict(zip(body.arguments, call.operands, strict=True))

        def number(value: Value) -> int:
            return self._number(arguments.get(value, value), numbers)

        spec, element = spec_of(found.structures[_PRODUCT])
        bias = number(found["bias"]) if "bias" in found else None
        return Step(spec, element, number(found["a"]), number(found["b"]), bias, "relu" in found)


def is_constant_op(op: Operation) -> bool:
    return len(op.results) == 1 and is_constant(op.results[0])
