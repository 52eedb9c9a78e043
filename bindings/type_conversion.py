# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converted types: of values by functions from type to type, of functions, blocks, calls and control flow in place.

Upstream's patterns for function signatures and control flow cannot be reached from Python. Here the types of
such operations are changed in place, with casts to what is inside and around; casts that meet cancel out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..support.errors import RelaxError
from .legality import CAST
from .mlir import ir, rewrite

#: Operations that mean the same with other types: what they take, give and pass to blocks is converted in place.
STRUCTURAL = frozenset(
    "func.func func.return func.call scf.if scf.for scf.while scf.yield scf.condition scf.execute_region "
    "scf.index_switch cf.br cf.cond_br cf.switch".split()
)


class TypeConversion:
    """Functions from a type to the converted one, or None where they have nothing to say. The last is asked first."""

    def __init__(self) -> None:
        self._functions: list[Callable[[Any], Any]] = []
        self._converted: dict[Any, Any] = {}
        # MLIR does not keep the function of its converter alive.
        self._convert = self.convert

    def mlir_converter(self) -> Any:
        """MLIR's own converter. Made for each run, because it remembers types by address; keep it alive yourself."""
        converter = rewrite.TypeConverter()
        converter.add_conversion(self._convert)
        return converter

    def forget(self) -> None:
        """Lets go of the types seen, which hold their context alive."""
        self._converted.clear()

    def __bool__(self) -> bool:
        return bool(self._functions)

    def add(self, function: Callable[[Any], Any]) -> None:
        self._functions.append(function)
        self._converted.clear()

    def convert(self, type_: Any) -> Any:
        """The type as it is after the conversion; the type itself where no function converts it."""
        found = self._converted.get(type_)
        if found is None:
            found = self._converted[type_] = self._ask(type_)
        return found

    def _ask(self, type_: Any) -> Any:
        for function in reversed(self._functions):
            answer = function(type_)
            if answer is None:
                continue
            if not isinstance(answer, ir.Type):
                raise RelaxError(f"the type conversion of {type_} returned {answer!r}, which is not a type")
            return answer
        return type_

    def is_converted(self, operation: Any) -> bool:
        """Whether an operation has only types that stay: the usual condition of dynamic legality."""
        types = [value.type for value in operation.operands] + [value.type for value in operation.results]
        return all(self.convert(type_) == type_ for type_ in types)

    def convert_structure(self, operations: Iterable[Any], names: frozenset[str]) -> None:
        """Converts the types of structural operations in place, with casts around them."""
        for operation in operations:
            if operation.name not in names:
                continue
            with operation.location:
                self._convert_operands(operation)
                self._convert_results(operation)
                self._convert_blocks(operation)
                if operation.name == "func.func":
                    self._convert_signature(operation)

    def _convert_operands(self, operation: Any) -> None:
        point = ir.InsertionPoint(operation)
        for index, value in enumerate(operation.operands):
            converted = self.convert(value.type)
            if converted != value.type:
                operation.operands[index] = _cast(value, converted, point).result

    def _convert_results(self, operation: Any) -> None:
        if any(self.convert(result.type) != result.type for result in operation.results):
            self._convert_values(list(operation.results), ir.InsertionPoint.after(operation))

    def _convert_blocks(self, operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                self._convert_values(list(block.arguments), ir.InsertionPoint.at_block_begin(block))

    def _convert_values(self, values: list[Any], point: Any) -> None:
        for value in values:
            original = value.type
            converted = self.convert(original)
            if converted != original:
                value.set_type(converted)
                back = _cast(value, original, point)
                value.replace_all_uses_except(back.result, back)

    def _convert_signature(self, function: Any) -> None:
        signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        inputs = [self.convert(type_) for type_ in signature.inputs]
        results = [self.convert(type_) for type_ in signature.results]
        converted = ir.FunctionType.get(inputs, results, function.context)
        function.attributes["function_type"] = ir.TypeAttr.get(converted, function.context)


def _cast(value: Any, type_: Any, point: Any) -> Any:
    return ir.Operation.create(CAST, results=[type_], operands=[value], ip=point)


def reconcile_casts(operations: Iterable[Any]) -> None:
    """Takes out casts to a type and back again, and those that nobody uses."""
    casts = [operation for operation in operations if operation.name == CAST]
    for cast in casts:
        if len(cast.operands) == 1 and len(cast.results) == 1:
            source = _origin(cast.operands[0], cast.results[0].type)
            if source is not None:
                cast.results[0].replace_all_uses_with(source)
    # Users come after what they use: from the end, a chain goes at once.
    for cast in reversed(casts):
        if not any(True for result in cast.results for _ in result.uses):
            cast.erase()


def _origin(value: Any, type_: Any) -> Any:
    """The value of this type at the beginning of a chain of casts that ends in `value`, if there is one."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == CAST:
        owner = value.owner.operation
        if len(owner.operands) != 1:
            return None
        value = owner.operands[0]
        if value.type == type_:
            return value
    return None
