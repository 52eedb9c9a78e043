# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""arith as Python's operators. Where integers count as unsigned, the text says so."""

from __future__ import annotations

from typing import NamedTuple

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from .attributes import elements_text, is_splat, number_text, unreadable_text
from .expr import Expr, Level, call, infix, literal, quote
from .printer import Printer
from .rules import expression, statement
from .types import dtype_name, is_scalar


class Spelling(NamedTuple):
    """How an operation is written: between its operands, or in front of them as a function, where there is no level."""

    word: str
    level: int | None = None
    #: So many of the first operands count as unsigned.
    unsigned: int = 0


#: What TVMScript spells as Python does, by the operation's name. Each spelling means one operation for each element
#: type, but for `^`, which is `not` before True, and the words in LOGICAL.
SPELLINGS = {
    f"arith.{name}": Spelling(word, level, unsigned)
    for word, level, unsigned, names in (
        ("+", Level.SUM, 0, "addi addf"), ("-", Level.SUM, 0, "subi subf"), ("*", Level.PRODUCT, 0, "muli mulf"),
        ("/", Level.PRODUCT, 0, "divf"), ("//", Level.PRODUCT, 0, "floordivsi"), ("<<", Level.SHIFT, 0, "shli"),
        (">>", Level.SHIFT, 0, "shrsi"), ("^", Level.BIT_XOR, 0, "xori"), ("&", Level.BIT_AND, 0, "andi"),
        ("|", Level.BIT_OR, 0, "ori"),
        ("//", Level.PRODUCT, 2, "divui"), ("%", Level.PRODUCT, 2, "remui"), (">>", Level.SHIFT, 1, "shrui"),
        ("truncdiv", None, 0, "divsi"), ("truncmod", None, 0, "remsi"), ("fmod", None, 0, "remf"),
        ("ceildiv", None, 0, "ceildivsi"), ("select", None, 0, "select"), ("max", None, 0, "maxsi maximumf"),
        ("min", None, 0, "minsi minimumf"), ("maxnum", None, 0, "maxnumf"), ("minnum", None, 0, "minnumf"),
        ("max", None, 2, "maxui"), ("min", None, 2, "minui"), ("ceildiv", None, 2, "ceildivui"),
    )
    for name in names.split()
}  # fmt: skip
#: Of i1.
LOGICAL = {"arith.andi": ("and", Level.AND), "arith.ori": ("or", Level.OR)}
_CASTS = [f"arith.{name}" for name in "extf truncf extsi trunci sitofp fptosi index_cast".split()]
_UNSIGNED_CASTS = ["arith.extui", "arith.uitofp", "arith.index_castui"]
_SIGNED_PREDICATES = ["==", "!=", "<", "<=", ">", ">="]
_UNSIGNED_PREDICATES = ["<", "<=", ">", ">="]
# False where an operand is NaN, but for !=: what Python's operators mean.
_FLOAT_PREDICATES = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_FLOAT_PREDICATE_NAMES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()


def _unsigned(printer: Printer, value: Value) -> Expr:
    return call("unsigned", printer.text(value))


@expression("arith.constant", "relax.constant", shown="value", always=True)
def _constant(printer: Printer, op: Operation) -> Expr | None:
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


@expression(*SPELLINGS)
def _write_operator(printer: Printer, op: Operation) -> Expr | None:
    word, level, unsigned = SPELLINGS[op.name]
    operands = [
        _unsigned(printer, value) if index < unsigned else printer.value(value)
        for index, value in enumerate(op.operands)
    ]
    if level is None:
        return call(word, *(operand.text for operand in operands))
    left, right = operands
    if op.name == "arith.xori" and right.text == "True":
        return Expr(f"not {left.at(Level.NOT)}", Level.NOT)
    if op.name in LOGICAL and str(op.results[0].type) == "i1":
        word, level = LOGICAL[op.name]
    return infix(left, word, right, level)


@expression("arith.negf")
def _negation(printer: Printer, op: Operation) -> Expr | None:
    return Expr(f"-{printer.value(op.operands[0]).at(Level.ATOM)}", Level.SIGN)


@expression("arith.cmpi", shown="predicate")
def _compare_integers(printer: Printer, op: Operation) -> Expr | None:
    left, right = op.operands
    predicate = op.attributes["predicate"].value
    if predicate < len(_SIGNED_PREDICATES):
        return infix(printer.value(left), _SIGNED_PREDICATES[predicate], printer.value(right), Level.COMPARE)
    symbol = _UNSIGNED_PREDICATES[predicate - len(_SIGNED_PREDICATES)]
    return infix(_unsigned(printer, left), symbol, _unsigned(printer, right), Level.COMPARE)


@expression("arith.cmpf", shown="predicate")
def _compare_floats(printer: Printer, op: Operation) -> Expr | None:
    left, right = (printer.value(value) for value in op.operands)
    predicate = op.attributes["predicate"].value
    if predicate in _FLOAT_PREDICATES:
        return infix(left, _FLOAT_PREDICATES[predicate], right, Level.COMPARE)
    return call("cmpf", quote(_FLOAT_PREDICATE_NAMES[predicate]), left.text, right.text)


def _element(type_: Type) -> str:
    return str(type_ if is_scalar(type_) else type_.element_type)


def _cast(value: str, type_: Type) -> Expr:
    dtype = dtype_name(_element(type_))
    return call(dtype, value) if is_scalar(type_) else call("cast", value, quote(dtype))


@expression(*_CASTS)
def _write_cast(printer: Printer, op: Operation) -> Expr | None:
    operand = op.operands[0]
    cast = _cast(printer.text(operand), op.results[0].type)
    # As a signed number of one bit, True is -1.
    return Expr(f"-{cast.text}", Level.SIGN) if _element(operand.type) == "i1" else cast


@expression(*_UNSIGNED_CASTS)
def _write_unsigned_cast(printer: Printer, op: Operation) -> Expr | None:
    operand = op.operands[0]
    value = printer.value(operand) if _element(operand.type) == "i1" else _unsigned(printer, operand)
    return _cast(value.text, op.results[0].type)


@expression("arith.bitcast")
def _bitcast(printer: Printer, op: Operation) -> Expr | None:
    return call("reinterpret", printer.text(op.operands[0]), quote(dtype_name(_element(op.results[0].type))))


@statement("arith.constant", "relax.constant", shown="value")
def _constant_line(printer: Printer, op: Operation) -> bool:
    try:
        text = elements_text(op.attributes["value"])
    except TypeError:
        text = unreadable_text(op)
    return printer.emit_definition(op, text)
