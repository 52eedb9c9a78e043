# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators from the tables (relax, tir, plug-ins): operands by their order, attributes that are not defaults."""

from __future__ import annotations

from typing import Any

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, DType, Symbol
from ..core.opdef import OpDef, OpProblem
from .attributes import attribute_text, other_attributes, value_text
from .expr import Expr, Level, as_tuple, call, quote, shorten
from .printer import Printer
from .rules import expression
from .types import dims_text, dtype_name, is_scalar, type_text


def operator_expression(printer: Printer, definition: OpDef, op: Operation) -> Expr | None:
    """A pure operator on scalars and vectors can stand inside of an expression."""
    if not definition.pure or len(op.results) != 1:
        return None
    type_ = op.results[0].type
    if not is_scalar(type_) and not isinstance(type_, ir.VectorType):
        return None
    if other_attributes(op, definition.attrs):
        return None
    return call(_shown_name(definition), *_items(printer, definition, op))


def write_operator(printer: Printer, definition: OpDef, op: Operation) -> None:
    items = _items(printer, definition, op)
    comment = printer.comment(op, types=not definition.explicit)
    if not definition.pure:
        printer.flush_reads()
    head = f"{printer.targets(op)}{_shown_name(definition)}("
    tail = f"){other_attributes(op, definition.attrs)}"
    printer.emit_call(head, items, tail, comment, effect=not definition.pure)


def _shown_name(definition: OpDef) -> str:
    """Graph operators without their dialect, which is the usual one."""
    return definition.name if definition.dialect.name == "relax" else definition.full_name


def _items(printer: Printer, definition: OpDef, op: Operation) -> list[str]:
    """The arguments in the order of the builder's parameters; those by name come after those by place."""
    operands = _operands(definition, op)
    if operands is None:
        return printer.texts(op.operands)
    positional: list[str] = []
    named: list[str] = []
    absent = False
    for name in definition.parameters:
        if name == definition.explicit:
            named.append(f"out={_types_text(op)}")
        elif name in definition.attrs:
            text = _attribute_text(definition.attrs[name], name, op)
            # A callee comes first, by its place.
            first = name == definition.parameters[0] and bool(definition.operands)
            if text is not None:
                (positional if first else named).append(text if first else f"{name}={text}")
        elif operands.get(name) is None:
            absent = True
        else:
            parts = _operand_texts(printer, operands[name], definition, name)
            # After an operand that is left out, places do not tell any more which one it is.
            (named if absent else positional).extend([f"{name}={', '.join(parts)}"] if absent else parts)
    return positional + named


def _operands(definition: OpDef, op: Operation) -> dict[str, Any] | None:
    """Values by operand name: None for an absent one, a tuple for a variadic one. None if they do not fit the table."""
    try:
        sizes = list(op.attributes["operandSegmentSizes"]) if definition.segmented else None
        return definition.segment(list(op.operands), sizes)
    except (OpProblem, ValueError, KeyError):
        return None


def _operand_texts(printer: Printer, given: Any, definition: OpDef, name: str) -> list[str]:
    """The text of an operand, as parts that a line can be wrapped between."""
    if isinstance(given, tuple):
        texts = printer.texts(given)
        return [as_tuple(texts)] if len(texts) < 2 else [f"({texts[0]}", *texts[1:-1], f"{texts[-1]})"]
    text = printer.text(given)
    # Where a shape is expected, a tuple is one.
    is_shape = any(operand.name == name and operand.kind == "shape" for operand in definition.operands)
    return [text.removeprefix("shape") if is_shape and text.startswith("shape(") else text]


def _attribute_text(kind: AttrKind, name: str, op: Operation) -> str | None:
    """The attribute's text; None where it is the default."""
    if name not in op.attributes:
        return None
    attribute = op.attributes[name]
    try:
        value = kind.decode(attribute)
    except AttributeProblem:
        return attribute_text(attribute)
    if not kind.required and value == kind.default:
        return None
    if isinstance(kind, DType):
        return quote(dtype_name(value))
    return f"@{shorten(value)}" if isinstance(kind, Symbol) else value_text(value)


def _types_text(op: Operation) -> str:
    types = [type_text(result.type) for result in op.results]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


@expression("relax.shape_expr", shown="dims", always=True)
def _shape(printer: Printer, op: Operation) -> Expr | None:
    dims = op.attributes["dims"]
    if not isinstance(dims, ir.ArrayAttr):
        return None
    return Expr(f"shape{dims_text([_size_text(item) for item in dims])}")


def _size_text(attribute: Attribute) -> str:
    return shorten(attribute.value) if isinstance(attribute, ir.StringAttr) else attribute_text(attribute)


@expression("relax.prim_value", shown="value", always=True)
def _prim_value(printer: Printer, op: Operation) -> Expr | None:
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.StringAttr):
        return None
    text = shorten(attribute.value)
    return Expr(text, Level.ATOM if text.isidentifier() else Level.SUM)
