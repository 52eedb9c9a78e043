# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of the expressions of host functions."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin

from ....support.errors import ModelError
from . import language, types
from .blocks import CodeValue, FunctionCode
from .language import I8, I32, Array, FixedNumber, Function, Ptr, Storage
from .symbols import Symbols

_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add", "fadd"), ast.Sub: ("sub", "fsub"), ast.Mult: ("mul", "fmul"), ast.Div: ("", "fdiv"),
    ast.FloorDiv: ("div", ""), ast.Mod: ("rem", ""), ast.BitAnd: ("and", ""), ast.BitOr: ("or", ""),
    ast.BitXor: ("xor", ""), ast.LShift: ("shl", ""), ast.RShift: ("shr", ""),
}  # fmt: skip
_STATIC = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
    ast.BitOr: operator.or_, ast.FloorDiv: operator.floordiv,
}  # fmt: skip
_COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_WEIGHTS = {"likely": " weights([2000, 1])", "unlikely": " weights([1, 2000])"}
_CONVERTED = (int, float, bool, *FixedNumber.__subclasses__())


class Slot(NamedTuple):
    """Address of a field or element. `is_inside` is True for an array or a struct itself."""

    type: Any
    address: str
    is_inside: bool


class Expressions:
    """Emission of expressions of a function. Each has a type; a wrong type is an error at its place."""

    def __init__(self, symbols: Symbols, function: Function[..., Any], blocks: FunctionCode) -> None:
        self.symbols, self.function, self.blocks = symbols, function, blocks
        self._globals: dict[str, Any] = function.python.__globals__

    def refuse(self, node: ast.AST, problem: str) -> ModelError:
        return self.function.refuse(f"`{ast.unparse(node)}`: {problem}", getattr(node, "lineno", 0))

    # ---- values ----

    def value(self, node: ast.expr, expected: Any = None) -> CodeValue:
        """Emit an expression. A literal number takes the expected type of an operand next to it."""
        found, constant = self.static(node)
        if found:
            return self._constant(node, constant, expected)
        emit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if emit is None:
            raise self.refuse(node, "host functions have no such expression")
        value: CodeValue = emit(node)
        return value

    def of_type(self, node: ast.expr, expected: Any) -> CodeValue:
        value = self.value(node)
        self.require(node, value.type, expected)
        return value

    def require(self, node: ast.AST, actual: Any, expected: Any) -> None:
        if not types.fits(actual, expected):
            raise self.refuse(node, f"expected {types.type_name(expected)}, got {types.type_name(actual)}")

    def emit(self, type_: Any, text: str) -> CodeValue:
        name = self.blocks.name()
        self.blocks.add(f"{name} = {text}")
        return CodeValue(type_, name)

    def static(self, node: ast.expr) -> tuple[bool, Any]:
        """Return whether an expression has a value before the function runs, and the value."""
        if isinstance(node, ast.Constant):
            return True, node.value
        if isinstance(node, ast.Name) and node.id not in self.blocks.variables:
            if node.id in self._globals:
                return True, self._globals[node.id]
            if hasattr(builtins, node.id):
                return True, getattr(builtins, node.id)
            raise self.refuse(node, "the name has no value here on every path")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            found, constant = self.static(node.operand)
            return (True, -constant) if found and isinstance(constant, (int, float)) else (False, None)
        if isinstance(node, ast.BinOp) and type(node.op) in _STATIC:
            (left, a), (right, b) = self.static(node.left), self.static(node.right)
            if left and right and type(a) is type(b) is int:
                return True, _STATIC[type(node.op)](a, b)
        if isinstance(node, ast.Subscript) and isinstance(self.static(node.value)[1], type):
            return True, self._type(node)
        return False, None

    def _type(self, node: ast.expr) -> Any:
        """Return a type that an expression names."""
        try:
            type_ = eval(compile(ast.Expression(node), "type", "eval"), self._globals)
        except (NameError, TypeError, AttributeError) as error:
            raise self.refuse(node, str(error)) from None
        if isinstance(type_, str):
            return self._type(ast.parse(type_, mode="eval").body)
        if type_ is not NoneType and not types.is_value_type(type_):
            raise self.refuse(node, "no type of a value in a host function")
        return type_

    def _constant(self, node: ast.expr, constant: Any, expected: Any = None) -> CodeValue:
        kind = type(constant)
        if isinstance(constant, FixedNumber):
            constant = constant.value
        elif kind is int and (expected in types.UNSIGNED or expected in (I8, I32)):
            kind = expected
        if kind in _CONVERTED:
            form = types.llvm_type(kind)
            # 17 digits after the point determine a float, and MLIR requires the point.
            shown = f"{float(constant):.17e}" if kind in types.FLOATS else f"{constant}".lower()
            typed = shown if kind is bool else f"{shown} : {form}"
            return self.emit(kind, f"llvm.mlir.constant({typed}) : {form}")
        if constant is None:
            return self.emit(NoneType, "llvm.mlir.zero : !llvm.ptr")
        if kind is str:
            return self._address(str, self.symbols.text(constant))
        if isinstance(constant, Storage):
            return self._address(Array[constant.element], self.symbols.storage(constant, self._globals))
        if isinstance(constant, Function):
            inputs, result, _ = constant.signature
            status = I32 if result is language.Status else result
            return self._address(Callable[inputs, status], self.symbols.function(constant))
        raise self.refuse(node, f"a {kind.__name__} of Python has no value in a host function")

    def _address(self, type_: Any, symbol: str) -> CodeValue:
        return self.emit(type_, f"llvm.mlir.addressof @{symbol} : !llvm.ptr")

    def _name(self, node: ast.Name) -> CodeValue:
        return self.blocks.variables[node.id]

    def _tuple(self, node: ast.Tuple) -> CodeValue:
        values = [self.value(item) for item in node.elts]
        type_: Any = tuple.__class_getitem__(tuple(value.type for value in values))
        packed = self.emit(type_, f"llvm.mlir.poison : {types.llvm_type(type_)}")
        for place, value in enumerate(values):
            packed = self.emit(
                type_, f"llvm.insertvalue {value.name}, {packed.name}[{place}] : {types.llvm_type(type_)}"
            )
        return packed

    def parts(self, value: CodeValue) -> list[CodeValue]:
        """Return the values of a tuple."""
        form = types.llvm_type(value.type)
        return [
            self.emit(type_, f"llvm.extractvalue {value.name}[{place}] : {form}")
            for place, type_ in enumerate(get_args(value.type))
        ]

    # ---- operators ----

    def _operands(self, node: ast.AST, left: ast.expr, right: ast.expr) -> tuple[CodeValue, CodeValue]:
        """Emit two operands of one type. A literal takes the type of the other operand."""
        if self.static(left)[0]:
            second = self.value(right)
            first = self.value(left, second.type)
        else:
            first = self.value(left)
            second = self.value(right, first.type)
        if not (types.fits(first.type, second.type) or types.fits(second.type, first.type)):
            raise self.refuse(node, f"operands of {types.type_name(first.type)} and {types.type_name(second.type)}")
        return first, second

    def _binop(self, node: ast.BinOp) -> CodeValue:
        if isinstance(node.op, (ast.Add, ast.Sub)) and not self.static(node.left)[0]:
            left = self.value(node.left)
            if types.is_pointer(left.type):
                return self.move(left, node.right, 1 if isinstance(node.op, ast.Add) else -1)
            right = self.value(node.right, left.type)
            self.require(node.right, right.type, left.type)
        else:
            left, right = self._operands(node, node.left, node.right)
        return self.arithmetic(node, node.op, left, right)

    def arithmetic(self, node: ast.AST, sign: ast.operator, left: CodeValue, right: CodeValue) -> CodeValue:
        of_integers, of_floats = _OPERATORS.get(type(sign), ("", ""))
        name = of_floats if left.type in types.FLOATS else of_integers
        is_logic = isinstance(sign, (ast.BitAnd, ast.BitOr, ast.BitXor))
        if not name or types.is_pointer(left.type) or (left.type is bool and not is_logic):
            raise self.refuse(node, f"{types.type_name(left.type)} has no such operation")
        if name in ("div", "rem"):
            name = ("u" if left.type in types.UNSIGNED else "s") + name
        if name == "shr":
            name = "lshr" if left.type in types.UNSIGNED else "ashr"
        return self.emit(left.type, f"llvm.{name} {left.name}, {right.name} : {types.llvm_type(left.type)}")

    def _unaryop(self, node: ast.UnaryOp) -> CodeValue:
        value = self.of_type(node.operand, bool) if isinstance(node.op, ast.Not) else self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return self.arithmetic(node, ast.Sub(), self._constant(node, 0, value.type), value)
        mask = True if value.type is bool else -1
        return self.arithmetic(node, ast.BitXor(), value, self._constant(node, mask, value.type))

    def _compare(self, node: ast.Compare) -> CodeValue:
        if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARISONS:
            raise self.refuse(node, "a comparison has two operands, and one of == != < <= > >=")
        left, right = self._operands(node, node.left, node.comparators[0])
        name, form = _COMPARISONS[type(node.ops[0])], types.llvm_type(left.type)
        if left.type in types.FLOATS:
            name = "une" if name == "ne" else f"o{name}"
            return self.emit(bool, f'llvm.fcmp "{name}" {left.name}, {right.name} : {form}')
        if name not in ("eq", "ne"):
            if types.is_pointer(left.type) or left.type is bool:
                raise self.refuse(node, f"{types.type_name(left.type)} has no order")
            name = ("u" if left.type in types.UNSIGNED else "s") + name
        return self.emit(bool, f'llvm.icmp "{name}" {left.name}, {right.name} : {form}')

    def _boolop(self, node: ast.BoolOp) -> CodeValue:
        return self._chosen(node, node, ast.Constant(True), ast.Constant(False))

    def _ifexp(self, node: ast.IfExp) -> CodeValue:
        return self._chosen(node, node.test, node.body, node.orelse)

    def _chosen(self, node: ast.AST, test: ast.expr, first: ast.expr, second: ast.expr) -> CodeValue:
        """Emit one of two expressions, by a condition."""
        then, otherwise, end = self.blocks.new(), self.blocks.new(), self.blocks.new()
        self.branch(test, then, otherwise)
        chosen: list[CodeValue] = []
        for block, expression in ((then, first), (otherwise, second)):
            self.blocks.start(block)
            chosen.append(self.value(expression, chosen[0].type if chosen else None))
            self.blocks.variables = {**self.blocks.variables, end.label: chosen[-1]}
            self.blocks.jump(end)
        type_ = chosen[1].type if types.fits(chosen[0].type, chosen[1].type) else chosen[0].type
        self.require(second, chosen[1].type, type_)
        for edge in end.edges:
            edge[end.label] = CodeValue(type_, edge[end.label].name)
        self.blocks.start(end)
        return self.blocks.variables.pop(end.label)

    def branch(self, test: ast.expr, then: Any, otherwise: Any, weights: str = "") -> None:
        """Branch by a condition. Operands of `and` and `or` are evaluated like in Python."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.branch(test.operand, otherwise, then)
        if isinstance(test, ast.BoolOp):
            *firsts, last = test.values
            for operand in firsts:
                rest = self.blocks.new()
                self.branch(operand, *((rest, otherwise) if isinstance(test.op, ast.And) else (then, rest)))
                self.blocks.start(rest)
            return self.branch(last, then, otherwise)
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in _WEIGHTS:
            condition = self.of_type(test.args[0], bool)
            return self.blocks.branch(condition.name, then, otherwise, _WEIGHTS[test.func.id])
        return self.blocks.branch(self.of_type(test, bool).name, then, otherwise, weights)

    # ---- memory ----

    def place(self, node: ast.expr) -> Slot:
        """Return the place of a struct's field or an array's element."""
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            field = types.fields_of(base.type).get(node.attr) if types.is_struct(base.type) else None
            if field is None:
                raise self.refuse(node, f"{types.type_name(base.type)} has no field '{node.attr}'")
            address = self._behind(base, field.offset, "i8", Ptr).name if field.offset else base.name
            return Slot(field.type, address, field.is_inside)
        if not isinstance(node, ast.Subscript):
            raise self.refuse(node, "expected a field or an element")
        base = self.value(node.value)
        if get_origin(base.type) is not Array:
            raise self.refuse(node, f"{types.type_name(base.type)} has no elements")
        element = get_args(base.type)[0]
        return Slot(element, self.move(base, node.slice).name, types.is_struct(element))

    def move(self, base: CodeValue, offset: ast.expr, sign: int = 1) -> CodeValue:
        """Return the address some elements behind another, or some bytes."""
        is_array = get_origin(base.type) is Array
        type_, form = (base.type, types.element_form(get_args(base.type)[0])) if is_array else (Ptr, "i8")
        found, constant = self.static(offset)
        if found and isinstance(constant, (int, I32)):
            number = sign * int(getattr(constant, "value", constant))
            return self._behind(base, number, form, type_) if number else CodeValue(type_, base.name)
        index = self.value(offset)
        if index.type not in (int, I32):
            raise self.refuse(offset, f"expected I64 or I32, got {types.type_name(index.type)}")
        if sign < 0:
            index = self.arithmetic(offset, ast.Sub(), self._constant(offset, 0, index.type), index)
        listed = f"(!llvm.ptr, {types.llvm_type(index.type)}) -> !llvm.ptr, {form}"
        return self.emit(type_, f"llvm.getelementptr {base.name}[{index.name}] : {listed}")

    def _behind(self, base: CodeValue, offset: int, form: str, type_: Any) -> CodeValue:
        return self.emit(type_, f"llvm.getelementptr {base.name}[{offset}] : (!llvm.ptr) -> !llvm.ptr, {form}")

    def _attribute(self, node: ast.expr) -> CodeValue:
        type_, address, is_inside = self.place(node)
        if is_inside:
            return CodeValue(type_, address)
        return self.emit(type_, f"llvm.load {address} : !llvm.ptr -> {types.llvm_type(type_)}")

    _subscript = _attribute

    def store(self, node: ast.expr, place: Slot, value: CodeValue) -> None:
        self.require(node, value.type, place.type)
        if place.is_inside:
            self.copy(place.address, value.name, place.type)
        else:
            self.blocks.add(f"llvm.store {value.name}, {place.address} : {types.llvm_type(place.type)}, !llvm.ptr")

    def copy(self, target: str, source: str, struct: Any) -> None:
        form = types.element_form(struct)
        loaded = self.emit(
            struct, f"llvm.load {source} : !llvm.ptr -> {form}" if source else f"llvm.mlir.zero : {form}"
        )
        self.blocks.add(f"llvm.store {loaded.name}, {target} : {form}, !llvm.ptr")
