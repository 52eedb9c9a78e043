# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Neighbouring composite functions of one codegen become one function that it makes code of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Block, Operation
from ..bindings.mlir import ir
from ..bindings.navigation import body_of, callee_of, functions_in, operations_in, operations_of, symbol_name
from ..emit.kernels import fresh_name
from .core.base import Pass
from .core.external import CODEGEN
from .core.registry import register_pass
from .partition.functions import blocks_in, codegen_of, functions_to_part
from .partition.groups import grouped
from .partition.outline import Order, Part, is_movable


@register_pass
@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """Outlines calls of composite functions, as many as hang together, into functions with relax.codegen.

    A call joins what makes its operands where the codegen is the same and nothing of another one lies between.
    """

    name: ClassVar[str] = "relax-merge-composite-functions"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    #: The functions to look into; all without codegen or composite otherwise.
    entry_functions: tuple[str, ...] = ()

    def run(self, op: Operation) -> None:
        composites = {symbol_name(each): each for each in functions_in(op) if codegen_of(each)}
        codegens = {name: codegen_of(each) for name, each in composites.items()}
        pure = {name for name, each in composites.items() if all(map(_is_pure, operations_in(each)))}
        names = {symbol_name(each) for each in operations_of(body_of(op))}
        for function in functions_to_part(op, self.entry_functions, f"pass '{self.name}'"):
            for block in blocks_in(function):
                _merge_in(block, codegens, pure, function, names)


def _is_pure(op: Operation) -> bool:
    return op.name == "func.return" or is_movable(op)


def _merge_in(block: Block, codegens: Mapping[str, str], pure: set[str], function: Operation, names: set[str]) -> None:
    order = Order(block)

    def codegen(op: Operation) -> str:
        return codegens.get(callee_of(op), "") if op.name == "func.call" else ""

    for group in grouped(operations_of(block), codegen):
        own = codegen(group[0])
        for part in _parts(group, order, pure):
            if part.results:
                name = fresh_name(f"{callee_of(part.operations[0])}_{own}", names)
                names.add(name)
                if all(is_movable(op, pure) for op in part.operations):
                    pure.add(name)
                attributes = {CODEGEN: ir.StringAttr.get(own, block.owner.context)}
                part.outline(name, attributes, bind_constants=False, before=function)


def _parts(group: Sequence[Operation], order: Order, pure: set[str]) -> Iterator[Part]:
    """The group as one, cut where something stands in it whose place matters; what another group has made impossible
    meanwhile is done one by one.
    """
    pending = [group]
    while pending:
        group = pending.pop()
        whole = Part(group, order, pure)
        if not whole.refusal():
            yield whole
            continue
        before, behind = whole.cut()
        if behind:
            pending += [behind, before]
        else:
            yield from (Part([op], order, pure) for op in group)
