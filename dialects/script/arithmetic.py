# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers: constants, Python's operators on scalars and vectors, and named functions for other operations."""

from __future__ import annotations

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir
from .attributes import elements_text
from .expr import Expr, Level, infix
from .printer import MOST_ELEMENTS, Printer, attribute_of, expression, is_number, number
from .types import dtype_name, is_scalar, is_tensor
from .words import SIGNED, constant_operation, quoted, sign_of


@expression("arith.constant", "relax.constant")
def _constant(printer: Printer, op: Operation) -> Expr | None:
    if len(op.attributes) != 1 or "value" not in op.attributes:
        return None
    if (attribute := attribute_of(op, "value")) in printer.constants:
        return printer.constants[attribute]
    type_ = op.results[0].type
    if is_scalar(type_) and str(type_) != "i0":  # i0 has no numbers
        return printer.constants.setdefault(attribute, number(attribute, printer.type_text(type_)))
    if is_tensor(type_) and op.name != constant_operation(str(type_.element_type)):
        return None
    if is_tensor(type_):
        return _tensor(printer, attribute) or Expr(f"I.const({printer.attribute_text(attribute)})")
    bare = _splat(attribute) if is_number(type_) else ""
    return Expr(f"I.const({printer.attribute_text(attribute)})", Level.ATOM, bare)


def _splat(attribute: Attribute) -> str:
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return ""
    try:
        return number(attribute.get_splat_value(), "").bare
    except (TypeError, ValueError, RuntimeError):  # elements without Python numbers
        return ""


def _tensor(printer: Printer, attribute: Attribute) -> Expr | None:
    """Print a constant tensor: `R.const([1.0, 2.0], "float32")`. A splat prints one number with the whole type."""
    type_ = attribute.type
    if not isinstance(attribute, ir.DenseElementsAttr):
        return None
    is_splat = len(attribute) != 1 and attribute.is_splat
    if not is_splat and len(attribute) > MOST_ELEMENTS:
        return None
    values = _splat(attribute) if is_splat else elements_text(attribute)
    if not values:
        return None
    is_short = type_.encoding is None and (values.startswith("[") or not type_.shape) and 0 not in type_.shape
    type_text = quoted(dtype_name(str(type_.element_type))) if is_short else printer.type_text(type_)
    return Expr(f"R.const({values}, {type_text})") if "I.type" not in type_text else None


@expression("linalg.index")
def _index(printer: Printer, op: Operation) -> Expr | None:
    text = printer.index_names.get((op.block, int(str(op.attributes["dim"]).partition(" ")[0])))
    return Expr(text) if text is not None and len(op.attributes) == 1 else None


@expression(*SIGNED)
def _sign(printer: Printer, op: Operation) -> Expr | None:
    shown = ("predicate",) if op.name.startswith("arith.cmp") else ()
    sign = sign_of(op.name, *(int(str(op.attributes[name]).partition(" ")[0]) for name in shown))
    if sign is None or not is_number(op.results[0].type) or printer.other_attributes(op, shown):
        return None
    left, right = printer.take(op.operands)
    return infix(left, sign, right)


@expression("arith.negf")
def _negate(printer: Printer, op: Operation) -> Expr | None:
    if not is_number(op.results[0].type) or printer.other_attributes(op):
        return None
    (value,) = printer.take(op.operands)
    return Expr(f"-{value.at(Level.SIGN)}", Level.SIGN)
