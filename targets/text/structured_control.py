# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches: scf operations as control flow of the target language.

A region's yielded values are variables assigned at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...bindings.ir import Operation
from ...bindings.navigation import body_of
from .text_writer import TextWriter


def _write_for(writer: TextWriter[Any], op: Operation) -> None:
    _, _, _, *initial = op.operands
    body = body_of(op)
    _, *arguments = body.arguments
    variables = writer.carry(op, initial, arguments)
    with writer.steps(op):
        writer.assign(variables, list(writer.block(body).operands))
    writer.know_all(op.results, variables)


def _if(writer: TextWriter[Any], op: Operation) -> None:
    condition = writer.condition(op, op.operands[0])
    variables = writer.leave(op, "chosen")
    blocks = [region.blocks[0] for region in op.regions if len(region.blocks)]
    for position, block in enumerate(blocks):
        with writer.otherwise() if position else writer.braces(f"if ({condition})"):
            writer.assign(variables, list(writer.block(block).operands))
    writer.know_all(op.results, variables)


def _while(writer: TextWriter[Any], op: Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    variables = writer.carry(op, list(op.operands), list(before.arguments))
    results = writer.leave(op, "left", list(after.arguments))
    with writer.braces(writer.endless):
        condition, *passed = writer.block(before).operands
        writer.assign(results, passed)
        with writer.braces(f"if ({writer.condition(op, condition, is_negated=True)})"):
            writer.line("break;")
        writer.know_all(after.arguments, results)
        writer.assign(variables, list(writer.block(after).operands))
    writer.know_all(op.results, results)


CONTROL_RULES: dict[str, Callable[[Any, Operation], None]] = {"scf.for": _write_for, "scf.if": _if, "scf.while": _while}
