# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of the graph parts that an external codegen has patterns for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Attribute, Block, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, callee_of, operations_of, symbol_name
from ...bindings.rewriting import is_used
from ...dialects.core.call_graph import symbols_named_by
from ...dialects.core.ir_attributes import CODEGEN, COMPOSITE, NEVER_ALONE, PATTERN_ROLES
from ...dialects.relax.known_constants import is_constant
from ...support.errors import OptionError
from ...support.names import FreshNames
from ..core.base import Pass
from ..core.registry import register_pass
from ..kernels.structures.prim_funcs import CALL_TIR, KnownPrimFuncs, remembering
from .partition.codegen import find_codegen
from .partition.external_functions import blocks_in, functions_to_part, refuse
from .partition.outline import Order, OutlinedPart, pure_functions, wrap
from .partition.planning import Composites, Taken, find_planner, run_planner
from .partition.roles import Roles, roles_attribute, roles_of

# Most operators in the name of a function.
_MOST_WORDS = 6


@register_pass
@dataclass(frozen=True)
class FuseOpsByPattern(Pass):
    """Outline matches of codegens' patterns into functions with relax.composite = "<codegen>.<pattern>".

    Codegens and their patterns come in the order of priority. A later match replaces an earlier match that it contains.
    Each operation is in one function only.
    """

    name: ClassVar[str] = "relax-fuse-ops-by-pattern"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    #: Codegens that provide the patterns, in the order of priority.
    codegen: tuple[str, ...] = ()
    #: Move constants into the function. Otherwise, and for codegens that are `separate`, they are arguments.
    bind_constants: bool = True
    #: Add a function around each match, with relax.codegen = "<codegen>".
    annotate_codegen: bool = False
    #: Functions to search. Default: all functions without relax.codegen and relax.composite.
    entry_functions: tuple[str, ...] = ()
    #: Planner that chooses among matches.
    plan: str = "priority"

    def __post_init__(self) -> None:
        if not self.codegen:
            raise OptionError(f"pass '{self.name}': codegen= names no codegen")
        find_planner(self.plan)

    def run(self, op: Operation) -> None:
        composites = Composites(composite for name in self.codegen for composite in find_codegen(name).composites())
        functions = functions_to_part(op, self.entry_functions, f"pass '{self.name}'")
        names = FreshNames(symbol_name(operation) for operation in operations_of(body_of(op)))
        pure = pure_functions(op)
        with remembering(KnownPrimFuncs()):
            for function in functions:
                for block in blocks_in(function):
                    order = Order(block)
                    for taken in run_planner(self.plan, block, composites):
                        part = OutlinedPart(taken.operations, order, pure)
                        if refusal := part.refusal():
                            refuse(part.operations, refusal)
                        elif part.results:
                            callee = self._outline(part, taken, function, names)
                            pure |= {callee} if part.is_pure else set()
                    _erase_dead_constants(block)

    def _outline(self, part: OutlinedPart, taken: Taken, function: Operation, names: FreshNames) -> str:
        """Outline the operations of a match, and return the name of the function that replaces them."""
        composite = taken.composite
        name = names.of(_wanted_name(part))
        attributes: dict[str, Attribute] = {COMPOSITE: ir.StringAttr.get(composite.name, function.context)}
        if composite.beside:
            attributes[NEVER_ALONE] = ir.UnitAttr.get(function.context)
        binds = self.bind_constants and not find_codegen(composite.codegen).separate
        arguments = part.arguments(binds)
        roles = taken.roles or _found_roles(taken)
        if roles is not None:
            with function.context:
                attributes[PATTERN_ROLES] = roles_attribute(roles, part.operations, arguments)
        call = part.outline(name, arguments, attributes, before=function)
        if self.annotate_codegen and not composite.beside:
            prefix = composite.codegen
            annotated = names.of(f"{name}_{prefix}")
            wrap(call, annotated, {CODEGEN: ir.StringAttr.get(prefix, function.context)}, before=function)
        return callee_of(call)


def _found_roles(taken: Taken) -> Roles | None:
    """Return the roles in a match of the operations that a planner took without roles, or None if none matches."""
    for op in reversed(taken.operations):
        for match in taken.composite.matches(op) if op.name in taken.composite.heads else ():
            if set(match.operations) == set(taken.operations):
                return roles_of(match)
    return None


def _erase_dead_constants(block: Block) -> None:
    """Erase constants that have no users left after functions received their own copies."""
    for op in operations_of(block):
        if len(op.results) == 1 and is_constant(op.results[0]) and not is_used(op):
            op.erase()


def _wanted_name(part: OutlinedPart) -> str:
    words = [_word(op) for op in part.operations]
    more = ["more"] if len(words) > _MOST_WORDS else []
    return "_".join(["fused", *words[:_MOST_WORDS], *more])


def _word(op: Operation) -> str:
    if op.name == CALL_TIR:
        return next(symbols_named_by(op.attributes["func"]))
    return op.name.removeprefix("relax.").replace(".", "_")
