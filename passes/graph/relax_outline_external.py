# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of codegens' functions to external modules, which other passes leave unchanged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import (
    body_of,
    callee_of,
    function_type_of,
    functions_in,
    is_private,
    operations_in,
    operations_of,
    symbol_name,
    text_in,
)  # fmt: skip
from ...bindings.rewriting import located_error, replace_op
from ...dialects.core.call_graph import references_in, references_of, remove_dead
from ...dialects.core.ir_attributes import CODEGEN
from ...dialects.relax.function_attributes import VISIBILITY
from ...support.names import fresh_name
from ..core.base import Pass
from ..core.external import is_external
from ..core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class OutlineExternal(Pass):
    """Move each function with relax.codegen, and its callees, to an external module, called by relax.call_external.

    A private function moves, and a public one stays and calls the external module.
    """

    name: ClassVar[str] = "relax-outline-external"
    sees_externals: ClassVar[bool] = True
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    #: Codegens of the functions. Default: all.
    codegen: tuple[str, ...] = ()

    def run(self, op: Operation) -> None:
        if is_external(op) and op.parent is not None:
            problem = (
                f"@{symbol_name(op)} is a part of the codegen '{text_in(op, CODEGEN)}', and cannot have parts itself"
            )
            raise located_error(f"pass '{self.name}': {problem}", op.location)
        functions = {symbol_name(each): each for each in functions_in(op)}
        chosen = {name: each for name, each in functions.items() if self._is_chosen(each)}
        names = {symbol_name(operation) for operation in operations_of(body_of(op))}
        modules: dict[str, str] = {}
        taken: dict[str, Operation] = {}
        for name, function in chosen.items():
            needed = _find_needed(function, functions)
            modules[name] = name if is_private(function) else fresh_name(f"{name}_{text_in(function, CODEGEN)}", names)
            names.add(modules[name])
            _outline(function, needed, modules[name])
            taken.update(needed)
        for function in chosen.values():
            if not is_private(function):
                _empty(function)
        for call in operations_in(op, is_external):
            if call.name == "func.call" and callee_of(call) in chosen:
                _call_external(call, modules[callee_of(call)])
        for function in chosen.values():
            if is_private(function):
                function.erase()
        # Names in external modules are local to them.
        references = Counter(name for operation in operations_in(op, is_external) for name in references_of(operation))
        remove_dead(op, [operation for operation in taken.values() if is_private(operation)], references)

    def _is_chosen(self, function: Operation) -> bool:
        codegen = text_in(function, CODEGEN)
        return bool(codegen) and (not self.codegen or codegen in self.codegen)


def _find_needed(function: Operation, functions: Mapping[str, Operation]) -> dict[str, Operation]:
    """Return the functions that a function calls, directly or indirectly."""
    operations: dict[str, Operation] = {}
    pending = [function]
    while pending:
        caller = pending.pop()
        for name in references_in(caller):
            if name in functions and name not in operations:
                if CODEGEN in functions[name].attributes:
                    problem = f"@{symbol_name(function)} is a part of a codegen, and calls @{name}, another part"
                    raise located_error(problem, caller.location)
                operations[name] = functions[name]
                pending.append(functions[name])
    return operations


def _outline(function: Operation, needed: Mapping[str, Operation], name: str) -> None:
    """Create the module before the function, with a copy of the function that is public."""
    with function.context, function.location:
        attributes = {"sym_name": ir.StringAttr.get(name), CODEGEN: function.attributes[CODEGEN]}
        module = ir.Operation.create("builtin.module", attributes=attributes, regions=1, ip=ir.InsertionPoint(function))
        body = module.regions[0].blocks.append()
        for operation in needed.values():
            # The copy has no callers outside of the module, unlike the original.
            operation.clone(ip=ir.InsertionPoint(body)).operation.attributes[VISIBILITY] = ir.StringAttr.get("private")
        copied = function.clone(ip=ir.InsertionPoint(body)).operation
    for attribute in (VISIBILITY, CODEGEN):
        if attribute in copied.attributes:
            del copied.attributes[attribute]


def _empty(function: Operation) -> None:
    """Replace the body of a public function by a call of its own name, which becomes a call of the external module."""
    del function.attributes[CODEGEN]
    body = body_of(function)
    results = list(function_type_of(function).results)
    for operation in reversed(operations_of(body)):
        operation.erase()
    with function.location, ir.InsertionPoint(body):
        attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol_name(function))}
        call = ir.Operation.create("func.call", results=results, operands=list(body.arguments), attributes=attributes)
        ir.Operation.create("func.return", operands=list(call.results))


def _call_external(call: Operation, module: str) -> None:
    """Replace a call by a call of the external module."""
    func = ir.SymbolRefAttr.get([module, callee_of(call)], call.context)
    with call.location, ir.InsertionPoint(call):
        made = ir.Operation.create(
            "relax.call_external", results=list(call.results.types), operands=list(call.operands),
            attributes={"func": func},
        )  # fmt: skip
    replace_op(call, made.results)
