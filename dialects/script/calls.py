# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations as calls: `vector.broadcast(x, T.Vector((8,), "float32"))`, operands, then types, then attributes.

A call without types has one result, of the last operand's type. Regions are indented blocks below `with`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation, Region, Value
from ...bindings.mlir import DYNAMIC
from ..core.dialect import row_of
from .expr import Expr, Level, as_tuple, is_name
from .operators import operator_items
from .printer import Printer, attribute_of, statement
from .words import LEAVES, MIXED, SEGMENTS, quoted, word_of


@statement("")
def _any(printer: Printer, op: Operation) -> bool:
    definition = row_of(op)
    if definition is not None and definition.dialect.name != "tir" and not op.regions and not op.successors:
        items = operator_items(printer, definition, op)
        if items is not None:
            return _operator_line(printer, op, items, stated=bool(definition.explicit))
    if len(op.regions):
        return _with_regions(printer, op)
    call = _call(printer, op)
    if len(op.results) == 1 and not op.successors:
        printer.define(op, Expr(call, Level.ATOM))
        return True
    return printer.emit(f"{_targets(printer, op)}{call}")


def _operator_line(printer: Printer, op: Operation, items: list[str], *, stated: bool) -> bool:
    """Print a call with explicit result types.

    The type of a single result is an annotation of the target, unless it is `stated`. Otherwise the types are an
    argument.
    """
    if (types := [printer.type_text(result.type) for result in op.results]) and (stated or len(types) > 1):
        items.append(f"out_sinfo={types[0] if len(types) == 1 else '[' + ', '.join(types) + ']'}")
    annotation = f": {types[0]}" if len(types) == 1 and not stated else ""
    head = _targets(printer, op, annotation)
    printer.writer.call(f"{head}{word_of(op.name)}(", items, ")")
    return True


def _targets(printer: Printer, op: Operation, annotation: str = "") -> str:
    """Return the names of an operation's results, and the assignment sign."""
    printer.flush()
    names = [printer.name(op, result) for result in op.results]
    return f"{', '.join(names)}{annotation} = " if names else ""


def _call(printer: Printer, op: Operation) -> str:
    word = word_of(op.name)
    items = [] if word else [quoted(op.name)]
    operands = list(op.operands)
    if (mixed := _mixed_items(printer, op)) is None:
        items += operand_texts(printer.take(operands), operands)
    else:
        items += mixed
        operands = operands[: MIXED[op.name][0]]
    results = [result.type for result in op.results]
    if len(results) != 1 or not operands or operands[-1].type != results[0]:
        items += map(printer.type_text, results)
    items += _attribute_items(printer, op, () if mixed is None else (*MIXED[op.name][1], SEGMENTS))
    if op.successors:
        items.append(f"to={as_tuple([printer.labels.get(block, '?') for block in op.successors])}")
    return f"{word or 'I.op'}({', '.join(items)})"


def _mixed_items(printer: Printer, op: Operation) -> list[str] | None:
    """Return operands, then lists of constant and dynamic sizes: `tensor.extract_slice(A, [i, 0], [4, 8], [1, 1])`."""
    count, names = MIXED.get(op.name, (0, ()))
    if not names or any(name not in op.attributes for name in names):
        return None
    exprs = printer.take(op.operands)
    values = iter(exprs[count:])
    dynamic = str(DYNAMIC)
    items = [expr.text for expr in exprs[:count]]
    for name in names:
        sizes = [str(size) for size in attribute_of(op, name)]
        # A dynamic size that is a number keeps its type, to remain a value.
        items.append(f"[{', '.join(next(values).text if size == dynamic else size for size in sizes)}]")
    return items


def operand_texts(exprs: Sequence[Expr], values: Sequence[Value]) -> list[str]:
    """Return the texts of operands.

    Numbers omit their type if it equals the type of the last operand that is not a number.
    """
    if not any(expr.bare for expr in exprs):
        return [expr.text for expr in exprs]
    last = next(
        (value.type for expr, value in zip(reversed(exprs), reversed(list(values)), strict=True) if not expr.bare), None
    )
    return [
        expr.bare if expr.bare and value.type == last else expr.text for expr, value in zip(exprs, values, strict=True)
    ]


def _attribute_items(printer: Printer, op: Operation, shown: Sequence[str]) -> list[str]:
    items, rest = [], []
    for name, text in printer.other_attributes(op, shown):
        if name == SEGMENTS:
            sizes = as_tuple([str(size) for size in op.attributes[name]])
            items.append(f"segments={sizes}")
        elif is_name(name) and name not in ("segments", "attrs", "to"):
            items.append(f"{name}={text}")
        else:
            rest.append(f"{quoted(name)}: {text}")
    return [*items, f"attrs={{{', '.join(rest)}}}"] if rest else items


# ---- regions ----


def _with_regions(printer: Printer, op: Operation) -> bool:
    call = _call(printer, op)
    printer.flush()
    names = [printer.name(op, result) for result in op.results]
    target = f" as {names[0] if len(names) == 1 else as_tuple(names)}" if names else ""
    printer.writer.line(f"with {call}{target}:")
    with printer.suite():
        if len(op.regions) == 1:
            write_region(printer, op.regions[0])
        else:
            for region in op.regions:
                printer.writer.line("with I.region():")
                with printer.suite():
                    write_region(printer, region)
    return True


def write_region(printer: Printer, region: Region) -> None:
    """Print the operations of a region with one block without arguments, else a function for each block."""
    blocks = list(region.blocks)
    # A block without printed operations would vanish.
    if len(blocks) == 1 and not len(blocks[0].arguments) and any(op.name not in LEAVES for op in blocks[0].operations):
        printer.block(blocks[0])
        return
    write_blocks(printer, blocks, named=blocks)


def write_blocks(printer: Printer, blocks: Sequence, named: Sequence) -> None:
    for block in named:
        printer.labels[block] = printer.names.numbered("bb")
    for block in blocks:
        # Names of arguments have the scope of names of results: blocks further down may use them.
        arguments = [(value, printer.names.numbered("arg")) for value in block.arguments]
        parameters = [f"{name}: {printer.type_text(value.type)}" for value, name in arguments]
        for value, name in arguments:
            printer.bind(value, name)
        printer.writer.line(f"def {printer.labels[block]}({', '.join(parameters)}):")
        with printer.suite(scoped=False):
            printer.block(block)
