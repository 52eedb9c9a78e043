# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of the tables as calls, `R.nn.conv2d(x, w, strides=(2, 2))`, and sizes as values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Attribute, Operation, Value
from ..core.attributes import AttributeProblem, AttrKind, DType, Symbol
from ..core.codec import encode
from ..core.dialect import find_op
from ..core.infos import ScalarInfo, ShapeInfo
from ..core.opdef import OpDef, OpProblem
from ..core.operator import Operator
from ..core.symbols import SymExpr
from .attributes import attribute_text
from .expr import Expr, as_tuple, is_name
from .printer import Printer, attribute_of, expression
from .types import dim_text, dtype_name
from .words import SEGMENTS, quoted


def operator_items(printer: Printer, definition: Operator, op: Operation) -> list[str] | None:
    """Return the arguments in the builder's order, or None if the operation does not match the table."""
    if (operands := _operands(definition, op)) is None:
        return None
    texts = iter(printer.take([value for name in definition.parameters for value in _values(operands.get(name))]))
    items: list[str] = []
    by_name = False
    others = {name: attribute_of(op, name) for name in op.attributes if name != SEGMENTS}
    for name in definition.parameters:
        if (given := operands.get(name)) is not None:
            text = _operand_text([next(texts) for _ in _values(given)], given, definition.kinds[name])
        elif name in others and name in definition.attrs:
            if (found := _checked_text(printer, definition.attrs[name], others[name])) is None:
                by_name = True
                continue
            del others[name]
            text = found
            by_name = by_name or not isinstance(definition.attrs[name], Symbol)
        else:
            by_name = True
            continue
        items.append(f"{name}={text}" if by_name else text)
    if others:
        rest = ", ".join(f"{quoted(name)}: {printer.attribute_text(value)}" for name, value in others.items())
        items.append(f"attrs={{{rest}}}")
    return items


def _operands(definition: OpDef, op: Operation) -> dict[str, Value | tuple[Value, ...]] | None:
    """Return the values by operand name, or None if they do not match the table.

    An absent operand is None, and a variadic operand is a tuple.
    """
    try:
        sizes = list(op.attributes[SEGMENTS]) if definition.segmented else None
        return definition.segment(list(op.operands), sizes)
    except (OpProblem, ValueError, KeyError):
        return None


def _values(given: Value | tuple[Value, ...] | None) -> Sequence[Value]:
    return given if isinstance(given, tuple) else () if given is None else (given,)


def _operand_text(texts: list[Expr], given: Value | tuple[Value, ...], kind: str) -> str:
    if isinstance(given, tuple):
        return as_tuple([text.text for text in texts])
    # A tuple is accepted where a shape is expected.
    return texts[0].bare if kind == "shape" and texts[0].bare else texts[0].text


def _checked_text(printer: Printer, kind: AttrKind, attribute: Attribute) -> str | None:
    """Return the text of an attribute's Python value, or None if it does not parse to the same attribute."""
    if (known := printer.values.get((kind, attribute), "")) == "":
        known = printer.values[kind, attribute] = _value_of(kind, attribute)
    return known


def _decode(kind: AttrKind, attribute: Attribute) -> Any:
    """Return the Python value of an attribute, or None if it does not convert back to the same attribute."""
    try:
        value = kind.decode(attribute)
        return value if kind.encode(kind.normalize(value), attribute.context) == attribute else None
    except AttributeProblem:
        return None


def _value_of(kind: AttrKind, attribute: Attribute) -> str | None:
    if (value := _decode(kind, attribute)) is None:
        return None
    if isinstance(kind, Symbol):
        return f"cls.{value}" if is_name(value) else None
    return quoted(dtype_name(value)) if isinstance(kind, DType) else _literal(value)


def _literal(value: object) -> str | None:
    if isinstance(value, Attribute):
        return attribute_text(value)
    if isinstance(value, (str, SymExpr)):
        return quoted(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, tuple):
        items = [_literal(item) for item in value]
        known = [item for item in items if item is not None]
        return as_tuple(known) if len(known) == len(items) else None
    return repr(value)


# ---- sizes ----


@expression("relax.shape_expr")
def _shape(printer: Printer, op: Operation) -> Expr | None:
    """Print `R.shape(("n", 256))`, or only the tuple where a shape is expected."""
    dims = _only_attribute(op, "dims")
    if dims is None or encode(ShapeInfo(dims), op.context) != op.results[0].type:
        return None
    text = as_tuple([dim_text(dim) for dim in dims])
    return Expr(f"R.shape({text})", bare=text)


@expression("relax.prim_value")
def _prim_value(printer: Printer, op: Operation) -> Expr | None:
    value = _only_attribute(op, "value")
    if value is None or encode(ScalarInfo("i64"), op.context) != op.results[0].type:
        return None
    return Expr(f"R.prim_value({dim_text(value)})")


def _only_attribute(op: Operation, name: str) -> Any:
    """Return the Python value of the only attribute of an operation, or None if it has others."""
    return _decode(find_op(op.name).attrs[name], op.attributes[name]) if list(op.attributes) == [name] else None
