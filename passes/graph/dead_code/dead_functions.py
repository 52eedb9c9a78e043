# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elimination of unreachable functions, and of dead calls: without side effects, and with unused results."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ....bindings.ir import Operation
from ....bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    is_private,
    operations_in,
    operations_of,
    symbol_name,
)
from ....bindings.rewriting import is_used
from ....dialects.core.call_graph import references_of
from ....dialects.core.dialect import row_of

# Upstream dialects without side effects, and harmless operations that terminate.
_PURE_DIALECTS = frozenset({"arith", "math", "tensor", "complex", "index"})
_HARMLESS = frozenset({"func.return", "scf.if", "scf.for", "scf.yield"})


def remove_unreachable(module: Operation, entries: Collection[str]) -> None:
    """Erase private functions that are reachable from no public function, no entry and nothing else in the module."""
    if not (functions := {symbol_name(each): each for each in functions_in(module) if is_private(each)}):
        return
    reached: set[str] = set()
    pending = [name for name in functions if name in entries]
    pending += references_of(module)
    for op in operations_of(body_of(module)):
        if symbol_name(op) not in functions or op.name != "func.func":
            pending += _references(op)
    while pending:
        if (name := pending.pop()) in functions and name not in reached:
            reached.add(name)
            pending += _references(functions[name])
    for name, function in functions.items():
        if name not in reached:
            function.erase()


def _references(operation: Operation) -> Iterator[str]:
    for op in (operation, *operations_in(operation)):
        yield from references_of(op)


def remove_unused_calls(module: Operation) -> bool:
    """Erase unused calls of functions without side effects. Return True if there were some."""
    purity = Purity(module)
    unused = [
        op
        for function in functions_in(module)
        for op in operations_in(function)
        if op.name == "func.call" and not is_used(op) and purity.is_pure(callee_of(op))
    ]
    for op in reversed(unused):
        op.erase()
    return bool(unused)


class Purity:
    """Functions of a module without side effects, memoised."""

    def __init__(self, module: Operation):
        self._functions = {symbol_name(function): function for function in functions_in(module)}
        self._known: dict[str, bool] = {}

    def is_pure(self, name: str) -> bool:
        """Check whether a function terminates and has no effect. False for a recursive function."""
        if name not in self._known:
            self._known[name] = False
            function = self._functions.get(name)
            is_known = function is not None and has_body(function)
            self._known[name] = is_known and all(map(self._has_no_effect, operations_in(self._functions[name])))
        return self._known[name]

    def _has_no_effect(self, op: Operation) -> bool:
        if (row := row_of(op)) is not None:
            return row.pure
        if op.name == "func.call":
            return self.is_pure(callee_of(op))
        return op.name in _HARMLESS or op.name.partition(".")[0] in _PURE_DIALECTS
