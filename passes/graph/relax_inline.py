# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlining of calls, including functions with relax operations in their bodies, which upstream's inliner refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ...bindings.ir import Operation
from ...bindings.navigation import (
    ancestors,
    callee_of,
    functions_in,
    has_body,
    is_private,
    operations_in,
    operations_named,
    symbol_name,
)
from ...bindings.rewriting import located_error
from ...dialects.core.call_graph import UNITS, CallGraph, remove_dead
from ...dialects.core.ir_attributes import COMPOSITE, NO_INLINE, RELAX_TARGET
from ...dialects.core.substitute import symbols_in
from ..core.base import Pass
from ..core.registry import register_pass
from .inline.splice import inline_call

#: Attributes that prevent inlining: marks of users, and marks of units of code generation.
NEVER_INLINED = (NO_INLINE, "no_inline", *UNITS)


@register_pass
@dataclass(frozen=True)
class Inline(Pass):
    """Inline calls of private functions, bottom-up, and remove dead functions."""

    name: ClassVar[str] = "relax-inline"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "scf")

    #: Remove private functions without callers.
    remove_dead: bool = True
    #: Inline public functions, too.
    include_public: bool = False
    #: Inline functions of matched patterns, too, for a codegen that reads a part as operators.
    include_composites: bool = False
    #: Treatment of functions that call themselves.
    recursion: Literal["error", "leave"] = "error"
    #: Maximum number of operations that inlining may add. More are an error.
    max_ops: int = 1_000_000

    def run(self, op: Operation) -> None:
        functions = {symbol_name(function): function for function in functions_in(op)}
        graph = CallGraph(functions, self._can_inline, self.recursion == "leave")
        for name, calls in graph.calls.items():
            graph.calls[name] = [call for call in calls if _has_same_target(call[0], functions[call[1]])]
        order = graph.bottom_up()
        inliner = _Inliner(self.max_ops)
        for name in order:
            inliner.inline_all(functions[name], [(call, functions[callee]) for call, callee in graph.calls[name]])
        if self.remove_dead:
            inlined = [functions[name] for name in reversed(order) if name in inliner.inlined]
            remove_dead(op, [function for function in inlined if is_private(function)])

    def _can_inline(self, function: Operation) -> bool:
        return (self.include_public or is_private(function)) and may_be_inlined(
            function, composites=self.include_composites
        )


def _has_same_target(call: Operation, callee: Operation) -> bool:
    """Check whether call and callee have the same target: an operator must keep the target that its function states."""
    around = [
        str(ancestor.attributes[RELAX_TARGET]) for ancestor in ancestors(call) if RELAX_TARGET in ancestor.attributes
    ]
    return around[:1] == [
        str(operation.attributes[RELAX_TARGET]) for operation in (callee,) if RELAX_TARGET in operation.attributes
    ]


def may_be_inlined(function: Operation, *, composites: bool = False) -> bool:
    """Check whether a function has a body that may be inlined."""
    kept = [name for name in NEVER_INLINED if not (composites and name == COMPOSITE)]
    return has_body(function) and not any(name in function.attributes for name in kept)


def inline_calls_in(function: Operation, original: Operation | None = None) -> None:
    """Inline all calls in one function, public callees included, but not calls of the function itself.

    `original` is the function that `function` is a copy of, if it still exists.
    """
    itself = (function, original or function)
    functions = {symbol_name(each): each for each in functions_in(function.parent) if each not in itself}
    names: set[str] = set()
    for _ in functions:
        calls = operations_named(function, "func.call")
        names = names or (symbols_in(function) if calls else set())
        callees = [functions.get(callee_of(call)) for call in calls]
        done = [
            inline_call(call, callee, names)
            for call, callee in zip(calls, callees, strict=True)
            if callee is not None and may_be_inlined(callee)
        ]
        if not any(done):
            return


class _Inliner:
    """Inlining of calls into one function after the other, up to a number of operations."""

    def __init__(self, max_ops: int):
        self._max_ops = max_ops
        self._added = 0
        self.inlined: set[str] = set()

    def inline_all(self, function: Operation, calls: list[tuple[Operation, Operation]]) -> None:
        names = symbols_in(function) if calls else set()
        for call, callee in calls:
            self._added += len(operations_in(callee))
            if self._added > self._max_ops:
                problem = (
                    f"inlining @{symbol_name(callee)} adds more than {self._max_ops} operations in total (max-ops)"
                )
                raise located_error(problem, call.location)
            if inline_call(call, callee, names):
                self.inlined.add(symbol_name(callee))
