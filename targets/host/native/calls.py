# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reader of calls in host functions: functions, conversions of numbers, and the built-in functions of language.py."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from . import language, types
from .blocks import CodeValue
from .expressions import Expressions
from .language import I32, Array, FixedNumber, Function

_TEMPLATES = {
    "memcpy": '"llvm.intr.memcpy"({0}, {1}, {2}) <{{isVolatile = false}}> : (!llvm.ptr, !llvm.ptr, i64) -> ()',
    "memset": '"llvm.intr.memset"({0}, {1}, {2}) <{{isVolatile = false}}> : (!llvm.ptr, i8, i64) -> ()',
    "mask_pointer": "llvm.intr.ptrmask {0}, {1} : (!llvm.ptr, i64) -> !llvm.ptr",
    "multiply_checked": '"llvm.intr.smul.with.overflow"({0}, {1}) : (i64, i64) -> !llvm.struct<(i64, i1)>',
    "atomic_load": "llvm.load {0} atomic {1} {{alignment = {size} : i64}} : !llvm.ptr -> {form}",
    "atomic_store": "llvm.store {1}, {0} atomic {2} {{alignment = {size} : i64}} : {form}, !llvm.ptr",
    "exchange": "llvm.atomicrmw xchg {0}, {1} {2} : !llvm.ptr, {form}",
    "fetch_add": "llvm.atomicrmw add {0}, {1} {2} : !llvm.ptr, {form}",
    "compare_exchange": "llvm.cmpxchg {0}, {1}, {2} {3} {4} : !llvm.ptr, {form}",
}


