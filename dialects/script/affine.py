# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""affine: like scf, with the maps written out."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import AffineMap, Operation, Value
from .buffers import index_text
from .expr import Expr, affine, affine_values, call
from .loops import range_text, write_for, write_if
from .printer import Printer
from .rules import expression, statement


def map_results(printer: Printer, map_: AffineMap, operands: Sequence[Value]) -> list[Expr]:
    """The results of an affine map of these values."""
    values = [printer.value(operand) for operand in operands]
    by_name = affine_values(values[: map_.n_dims], values[map_.n_dims :])
    return [affine(str(result), by_name) for result in map_.results]


@expression("affine.apply", shown="map")
def _apply(printer: Printer, op: Operation) -> Expr | None:
    return map_results(printer, op.attributes["map"].value, op.operands)[0]


@expression("affine.min", "affine.max", shown="map")
def _extremum(printer: Printer, op: Operation) -> Expr | None:
    return _bound(printer, op.attributes["map"].value, op.operands, op.name.rpartition(".")[2])


def _bound(printer: Printer, map_: AffineMap, operands: Sequence[Value], word: str) -> Expr:
    results = map_results(printer, map_, operands)
    return results[0] if len(results) == 1 else call(word, *(result.text for result in results))


@expression("affine.load", shown="map", reads=True)
def _load(printer: Printer, op: Operation) -> Expr | None:
    base, *indices = op.operands
    results = map_results(printer, op.attributes["map"].value, indices)
    return Expr(index_text(printer, base, [result.text for result in results]))


@statement("affine.store", shown="map")
def _store(printer: Printer, op: Operation) -> bool:
    value, base, *indices = op.operands
    results = map_results(printer, op.attributes["map"].value, indices)
    target = index_text(printer, base, [result.text for result in results])
    return printer.emit_op(op, f"{target} = {printer.text(value)}")


@statement("affine.for", shown="lowerBoundMap upperBoundMap step")
def _for(printer: Printer, op: Operation) -> bool:
    low_count, high_count = list(op.attributes["operandSegmentSizes"])[:2]
    operands = list(op.operands)
    low = _bound(printer, op.attributes["lowerBoundMap"].value, operands[:low_count], "max")
    initial = operands[low_count + high_count :]
    high = _bound(printer, op.attributes["upperBoundMap"].value, operands[low_count:][:high_count], "min")
    return write_for(printer, op, range_text(low.text, high.text, str(op.attributes["step"].value)), initial)


@statement("affine.if", shown="condition")
def _if(printer: Printer, op: Operation) -> bool:
    names = printer.result_names(op)
    return write_if(printer, op, _condition(printer, op), names)


def _condition(printer: Printer, op: Operation) -> str:
    """The constraints of an integer set: `affine_set<(d0)[s0] : (d0 >= 0, s0 == 0)>`."""
    text = str(op.attributes["condition"]).removeprefix("affine_set<").removesuffix(">")
    spaces, _, constraints = text.partition(" : ")
    values = [printer.value(value) for value in op.operands]
    dims = spaces.partition(")")[0].count("d")
    by_name = affine_values(values[:dims], values[dims:])
    return affine(constraints.removeprefix("(").removesuffix(")"), by_name).text.replace(", ", " and ")
