# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names for the dynamic sizes of a function's arguments, and equations between these sizes.

A function that jax exports computes its dimension variables from the arguments' sizes, and asserts all other sizes. It
passes the variables to an inner function with arguments of their names. This module reads that part before anything is
built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relax_mlir.bindings.diagnostics import locate
from relax_mlir.bindings.ir import Block, Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import Dim, SymExpr, sym
from relax_mlir.emit.kernels import FreshSymbols

from .hlo_attributes import value_of
from .hlo_types import info_of, is_tensor

_ARITHMETIC: dict[str, Callable[..., Dim]] = {
    "stablehlo.add": lambda left, right: left + right,
    "stablehlo.subtract": lambda left, right: left - right,
    "stablehlo.multiply": lambda left, right: left * right,
}
#: Functions of jax on dimensions. jax emits them for negative numbers too.
DIVISIONS: dict[str, Callable[..., Dim]] = {
    "floor_divide": lambda left, right: left // right,
    "remainder": lambda left, right: left % right,
}
_NAME = "jax.global_constant"


class Dimensions:
    """Sizes of a function's arguments, and the arguments' names."""

    def __init__(self, function: Operation, functions: dict[str, Operation], symbols: FreshSymbols):
        self._block: Block = function.regions[0].blocks[0]
        self._functions = functions
        self.names = [_argument_name(argument, f"arg{index}") for index, argument in enumerate(self._block.arguments)]
        self._shapes = [
            [sym(symbols.next()) if size is None else size for size in info_of(argument.type).shape or ()]
            for argument in self._block.arguments
        ]
        self._values: dict[Value, Dim] = {}
        self._equations: dict[Value, tuple[Dim, Dim]] = {}
        self._found: dict[str, Dim] = {}
        for view in self._block.operations:
            self._read(view.operation)

    def info(self, index: int) -> TensorInfo:
        """Return the type of an argument; for complex numbers, the type of their parts."""
        shape = [self._settle(size) for size in self._shapes[index]]
        return info_of(self._block.arguments[index].type).with_shape(shape)

    def _settle(self, size: Dim) -> Dim:
        return size.substitute(self._found) if isinstance(size, SymExpr) and self._found else size

    def _read(self, operation: Operation) -> None:
        name, given = operation.name, [self._values.get(operand) for operand in operation.operands]
        if name == "stablehlo.get_dimension_size":
            if (place := self._place_of(operation.operands[0])) is not None:
                self._set(operation, self._shapes[place][value_of(operation.attributes["dimension"])])
        elif name == "stablehlo.constant" and is_tensor(operation.results[0].type):
            type_ = operation.results[0].type
            if not type_.shape and isinstance(type_.element_type, ir.IntegerType) and type_.element_type.width >= 32:
                self._set(operation, int(operation.attributes["value"][0]))
        elif name in ("stablehlo.convert", "stablehlo.reshape"):
            self._set(operation, given[0])
        elif name in _ARITHMETIC and None not in given:
            self._set(operation, _ARITHMETIC[name](*given))
        elif name == "stablehlo.compare" and value_of(operation.attributes["comparison_direction"]) == "EQ":
            self._equations[operation.results[0]] = (given[0], given[1])
        elif name == "stablehlo.custom_call" and operation.operands:
            self._assume(operation)
        elif name == "func.call":
            self._call(operation, given)

    def _set(self, operation: Operation, value: Dim) -> None:
        if value is not None:
            self._values[operation.results[0]] = value

    def _place_of(self, value: Value) -> int | None:
        places = (index for index, argument in enumerate(self._block.arguments) if argument == value)
        return next(places, None)

    def _assume(self, operation: Operation) -> None:
        """Record the equation of an assertion that a size equals an expression."""
        pair = self._equations.get(operation.operands[0])
        if value_of(operation.attributes["call_target_name"]) != "shape_assertion" or pair is None or None in pair:
            return
        left, right = (self._settle(dim) for dim in pair)
        for symbol, other in ((left, right), (right, left)):
            name = _name_of(symbol)
            if name and name not in getattr(other, "variables", ()):
                self._bind(name, other)
                return

    def _bind(self, name: str, value: Dim) -> None:
        self._found = {key: _substitute(old, {name: value}) for key, old in self._found.items()}
        self._found[name] = value

    def _call(self, operation: Operation, dims: list[Dim]) -> None:
        callee = value_of(operation.attributes["callee"])
        if (function := self._functions.get(callee)) is None:
            return
        division = DIVISIONS.get(callee.rstrip("0123456789").rstrip("_"))
        if division is not None and None not in dims[-2:] and len(dims) >= 2:
            self._set(operation, division(*dims[-2:]))
            return
        arguments = list(function.regions[0].blocks[0].arguments)
        for place, (name, value) in enumerate(zip(_constants(function), dims, strict=False)):
            symbol = _name_of(self._settle(value))
            if name and symbol:
                self._bind(symbol, sym(name))
            own = self._place_of(operation.operands[place])
            if own is not None and self.names[own] == f"arg{own}":
                self.names[own] = _argument_name(arguments[place], self.names[own])


def _constants(function: Operation) -> Iterator[str]:
    """Yield the dimension variable of each argument of a function, or "" for other arguments."""
    if "arg_attrs" not in function.attributes:
        yield from [""] * len(function.regions[0].blocks[0].arguments)
        return
    for attributes in function.attributes["arg_attrs"]:
        yield next((attribute.attr.value for attribute in attributes if attribute.name == _NAME), "")


def _argument_name(argument: Value, otherwise: str) -> str:
    """Return jax's name of an argument from its location."""
    name = locate(argument.location)[3]
    return name if name.isidentifier() else otherwise


def _name_of(value: object) -> str:
    """Return the name of a single symbol, or "" for other values."""
    text = str(value)
    return text if isinstance(value, SymExpr) and value.variables == {text} else ""


def _substitute(value: Dim, values: dict[str, Dim]) -> Dim:
    return value.substitute(values) if isinstance(value, SymExpr) else value