class Calls(Expressions, ABC):
    """Emission of expressions with calls."""

    def _call(self, node: ast.Call) -> CodeValue:
        if node.keywords:
            raise self.refuse(node, "arguments of host functions have no keywords")
        function, is_status = node.func, False
        if (
            isinstance(function, ast.Attribute)
            and function.attr == "status"
            and self._is_static_function(function.value)
        ):
            function, is_status = function.value, True
        found, called = self.static(function)
        if not found:
            return self._call_address(node)
        if isinstance(called, Function):
            return self._call_function(node, called, is_status)
        if called in (int, float, bool) or (isinstance(called, type) and issubclass(called, FixedNumber)):
            return self._convert(node, self.value(*node.args), called)
        if types.is_value_type(called) and (get_origin(called) or called) is not str:
            return self._as_pointer(node, self.value(*node.args), called)
        name = getattr(called, "__name__", "")
        is_known = called in (min, max, language.cast) or getattr(language, name, None) is called
        if is_known and name in _TEMPLATES:
            return self._call_template(node, called)
        emit = getattr(self, f"call_{name}", None)
        if emit is None or not is_known:
            raise self.refuse(node, "host functions cannot call this")
        value: CodeValue = emit(node, *node.args)
        return value

    def status_of(self, node: ast.expr) -> CodeValue:
        """Emit a call of a function that can fail as the result of another one."""
        if not (isinstance(node, ast.Call) and self._is_static_function(node.func)):
            raise self.refuse(node, "expected a call of a function that can fail")
        return self._call_function(node, self.static(node.func)[1], is_status=True)

    def _is_static_function(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and isinstance(self.static(node)[1], Function)

    def _call_function(self, node: ast.Call, called: Function[..., Any], is_status: bool) -> CodeValue:
        inputs, result, is_variadic = called.signature
        operands = self._arguments(node, inputs, is_variadic)
        form = types.llvm_type(result)
        fixed = (
            f"vararg(!llvm.func<{form or 'void'} ({', '.join([*map(types.llvm_type, inputs), '...'])})>) "
            if is_variadic
            else ""
        )
        value = self.call(f"@{self.symbols.function(called)}", operands, result, fixed)
        if not called.can_fail:
            if is_status:
                raise self.refuse(node, f"'{called.python.__name__}' cannot fail")
            return value
        if is_status:
            return CodeValue(I32, value.name)
        self.leave_unless_ok(node, value)
        return CodeValue(None, "")

    def _call_address(self, node: ast.Call) -> CodeValue:
        function = self.value(node.func)
        if len(get_args(function.type)) != 2 or not types.is_pointer(function.type):
            raise self.refuse(node.func, f"{types.type_name(function.type)} is no function")
        inputs, result = get_args(function.type)
        return self.call(
            function.name, self._arguments(node, inputs), None if result is NoneType else result, ": !llvm.ptr, "
        )

    def _arguments(self, node: ast.Call, inputs: Sequence[Any], is_variadic: bool = False) -> list[CodeValue]:
        if len(node.args) != len(inputs) and not (is_variadic and len(node.args) > len(inputs)):
            raise self.refuse(node, f"expected {len(inputs)} arguments, got {len(node.args)}")
        fixed = [self.of_type(argument, type_) for argument, type_ in zip(node.args, inputs, strict=False)]
        return [*fixed, *map(self.value, node.args[len(inputs) :])]

    def call(self, callee: str, operands: Sequence[CodeValue], result: Any, signature: str = "") -> CodeValue:
        form = types.llvm_type(result)
        listed = f"({', '.join(types.llvm_type(value.type) for value in operands)}) -> {form or '()'}"
        names = ", ".join(value.name for value in operands)
        if not signature.startswith(":"):
            signature += ": "
        text = f"llvm.call {callee}({names}) {signature}{listed}"
        if form:
            return self.emit(result, text)
        self.blocks.add(text)
        return CodeValue(None, "")

    @abstractmethod
    def leave_unless_ok(self, node: ast.AST, status: CodeValue) -> None:
        """Leave the function with its failure if a callee has failed."""

    # ---- conversions ----

    def _convert(self, node: ast.Call, value: CodeValue, type_: Any) -> CodeValue:
        source, target = types.llvm_type(value.type), types.llvm_type(type_)
        is_unsigned = value.type in types.UNSIGNED or value.type is bool
        if not source:
            raise self.refuse(node, "expected a number, got no value")
        if source == "!llvm.ptr" and target == "i64":
            name = "ptrtoint"
        elif source == "!llvm.ptr":
            raise self.refuse(node, f"an address is no {types.type_name(type_)}")
        elif source == target:
            return CodeValue(type_, value.name)
        elif value.type in types.FLOATS or type_ in types.FLOATS:
            kinds = (value.type in types.FLOATS, type_ in types.FLOATS)
            widened = "fpext" if target == "f64" else "fptrunc"
            names = {(True, True): widened, (True, False): "fptoui" if type_ in types.UNSIGNED else "fptosi"}
            name = names.get(kinds, "uitofp" if is_unsigned else "sitofp")
        elif int(source[1:]) > int(target[1:]):
            name = "trunc"
        else:
            name = "zext" if is_unsigned else "sext"
        return self.emit(type_, f"llvm.{name} {value.name} : {source} to {target}")

    def _as_pointer(self, node: ast.Call, value: CodeValue, type_: Any) -> CodeValue:
        if types.is_pointer(value.type):
            return CodeValue(type_, value.name)
        self.require(node.args[0], value.type, int)
        return self.emit(type_, f"llvm.inttoptr {value.name} : i64 to !llvm.ptr")

    def call_cast(self, node: ast.Call, type_: ast.expr, address: ast.expr) -> CodeValue:
        return self._as_pointer(node, self.value(address), self._type(type_))

    # ---- built-in functions ----

    def call_min(self, node: ast.Call, a: ast.expr, b: ast.expr) -> CodeValue:
        left, right = self._operands(node, a, b)
        name, form = node.func.id, types.llvm_type(left.type)  # type: ignore[attr-defined]
        kind = f"{name}num" if left.type in types.FLOATS else f"{'u' if left.type in types.UNSIGNED else 's'}{name}"
        return self.emit(left.type, f"llvm.intr.{kind}({left.name}, {right.name}) : ({form}, {form}) -> {form}")

    call_max = call_min

    def call_stack(
        self, node: ast.Call, element: ast.expr, count: ast.expr | None = None, alignment: ast.expr | None = None
    ) -> CodeValue:
        type_ = self._type(element)
        found, number = self.static(count) if count else (True, 1)
        aligned = self.static(alignment)[1] if alignment else 8
        length, address = self.blocks.name(), self.blocks.name()
        if found:
            self.blocks.add(f"{length} = llvm.mlir.constant({number} : i64) : i64", is_first=True)
        else:
            length = self.of_type(count, int).name  # type: ignore[arg-type]
        form = types.element_form(type_)
        line = f"{address} = llvm.alloca {length} x {form} {{alignment = {aligned} : i64}} : (i64) -> !llvm.ptr"
        self.blocks.add(line, is_first=found)
        return CodeValue(Array[type_], address)  # type: ignore[valid-type]

    def call_place_of(self, node: ast.Call, element: ast.expr) -> CodeValue:
        place = self.place(element)
        return CodeValue(Array[place.type], place.address)  # type: ignore[name-defined]

    def call_size_of(self, node: ast.Call, element: ast.expr) -> CodeValue:
        return self._constant(node, types.size_of(self._type(element)))

    def call_clear(self, node: ast.Call, target: ast.expr) -> CodeValue:
        value = self.of_type(target, language.Struct)
        self.copy(value.name, "", value.type)
        return CodeValue(None, "")

    def call_copy(self, node: ast.Call, target: ast.expr, source: ast.expr) -> CodeValue:
        value = self.of_type(target, language.Struct)
        self.copy(value.name, self.of_type(source, value.type).name, value.type)
        return CodeValue(None, "")

    def call_require_ok(self, node: ast.Call, status: ast.expr) -> CodeValue:
        self.leave_unless_ok(node, self.of_type(status, I32))
        return CodeValue(None, "")

    def call_intrinsic(self, node: ast.Call, name: ast.expr, result: ast.expr, *operands: ast.expr) -> CodeValue:
        values = [self.value(operand) for operand in operands]
        type_ = None if self.static(result) == (True, None) else self._type(result)
        forms = ", ".join(types.llvm_type(value.type) for value in values)
        names = ", ".join(value.name for value in values)
        form = types.llvm_type(type_)
        text = f'llvm.call_intrinsic "{self.static(name)[1]}"({names}) : ({forms}) -> {form or "()"}'
        if form:
            return self.emit(type_, text)
        self.blocks.add(text)
        return CodeValue(None, "")

    def _call_template(self, node: ast.Call, built_in: Any) -> CodeValue:
        """Emit a built-in function from its template. Its annotations have the types; T is the type of an element."""
        hints = get_type_hints(built_in)
        result = hints.pop("return")
        if len(node.args) != len(hints):
            raise self.refuse(node, f"expected {len(hints)} arguments, got {len(node.args)}")
        operands: list[str] = []
        element: Any = None
        for argument, hint in zip(node.args, hints.values(), strict=True):
            if get_origin(hint) is Literal:
                operands.append(self._word(argument, get_args(hint)))
            elif get_origin(hint) is Array:
                slot = self.value(argument)
                if get_origin(slot.type) is not Array:
                    raise self.refuse(argument, f"expected the address of an element, got {types.type_name(slot.type)}")
                element = get_args(slot.type)[0]
                operands.append(slot.name)
            else:
                operands.append(self.of_type(argument, element if isinstance(hint, TypeVar) else hint).name)
        form, size = ("", 0) if element is None else (types.llvm_type(element), types.size_of(element))
        text = _TEMPLATES[built_in.__name__].format(*operands, form=form, size=size)
        if result is NoneType:
            self.blocks.add(text)
            return CodeValue(None, "")
        parts = [element if isinstance(part, TypeVar) else part for part in get_args(result)]
        whole = tuple.__class_getitem__(tuple(parts)) if parts else result
        return self.emit(element if isinstance(result, TypeVar) else whole, text)

    def _word(self, node: ast.expr, words: Sequence[str]) -> str:
        found, word = self.static(node)
        if not found or word not in words:
            raise self.refuse(node, f"expected one of {', '.join(words)}")
        return str(word)
