# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of graph functions that calls write in place. Callers must not pass data that has to stay unchanged."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_in, symbol_name
from ....dialects.core.aliases import aliases, written_by
from ....dialects.core.ir_attributes import WRITTEN


def mark_written_inputs(functions: Sequence[Operation]) -> None:
    """Set the attribute before the functions are lowered. Values are copied at region boundaries."""
    written: dict[str, set[int]] = {}
    before = -1
    while before != (before := sum(map(len, written.values()))):  # functions may call each other in any order
        for function in functions:
            written[symbol_name(function)] = _written_arguments(function, written)
    for function in functions:
        if positions := sorted(written[symbol_name(function)]):
            function.attributes[WRITTEN] = ir.DenseI64ArrayAttr.get(positions, function.context)


def _written_arguments(function: Operation, known: dict[str, set[int]]) -> set[int]:
    body = body_of(function)
    inputs = {argument: position for position, argument in enumerate(body.arguments)}
    written_arguments = set()
    for op in operations_in(function):
        written_arguments |= {inputs[value] for value in _targets(op, known) if value in inputs}
        for result, operand in zip(op.results, aliases(op), strict=True):
            if operand in inputs:
                inputs[result] = inputs[operand]
    return written_arguments


def _targets(op: Operation, known: dict[str, set[int]]) -> list[Value]:
    """Return the operands whose memory an operation may write."""
    if op.name == "func.call":
        return [op.operands[index] for index in known.get(str(op.attributes["callee"].value), ())]
    return written_by(op)
