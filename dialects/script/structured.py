# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg: generic operations as the loops that they stand for, named ones as calls that write their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...bindings.mlir import ir
from .attributes import attribute_items
from .rules import DIALECTS, expression, statement
from .text import Expr, Level, affine, affine_values
from .types import dim_texts

if TYPE_CHECKING:
    from .printer import Printer

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
_OWN_REGION = frozenset({"linalg.generic", "linalg.map", "linalg.reduce"})


@statement("linalg.generic", shown="indexing_maps iterator_types")
def _generic(printer: Printer, op: Any) -> bool:
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    input_count = op.attributes["operandSegmentSizes"][0]
    operands = list(op.operands)
    inputs = [printer.value(value) for value in operands[:input_count]]
    outputs = [Expr(name) for name in _outputs(printer, op, operands[input_count:])]
    block = op.regions[0].blocks[0]
    with printer.names.scope():
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


def _outputs(printer: Printer, op: Any, initial: Sequence[Any]) -> list[str]:
    """The names of what is written: of buffers, or of the results that tensors become."""
    if not len(op.results):
        return [printer.atom(value) for value in initial]
    return [printer.destination(op, value, result) for value, result in zip(initial, op.results, strict=True)]


def _element(base: Expr, operand: Any, map_: Any, values: dict[str, Expr]) -> Expr:
    if not isinstance(operand.type, ir.ShapedType):
        return base
    indices = [affine(str(result), values).text for result in map_.results]
    # On tensors nothing is written but at the end; on buffers neither, so the element may stand anywhere in between.
    return Expr(f"{base.at(Level.ATOM)}[{', '.join(indices) or '()'}]")


def _extents(op: Any, maps: Sequence[Any], bases: Sequence[Expr]) -> list[str]:
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


def _write_loops(printer: Printer, op: Any, header: str, targets: Sequence[str]) -> None:
    """On one line where the body is one that fits."""

    def end(terminator: Any) -> None:
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
def _index(printer: Printer, op: Any) -> Expr | None:
    names = printer.loops.get(op.block)
    return None if names is None else Expr(names[op.attributes["dim"].value])


@statement("linalg.fill")
def _fill(printer: Printer, op: Any) -> bool:
    value, target = op.operands
    text = printer.text(value)
    (name,) = _outputs(printer, op, [target])
    printer.emit(f"{name}[:] = {text}{printer.notes(op)}", printer.comment(op, types=False))
    return True


def _named(printer: Printer, op: Any) -> bool:
    """Any named operation with inputs and outputs: its region says what its name says already."""
    if op.name in _OWN_REGION or "operandSegmentSizes" not in op.attributes or len(op.regions) != 1:
        return False
    counts = list(op.attributes["operandSegmentSizes"])
    if len(counts) != 2 or len(op.results) not in (0, counts[1]):
        return False
    operands = list(op.operands)
    texts = printer.texts(operands[: counts[0]])
    names = _outputs(printer, op, operands[counts[0] :])
    outs = names[0] if len(names) == 1 else f"({', '.join(names)})"
    shown = ("indexing_maps",) if _has_usual_maps(op) else ()
    attributes = [f"{name}={text}" for name, text in attribute_items(op, shown)]
    printer.emit_call(f"{op.name}(", [*texts, f"out={outs}", *attributes], ")", printer.comment(op, types=False))
    return True


def _has_usual_maps(op: Any) -> bool:
    if op.name not in _USUAL_MAPS or "indexing_maps" not in op.attributes:
        return False
    return "".join(str(attribute.value) for attribute in op.attributes["indexing_maps"]) == _USUAL_MAPS[op.name]


DIALECTS["linalg"] = _named
