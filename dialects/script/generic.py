# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations without a form of their own: `dialect.op(operands, attribute=value)` with their regions below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Operation, Region
from .attributes import attribute_items
from .expr import Expr, call, one_line
from .names import definition_of
from .operators import operator_expression, write_operator
from .printer import Printer
from .rules import DIALECTS

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
    definition = definition_of(op.name)
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
    return call(op.name, *_items(printer, op, shown=()))


def _items(printer: Printer, op: Operation, shown: tuple[str, ...]) -> list[str]:
    return [
        *printer.texts(op.operands),
        *(f"{name}={text}" for name, text in attribute_items(op, shown)),
    ]


def _write_lines(printer: Printer, op: Operation) -> None:
    """The call form as lines, regions indented below it."""
    symbol = _symbol_text(op)
    items = _items(printer, op, shown=_SYMBOLS if symbol else ())
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


def _write_regions(printer: Printer, regions: Sequence[Any]) -> None:
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
