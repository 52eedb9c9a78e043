# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of the arith dialect in C."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir

from .expressions import Expression, binary, call, cast, integer, unary
from .integers import cut, fitted, is_bool, is_odd, unsigned, width_of
from .types import HALVES, machine_width, scalar_type
from .writer import FunctionWriter, Rule, ScalarRule, scalar


def _to_index(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    if machine_width(source) == machine_width(target) and not is_odd(target):
        return operands[0]
    if width_of(source) > width_of(target):
        return _truncate(writer, op, operands)
    return _extend(writer, op, operands) if is_bool(source) else cast(scalar_type(target), operands[0])


def _to_index_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    if width_of(source) >= width_of(target):
        return _to_index(writer, op, operands)
    return cast(scalar_type(target), unsigned(operands[0], source))


def _extend(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    target = scalar_type(op.results[0].type)
    if is_bool(op.operands[0].type):
        return fitted(writer, unary("-", cast(target, operands[0])), op.results[0].type)
    return cast(target, operands[0])


def _extend_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    return cast(scalar_type(op.results[0].type), unsigned(operands[0], op.operands[0].type))


def _truncate(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    type_ = op.results[0].type
    if is_bool(type_):
        return binary("!=", binary("&", operands[0], integer(1)), integer(0))
    return cut(writer, cast(scalar_type(type_), operands[0]), type_)


def _to_float(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    operand = unary("-", cast("int32_t", operands[0])) if is_bool(op.operands[0].type) else operands[0]
    return _convert_float(writer, cast(_choose_type(op), operand), op)


def _to_float_unsigned(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    return _convert_float(writer, cast(_choose_type(op), unsigned(operands[0], op.operands[0].type)), op)


def _choose_type(op: Operation) -> str:
    return "double" if str(op.results[0].type) == "f64" else "float"


def _convert_float(writer: FunctionWriter, value: Expression, op: Operation) -> Expression:
    dtype = str(op.results[0].type)
    return call(writer.helper(f"{dtype}_of_f32"), value) if dtype in HALVES else value


def _to_integer(sign: str) -> ScalarRule:
    def rule(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
        source, type_ = op.operands[0].type, op.results[0].type
        value, dtype = operands[0], str(source)
        if dtype in HALVES:
            value, dtype = call(writer.helper(f"f32_of_{dtype}"), value), "f32"
        made = call(writer.helper(f"{sign}{machine_width(type_)}_of_{dtype}"), value)
        return binary("!=", made, integer(0)) if is_bool(type_) else cut(writer, made, type_)

    return rule


def _widen(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = str(op.operands[0].type), str(op.results[0].type)
    value = call(writer.helper(f"f32_of_{source}"), operands[0]) if source in HALVES else operands[0]
    return cast("double", value) if target == "f64" else value


def _narrow(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = str(op.operands[0].type), str(op.results[0].type)
    if target == "f32":
        return cast("float", operands[0])
    # Round to odd first, so that the second rounding gives the result of a single rounding.
    value = call(writer.helper("odd_f32_of_f64"), operands[0]) if source == "f64" else operands[0]
    return call(writer.helper(f"{target}_of_f32"), value)


def _bitcast(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    source, target = op.operands[0].type, op.results[0].type
    kinds = [isinstance(type_, ir.FloatType) for type_ in (source, target)]
    if kinds[0] == kinds[1]:
        return operands[0]
    if str(source) in HALVES:
        return cast("int16_t", operands[0])
    if str(target) in HALVES:
        return cast("uint16_t", operands[0])
    width = width_of(target if kinds[0] else source)
    return call(writer.helper(f"bits_of_f{width}" if kinds[0] else f"f{width}_of_bits"), operands[0])


_SCALAR: dict[str, ScalarRule] = {
    "index_cast": _to_index,
    "index_castui": _to_index_unsigned,
    "extsi": _extend,
    "extui": _extend_unsigned,
    "trunci": _truncate,
    "sitofp": _to_float,
    "uitofp": _to_float_unsigned,
    "fptosi": _to_integer("i"),
    "fptoui": _to_integer("u"),
    "extf": _widen,
    "truncf": _narrow,
    "bitcast": _bitcast,
}

RULES: dict[str, Rule] = {f"arith.{word}": scalar(rule) for word, rule in _SCALAR.items()}
