# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations without a rule of their own: operators from the tables (relax, tir, plug-ins), and all that is left."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Attribute, Operation, Region, Value
from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, DType, Symbol
from ..core.dialect import row_of
from ..core.opdef import OpDef, OpProblem
from .attributes import attribute_items, attribute_text, other_attributes, value_text
from .expr import Expr, Level, as_tuple, call, one_line, quote, shorten
from .printer import Printer
from .rules import DIALECTS, expression
from .types import dims_text, dtype_name, is_scalar, type_text

# Dialects of which every operation computes its one result from its operands and does nothing else.
_PURE_DIALECTS = frozenset({"arith", "complex", "index", "math"})
_PURE = frozenset(
    f"vector.{name}"
    for name in (
        "bitcast broadcast constant_mask contract create_mask deinterleave extract extract_strided_slice fma "
        "from_elements insert insert_strided_slice interleave multi_reduction outerproduct reduction scalable.extract "
        "scalable.insert shape_cast shuffle step transpose vscale"
    ).split()
)
# Attributes that name what an operation calls or defines.
_SYMBOLS = ("sym_name", "callee")


def _write(printer: Printer, op: Operation) -> bool:
    definition = row_of(op)
    if definition is None:
        expr = printer.tracked(lambda: _expression(printer, op))
    else:
        expr = printer.tracked(lambda: operator_expression(printer, definition, op))
    if expr is not None:
        printer.define(op, expr)
    elif definition is not None:
        write_operator(printer, definition, op)
    else:
        _write_lines(printer, op)
    return True


DIALECTS[""] = _write


def _expression(printer: Printer, op: Operation) -> Expr | None:
    """The call form as an expression, for operations known to be nothing but their result."""
    if op.name.partition(".")[0] not in _PURE_DIALECTS and op.name not in _PURE:
        return None
    if len(op.results) != 1 or len(op.regions) or len(op.successors):
        return None
    return call(op.name, *_plain_items(printer, op, shown=()))


def _plain_items(printer: Printer, op: Operation, shown: tuple[str, ...]) -> list[str]:
    return [*printer.texts(op.operands), *(f"{name}={text}" for name, text in attribute_items(op, shown))]


def _write_lines(printer: Printer, op: Operation) -> None:
    """The call form as lines, regions indented below it."""
    symbol = _symbol_text(op)
    items = _plain_items(printer, op, shown=_SYMBOLS if symbol else ())
    regions = [region for region in op.regions if len(region.blocks)]
    tail = f"){_successors_text(printer, op)}"
    comment = printer.comment(op)
    printer.flush_reads()
    head = f"{printer.targets(op)}{one_line(op.name)}{symbol}("
    if not regions:
        printer.emit_call(head, items, tail, comment)
        return
    with printer.scope():
        parameters = printer.parameters(regions[0].blocks[0]) if len(regions) == 1 else []
        _write_header(printer, head, items, tail, parameters, comment)
        if len(regions) == 1:
            printer.suite(regions[0])
    if len(regions) > 1:
        _write_regions(printer, regions)
    if symbol:
        printer.writer.gap()


def _write_header(
    printer: Printer, head: str, items: list[str], tail: str, parameters: list[str], comment: str
) -> None:
    """The call with its region's arguments: `my.loop(x) with (i: index):`."""
    arguments = f" with ({', '.join(parameters)})" if parameters else ""
    if not parameters or (items and printer.writer.fits(f"{tail}{arguments}:")):
        printer.emit_call(head, items, f"{tail}{arguments}:", comment)
    else:
        printer.emit_call(head, items, f"{tail} with (", comment)
        printer.writer.rows(parameters)
        printer.writer.line("):")


def _write_regions(printer: Printer, regions: Sequence[Region]) -> None:
    with printer.writer.indented():
        for region in regions:
            with printer.scope():
                printer.emit(f"region{_arguments_text(printer, region)}:")
                printer.suite(region)


def _symbol_text(op: Operation) -> str:
    for name in _SYMBOLS:
        if name in op.attributes:
            text = str(op.attributes[name])
            return f" @{text[1:-1]}" if text.startswith('"') else f" {text}"
    return ""


def _arguments_text(printer: Printer, region: Region) -> str:
    parameters = printer.parameters(region.blocks[0])
    return f" with ({', '.join(parameters)})" if parameters else ""


def _successors_text(printer: Printer, op: Operation) -> str:
    labels = [printer.labels.get(block, "...") for block in op.successors]
    return f" -> [{', '.join(labels)}]" if labels else ""


# ---- operators from the tables: operands by their order, attributes that are not defaults ----


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


def _operands(definition: OpDef, op: Operation) -> dict[str, Value | tuple[Value, ...]] | None:
    """Values by operand name: None for an absent one, a tuple for a variadic one. None if they do not fit the table."""
    try:
        sizes = list(op.attributes["operandSegmentSizes"]) if definition.segmented else None
        return definition.segment(list(op.operands), sizes)
    except (OpProblem, ValueError, KeyError):
        return None


def _operand_texts(printer: Printer, given: Value | tuple[Value, ...], definition: OpDef, name: str) -> list[str]:
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
