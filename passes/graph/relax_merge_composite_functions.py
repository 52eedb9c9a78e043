# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merging of adjacent composite functions of one codegen into one function, which the codegen compiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ...bindings.ir import Block, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, callee_of, functions_in, operations_in, operations_of, symbol_name
from ...dialects.core.call_graph import references_of, remove_dead
from ...dialects.core.ir_attributes import CODEGEN, COMPOSITE, NEVER_ALONE
from ...dialects.core.substitute import symbols_in
from ...support.names import FreshNames
from ..core.base import Pass
from ..core.external import CODEGENS, is_external
from ..core.registry import register_pass
from .inline.splice import inline_call
from .partition.codegen import find_codegen
from .partition.external_functions import blocks_in, codegen_of, functions_to_part
from .partition.groups import group_by_codegen
from .partition.outline import Order, OutlinedPart, pure_functions


@register_pass
@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """Outline connected calls of composite functions into functions with relax.codegen, as many calls as possible.

    A call joins the producers of its operands if the codegen is the same and not `separate`, and no operation between
    them belongs elsewhere. A part of nothing but functions with relax.never_alone is inlined again where its calls
    were.
    """

    name: ClassVar[str] = "relax-merge-composite-functions"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    #: Functions to search. Default: all functions without relax.codegen and relax.composite.
    entry_functions: tuple[str, ...] = ()
    #: Keep each composite function in a separate part for any codegen, to isolate wrong results.
    separate: bool = False

    def run(self, op: Operation) -> None:
        composites = {symbol_name(each): each for each in functions_in(op) if codegen_of(each)}
        codegens = {name: codegen_of(each) for name, each in composites.items()}
        pure = pure_functions(op)
        names = FreshNames(symbol_name(operation) for operation in operations_of(body_of(op)))
        never_alone = {name for name, each in composites.items() if NEVER_ALONE in each.attributes}
        for function in functions_to_part(op, self.entry_functions, f"pass '{self.name}'"):
            alone: list[Operation] = []
            for block in blocks_in(function):
                alone += _merge_in(block, _Composites(codegens, pure, never_alone, self.separate), function, names)
            for call in alone:
                composite = composites[callee_of(call)]
                if not inline_call(call, composite, symbols_in(function)):
                    del composite.attributes[COMPOSITE]  # a plain function from here on
        for name in never_alone:
            del composites[name].attributes[NEVER_ALONE]
        if never_alone:
            references = Counter(
                name for operation in operations_in(op, is_external) for name in references_of(operation)
            )
            remove_dead(op, [composites[name] for name in never_alone], references)


class _Composites(NamedTuple):
    """Properties of the composite functions, by name."""

    codegens: Mapping[str, str]
    #: Functions that may be called at any time, without effect on others.
    pure: set[str]
    #: Functions that form no part by themselves.
    never_alone: set[str]
    #: True if each composite is a separate part.
    separate: bool

    def is_separate(self, codegen: str) -> bool:
        return self.separate or (CODEGENS.find(codegen) is not None and find_codegen(codegen).separate)


def _merge_in(block: Block, composites: _Composites, function: Operation, names: FreshNames) -> list[Operation]:
    """Merge the calls of a block into parts, and return the calls that are to be inlined again."""
    order, pure, alone = Order(block), composites.pure, []

    def codegen(op: Operation) -> str:
        return composites.codegens.get(callee_of(op), "") if op.name == "func.call" else ""

    for group in group_by_codegen(order.begun, codegen, composites.is_separate):
        own = codegen(group[0])
        for part in _parts(group, order, pure):
            if all(callee_of(operation) in composites.never_alone for operation in part.operations):
                alone += part.operations
            elif part.results:
                name = names.of(f"{callee_of(part.operations[0])}_{own}")
                if part.is_pure:
                    pure.add(name)
                attributes = {CODEGEN: ir.StringAttr.get(own, block.owner.context)}
                part.outline(name, part.arguments(bind_constants=False), attributes, before=function)
    return alone


def _parts(group: Sequence[Operation], order: Order, pure: set[str]) -> Iterator[OutlinedPart]:
    """Yield the group as one part, cut before operations that must not move.

    If another group has made a cut impossible meanwhile, yield a part for each operation.
    """
    pending = [group]
    while pending:
        group = pending.pop()
        whole = OutlinedPart(group, order, pure)
        if not whole.refusal():
            yield whole
            continue
        before, behind = whole.cut()
        if behind:
            pending += [behind, before]
        else:
            yield from (OutlinedPart([op], order, pure) for op in group)
