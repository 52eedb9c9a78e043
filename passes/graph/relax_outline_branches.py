# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining for concurrency: independent loops become functions, called in parallel.

    %a = func.call @main.branch(%x) {relax.concurrent = 0}
    %b = func.call @main.branch_1(%y) {relax.concurrent = 0}

relax-plan-memory lets them share no memory, and tir-outline-parallel distributes them to threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...bindings.ir import Operation, SymbolTable
from ...bindings.mlir import i64_attribute, ir
from ...bindings.navigation import body_of, functions_in, operations_in, operations_of, symbol_name, used_by
from ...bindings.rewriting import is_used, use_instead
from ...dialects.core.ir_attributes import CONCURRENT
from ...dialects.graph_functions import graph_functions
from ...dialects.relax.function_attributes import VISIBILITY
from ...support.names import fresh_name
from ..core.base import Pass
from ..core.registry import register_pass
from .branches.independent_loops import Branch, branches_of


@register_pass
class OutlineBranches(Pass):
    """Outline independent loops of a graph into functions that threads run concurrently."""

    name: ClassVar[str] = "relax-outline-branches"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    def run(self, op: Operation) -> None:
        taken = {symbol_name(each) for each in functions_in(op)}
        with op.context:
            for function in graph_functions(op):
                for number, group in enumerate(branches_of(body_of(function), SymbolTable(op))):
                    _outline(function, group, number, taken)


def _outline(function: Operation, group: Sequence[Branch], number: int, taken: set[str]) -> None:
    _move_what_is_needed(group)
    first = group[0].loop
    for branch in group:
        name = fresh_name(f"{symbol_name(function)}.branch", taken)
        taken.add(name)
        with branch.loop.location:
            with ir.InsertionPoint(function):
                _define(branch, name)
            with ir.InsertionPoint(first):
                _call(branch, name, number)
    for branch in group:
        branch.loop.erase()
        for constant in branch.made_again:
            if not is_used(constant):
                constant.erase()


def _move_what_is_needed(group: Sequence[Branch]) -> None:
    """Move operations between the loops that need no loop to the front of the first loop."""
    loops = [branch.loop for branch in group]
    first, waiting = loops[0], {value for loop in loops for value in loop.results}
    operations = operations_of(first.block)
    for op in operations[operations.index(first) + 1 : operations.index(loops[-1])]:
        if any(value in waiting for value in used_by(op)):
            waiting.update(op.results)
        elif op not in loops:
            op.move_before(first)


def _define(branch: Branch, name: str) -> None:
    types = [value.type for value in branch.given]
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        VISIBILITY: ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [value.type for value in branch.returned])),
    }
    function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = function.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        values = dict(zip(branch.given, block.arguments, strict=True))
        for maker in branch.made_again:
            values[maker.result] = maker.clone().operation.result
        loop = branch.loop.clone().operation
        for op in (loop, *operations_in(loop)):
            use_instead(op, values)
        returned = []
        for result, casts in branch.results:
            made = loop.results[result.result_number]
            if casts:
                cast = casts[0].clone().operation
                cast.operands[0] = made
                made = cast.result
            returned.append(made)
        ir.Operation.create("func.return", operands=returned)


def _call(branch: Branch, name: str, number: int) -> None:
    attributes = {"callee": ir.FlatSymbolRefAttr.get(name), CONCURRENT: i64_attribute(number)}
    types = [value.type for value in branch.returned]
    call = ir.Operation.create("func.call", results=types, operands=branch.given, attributes=attributes)
    for (result, casts), made in zip(branch.results, call.results, strict=True):
        for old in [cast.result for cast in casts] or [result]:
            old.replace_all_uses_with(made)
        for cast in casts:
            cast.erase()
