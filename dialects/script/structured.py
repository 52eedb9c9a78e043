# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg: generic operations as the loops that they stand for, named ones as calls that write their outputs."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import AffineMap, Operation, Value
from ...bindings.mlir import ir
from .attributes import attribute_items
from .expr import Expr, Level, affine, affine_values, as_tuple
from .printer import Printer
from .rules import DIALECTS, expression, statement
from .types import dim_texts

# What linalg's products have as their indexing maps where nothing else is said.
_USUAL_MAPS = {
    f"linalg.{name}": "".join(f"({dims}) -> ({result})" for result in results)
    for name, dims, results in (
        ("matmul", "d0, d1, d2", ("d0, d2", "d2, d1", "d0, d1")),
        ("batch_matmul", "d0, d1, d2, d3", ("d0, d1, d3", "d0, d3, d2", "d0, d1, d2")),
        ("batch_reduce_matmul", "d0, d1, d2, d3", ("d0, d1, d3", "d0, d3, d2", "d1, d2")),
    )
}
# Their regions say what they do.
_OWN_REGION = frozenset({"linalg.map", "linalg.reduce"})
# How many outputs there are where no attribute says it; 0: as many as inputs.
_OUTPUT_COUNTS = {"linalg.map": 1, "linalg.reduce": 0, "linalg.transpose": 1, "linalg.broadcast": 1}


@statement("linalg.generic", shown="indexing_maps iterator_types")
def _generic(printer: Printer, op: Operation) -> bool:
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    input_count = op.attributes["operandSegmentSizes"][0]
    operands = list(op.operands)
    inputs = [printer.value(value) for value in operands[:input_count]]
    outputs = [Expr(name) for name in _outputs(printer, op, operands[input_count:])]
    block = op.regions[0].blocks[0]
    with printer.scope():
        indices = [printer.names.index() for _ in range(maps[0].n_dims)]
        values = affine_values([Expr(name) for name in indices])
        elements = [
            _element(base, operand, map_, values)
            for base, operand, map_ in zip([*inputs, *outputs], operands, maps, strict=True)
        ]
        for argument, element in zip(block.arguments, elements, strict=True):
            printer.inline(argument, element)
        printer.loops[block] = indices
        header = f"for {', '.join(indices)} in grid({', '.join(_extents(op, maps, [*inputs, *outputs]))}):"
        targets = [element.text for element in elements[input_count:]]
        _write_loops(printer, op, header if indices else "", targets)
    return True


def _outputs(printer: Printer, op: Operation, initial: Sequence[Value]) -> list[str]:
    """The names of what is written: of buffers, or of the results that tensors become."""
    if not len(op.results):
        return [printer.atom(value) for value in initial]
    return [printer.destination(op, value, result) for value, result in zip(initial, op.results, strict=True)]


def _element(base: Expr, operand: Value, map_: AffineMap, values: dict[str, Expr]) -> Expr:
    if not isinstance(operand.type, ir.ShapedType):
        return base
    indices = [affine(str(result), values).text for result in map_.results]
    # On tensors nothing is written but at the end; on buffers neither, so the element may stand anywhere in between.
    return Expr(f"{base.at(Level.ATOM)}[{', '.join(indices) or '()'}]")


def _extents(op: Operation, maps: Sequence[AffineMap], bases: Sequence[Expr]) -> list[str]:
    """How far each loop goes: the size of a dimension that it alone indexes."""
    operands = list(op.operands)
    extents = []
    for position, kind in enumerate(op.attributes["iterator_types"]):
        found = "?"
        for operand, map_, base in zip(operands, maps, bases, strict=True):
            axis = next((a for a, result in enumerate(map_.results) if str(result) == f"d{position}"), None)
            if axis is not None:
                found = dim_texts(operand.type)[axis]
                if found == "?":
                    found = f"{base.at(Level.ATOM)}.shape[{axis}]"
                break
        extents.append(found if "parallel" in str(kind) else f"reduce({found})")
    return extents


def _write_loops(printer: Printer, op: Operation, header: str, targets: Sequence[str]) -> None:
    """On one line where the body is one that fits."""

    def end(terminator: Operation) -> None:
        pairs = [
            (target, text)
            for target, text in zip(targets, printer.texts(terminator.operands), strict=True)
            if target != text
        ]
        if pairs:
            names, texts = (", ".join(part) for part in zip(*pairs, strict=True))
            printer.emit(f"{names} = {texts}")

    comment = printer.header_comment(op)
    region = op.regions[0]
    if not header:
        if comment:
            printer.emit("# rank 0", comment)
        printer.block(region.blocks[0], end)
        return
    with printer.writer.captured() as lines:
        printer.suite(region, end)
    body = lines[0].strip() if len(lines) == 1 and "#" not in lines[0] else ""
    if body and printer.writer.fits(f"{header} {body}"):
        printer.emit(f"{header} {body}", comment)
        return
    printer.emit(header, comment)
    printer.writer.lines.extend(lines)


@expression("linalg.index", shown="dim")
def _index(printer: Printer, op: Operation) -> Expr | None:
    names = printer.loops.get(op.block)
    return None if names is None else Expr(names[op.attributes["dim"].value])


@statement("linalg.fill")
def _fill(printer: Printer, op: Operation) -> bool:
    value, target = op.operands
    text = printer.text(value)
    (name,) = _outputs(printer, op, [target])
    return printer.emit_op(op, f"{name}[:] = {text}", types=False)


def _named(printer: Printer, op: Operation) -> bool:
    """Operations with inputs and outputs. Most have a region that says what their name says already."""
    count = _output_count(op)
    if count is None or len(op.results) not in (0, count):
        return False
    operands = list(op.operands)
    start = len(operands) - count
    texts = printer.texts(operands[:start])
    names = _outputs(printer, op, operands[start:])
    shown = ("indexing_maps",) if _has_usual_maps(op) else ()
    attributes = [f"{name}={text}" for name, text in attribute_items(op, shown)]
    items = [*texts, f"out={names[0] if len(names) == 1 else as_tuple(names)}", *attributes]
    comment = printer.comment(op, types=False)
    if op.name not in _OWN_REGION:
        printer.emit_call(f"{op.name}(", items, ")", comment)
        return True
    with printer.scope():
        parameters = ", ".join(printer.parameters(op.regions[0].blocks[0]))
        printer.emit_call(f"{op.name}(", items, f") with ({parameters}):", comment)
        printer.suite(op.regions[0])
    return True


def _output_count(op: Operation) -> int | None:
    """How many of the last operands are written; None for operations that are not of that kind."""
    if len(op.regions) != 1:
        return None
    if op.name in _OUTPUT_COUNTS:
        return _OUTPUT_COUNTS[op.name] or len(op.operands) // 2
    if "operandSegmentSizes" not in op.attributes:
        return None
    counts = list(op.attributes["operandSegmentSizes"])
    return counts[1] if len(counts) == 2 else None


def _has_usual_maps(op: Operation) -> bool:
    if op.name not in _USUAL_MAPS or "indexing_maps" not in op.attributes:
        return False
    return "".join(str(attribute.value) for attribute in op.attributes["indexing_maps"]) == _USUAL_MAPS[op.name]


DIALECTS["linalg"] = _named
