# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches. Carried values are names that exist before and are reassigned inside."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation, Region, Value
from ...bindings.mlir import ir
from .expr import Expr
from .printer import Printer, statement


@statement("scf.for")
def _print_for(printer: Printer, op: Operation) -> bool:
    if printer.other_attributes(op):
        return False
    bounds, inits = list(op.operands)[:3], list(op.operands)[3:]
    if any(printer.is_waiting(init) for init in inits):
        printer.flush()
    lower, upper, step = (bound.bare or bound.text for bound in _bounds(printer, bounds))
    printer.flush()
    carried = [printer.overwritten(op, init) for init in inits]
    block = op.regions[0].blocks[0]
    printer.flush()
    header = len(printer.writer.lines)
    printer.writer.line("")
    with printer.suite(), printer.assigned() as assigned:
        index = printer.bind(block.arguments[0], printer.names.index())
        for argument, name in zip(list(block.arguments)[1:], carried, strict=True):
            printer.bind(argument, name)
        printer.block(block, lambda end: printer.yielded(end, carried))
    items = [upper] if (lower, step) == ("0", "1") else [lower, upper] if step == "1" else [lower, upper, step]
    # The reader finds carried names in the order of their first assignment. Any other order needs an explicit list.
    is_memory = any(isinstance(init.type, ir.MemRefType) for init in inits)  # elements are assigned alike
    if is_memory or [name for name in assigned if name in carried] != carried:
        items.append(f"carry={_list(carried)}")
    printer.writer.lines[header] = f"{printer.writer.margin}for {index} in range({', '.join(items)}):"
    for result, name in zip(op.results, carried, strict=True):
        printer.bind(result, name)
    return True


def _bounds(printer: Printer, bounds: Sequence[Value]) -> list[Expr]:
    exprs = printer.take(bounds)
    # Numbers are indices here.
    return [
        expr if not expr.bare or str(value.type) == "index" else expr._replace(bare="")
        for expr, value in zip(exprs, bounds, strict=True)
    ]


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


@statement("scf.if")
def _if(printer: Printer, op: Operation) -> bool:
    """Print a branch. Its results are the values that both sides assign last."""
    if printer.other_attributes(op):
        return False
    condition, then, other = printer.texts(op.operands)[0], op.regions[0], op.regions[1]
    printer.flush()
    names = [printer.name(op, result) for result in op.results]
    printer.writer.line(f"if {condition}:")
    _side(printer, then, names)
    if len(other.blocks):
        printer.writer.line("else:")
        _side(printer, other, names)
        if not names and _ends_with_value(printer, then) and _ends_with_value(printer, other):
            with printer.writer.indented():
                printer.writer.line("pass")  # else the last names of both sides would become results
    return True


def _ends_with_value(printer: Printer, region: Region) -> bool:
    *operations, _ = region.blocks[0].operations
    written = [op for op in operations if not all(map(printer.is_leaf, op.results)) or not op.results]
    return bool(written) and len(written[-1].results) > 0


def _side(printer: Printer, region: Region, names: list[str]) -> None:
    with printer.suite():
        printer.block(region.blocks[0], lambda end: printer.yielded(end, names, always=True))
