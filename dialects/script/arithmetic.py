# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arith as Python's operators. Where integers count as unsigned, the text says so."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from .constants import elements_text, is_splat, number_text, unreadable_text
from .expr import Expr, Level, call, infix, literal, quote
from .printer import Printer
from .rules import expression, statement
from .types import dtype_name, is_scalar

_INFIX = {
    "addi": ("+", Level.SUM), "addf": ("+", Level.SUM), "subi": ("-", Level.SUM), "subf": ("-", Level.SUM),
    "muli": ("*", Level.PRODUCT), "mulf": ("*", Level.PRODUCT), "divf": ("/", Level.PRODUCT),
    "floordivsi": ("//", Level.PRODUCT), "shli": ("<<", Level.SHIFT), "shrsi": (">>", Level.SHIFT),
    "xori": ("^", Level.BIT_XOR),
}  # fmt: skip
_UNSIGNED_INFIX = {
    "divui": ("//", Level.PRODUCT),
    "remui": ("%", Level.PRODUCT),
    "shrui": (">>", Level.SHIFT),
}
_LOGICAL = {"andi": ("and", Level.AND, "&", Level.BIT_AND), "ori": ("or", Level.OR, "|", Level.BIT_OR)}
_FUNCTIONS = {
    "divsi": "truncdiv", "remsi": "truncmod", "remf": "fmod", "ceildivsi": "ceildiv", "select": "select",
    "maxsi": "max", "maximumf": "max", "minsi": "min", "minimumf": "min", "maxnumf": "maxnum", "minnumf": "minnum",
}  # fmt: skip
_UNSIGNED_FUNCTIONS = {"maxui": "max", "minui": "min", "ceildivui": "ceildiv"}
_CASTS = ("extf", "truncf", "extsi", "trunci", "sitofp", "fptosi", "index_cast")
_UNSIGNED_CASTS = ("extui", "uitofp", "index_castui")
_SIGNED_PREDICATES = ["==", "!=", "<", "<=", ">", ">="]
_UNSIGNED_PREDICATES = ["<", "<=", ">", ">="]
# False where an operand is NaN, but for !=: what Python's operators mean.
_FLOAT_PREDICATES = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_FLOAT_PREDICATE_NAMES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


def _arith(names: Any) -> list[str]:
    return [f"arith.{name}" for name in names]


def _short(op: Any) -> str:
    return op.name.rpartition(".")[2]


def _unsigned(printer: Printer, value: Any) -> Expr:
    return call("unsigned", printer.text(value))


@expression("arith.constant", "relax.constant", shown="value", always=True)
def _constant(printer: Printer, op: Any) -> Expr | None:
    """Numbers and single-element constants stand where they are used; others are lines (see _constant_line)."""
    try:
        attribute = op.attributes["value"]
    except TypeError:
        return None
    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
        return literal(number_text(attribute))
    type_ = op.results[0].type
    stands_inside = isinstance(type_, ir.VectorType) or (isinstance(type_, ir.ShapedType) and not type_.shape)
    return Expr(elements_text(attribute)) if stands_inside and is_splat(attribute) else None


@expression(*_arith(_INFIX))
def _write_infix(printer: Printer, op: Any) -> Expr | None:
    left, right = (printer.value(value) for value in op.operands)
    if op.name == "arith.xori" and right.text == "True":
        return Expr(f"not {left.at(Level.NOT)}", Level.NOT)
    symbol, level = _INFIX[_short(op)]
    return infix(left, symbol, right, level)


@expression(*_arith(_UNSIGNED_INFIX))
def _write_unsigned_infix(printer: Printer, op: Any) -> Expr | None:
    left, right = op.operands
    symbol, level = _UNSIGNED_INFIX[_short(op)]
    shift = op.name == "arith.shrui"
    return infix(_unsigned(printer, left), symbol, printer.value(right) if shift else _unsigned(printer, right), level)


@expression(*_arith(_LOGICAL))
def _write_logical(printer: Printer, op: Any) -> Expr | None:
    left, right = (printer.value(value) for value in op.operands)
    word, word_level, symbol, level = _LOGICAL[_short(op)]
    if str(op.results[0].type) == "i1":
        return infix(left, word, right, word_level)
    return infix(left, symbol, right, level)


@expression(*_arith(_FUNCTIONS))
def _write_function(printer: Printer, op: Any) -> Expr | None:
    return call(_FUNCTIONS[_short(op)], *printer.texts(op.operands))


@expression(*_arith(_UNSIGNED_FUNCTIONS))
def _write_unsigned_function(printer: Printer, op: Any) -> Expr | None:
    return call(_UNSIGNED_FUNCTIONS[_short(op)], *(_unsigned(printer, value).text for value in op.operands))


@expression("arith.negf")
def _negation(printer: Printer, op: Any) -> Expr | None:
    return Expr(f"-{printer.value(op.operands[0]).at(Level.ATOM)}", Level.SIGN)


@expression("arith.cmpi", shown="predicate")
def _compare_integers(printer: Printer, op: Any) -> Expr | None:
    left, right = op.operands
    predicate = op.attributes["predicate"].value
    if predicate < len(_SIGNED_PREDICATES):
        return infix(printer.value(left), _SIGNED_PREDICATES[predicate], printer.value(right), Level.COMPARE)
    symbol = _UNSIGNED_PREDICATES[predicate - len(_SIGNED_PREDICATES)]
    return infix(_unsigned(printer, left), symbol, _unsigned(printer, right), Level.COMPARE)


@expression("arith.cmpf", shown="predicate")
def _compare_floats(printer: Printer, op: Any) -> Expr | None:
    left, right = (printer.value(value) for value in op.operands)
    predicate = op.attributes["predicate"].value
    if predicate in _FLOAT_PREDICATES:
        return infix(left, _FLOAT_PREDICATES[predicate], right, Level.COMPARE)
    return call("cmpf", quote(_FLOAT_PREDICATE_NAMES[predicate]), left.text, right.text)


def _element(type_: Any) -> str:
    return str(type_ if is_scalar(type_) else type_.element_type)


def _cast(value: str, type_: Any) -> Expr:
    dtype = dtype_name(_element(type_))
    return call(dtype, value) if is_scalar(type_) else call("cast", value, quote(dtype))


@expression(*_arith(_CASTS))
def _write_cast(printer: Printer, op: Any) -> Expr | None:
    operand = op.operands[0]
    cast = _cast(printer.text(operand), op.results[0].type)
    # As a signed number of one bit, True is -1.
    return Expr(f"-{cast.text}", Level.SIGN) if _element(operand.type) == "i1" else cast


@expression(*_arith(_UNSIGNED_CASTS))
def _write_unsigned_cast(printer: Printer, op: Any) -> Expr | None:
    operand = op.operands[0]
    value = printer.value(operand) if _element(operand.type) == "i1" else _unsigned(printer, operand)
    return _cast(value.text, op.results[0].type)


@expression("arith.bitcast")
def _bitcast(printer: Printer, op: Any) -> Expr | None:
    return call("reinterpret", printer.text(op.operands[0]), quote(dtype_name(_element(op.results[0].type))))


@statement("arith.constant", "relax.constant", shown="value")
def _constant_line(printer: Printer, op: Any) -> bool:
    try:
        text = elements_text(op.attributes["value"])
    except TypeError:
        text = unreadable_text(op)
    printer.emit(f"{printer.targets(op)}{text}{printer.notes(op)}", printer.comment(op, types=False), effect=False)
    return True
