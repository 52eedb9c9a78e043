# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who calls whom, in which order to inline, and which functions are needed afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in, symbol_name
from ...bindings.rewriting import located_error

#: On what a pattern of a codegen has matched.
COMPOSITE = "relax.composite"
#: What a codegen, a pattern of one or a PrimFunc has inside belongs to it.
UNITS = ("tir.prim_func", "relax.codegen", COMPOSITE)

#: A call and the name of what it calls.
_Call = tuple[Operation, str]


class CallGraph:
    """The calls that are to be inlined, by the function that makes them."""

    def __init__(
        self, functions: Mapping[str, Operation], can_inline: Callable[[Operation], bool], leave_recursion: bool
    ):
        self._leave_recursion = leave_recursion
        self.calls: dict[str, list[_Call]] = {}
        self._order: list[str] = []
        inlinable = {name for name, function in functions.items() if can_inline(function)}
        for name, function in functions.items():
            is_unit = any(attribute in function.attributes for attribute in UNITS)
            self.calls[name] = list(_calls_in(function, inlinable)) if inlinable and not is_unit else []

    def bottom_up(self) -> list[str]:
        """The functions' names, callees before callers. A call that closes a cycle is an error, or is left alone."""
        done: set[str] = set()
        for name in self.calls:
            self._visit(name, done)
        return self._order

    def _visit(self, start: str, done: set[str]) -> None:
        # Not by recursion: chains of calls may be longer than Python's stack.
        path: dict[str, None] = {}
        pending: list[tuple[str, Iterator[_Call]]] = []

        def enter(name: str) -> None:
            if name not in done:
                path[name] = None
                pending.append((name, iter(list(self.calls[name]))))

        enter(start)
        while pending:
            name, calls = pending[-1]
            call, callee = next(calls, (None, ""))
            if call is None:
                pending.pop()
                path.popitem()
                done.add(name)
                self._order.append(name)
            elif callee in path:
                names = list(path)
                self._close_cycle(call, [*names[names.index(callee) :], callee])
            else:
                enter(callee)

    def _close_cycle(self, call: Operation, cycle: list[str]) -> None:
        if self._leave_recursion:
            caller = cycle[-2]
            self.calls[caller] = [(other, name) for other, name in self.calls[caller] if other != call]
            return
        shown = " calls ".join(f"@{name}" for name in cycle)
        raise located_error(
            f"cannot inline @{cycle[-1]}, which is recursive: {shown} (recursion=leave keeps it)", call.location
        )


def _calls_in(function: Operation, inlinable: set[str]) -> Iterator[_Call]:
    """Calls in a function, nested modules left out: their calls are about their own functions."""
    for operation in operations_in(function, lambda each: each.name == "builtin.module"):
        if operation.name == "func.call" and "no_inline" not in operation.attributes:
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee in inlinable:
                yield operation, callee


def remove_dead(module: Operation, candidates: list[Operation], references: Counter[str] | None = None) -> None:
    """Erases the functions to which nothing refers. Callers stand before callees among the candidates.

    `references`: how often the module refers to each symbol, if somebody knows it already.
    """
    if not candidates:
        return
    references = Counter(references_in(module)) if references is None else references
    for function in candidates:
        if not references[symbol_name(function)]:
            references.subtract(Counter(references_in(function)))
            function.erase()


def references_in(operation: Operation) -> Iterator[str]:
    for inside in (operation.operation, *operations_in(operation)):
        yield from references_of(inside)


def references_of(operation: Operation) -> Iterator[str]:
    """The symbols that an operation's own attributes name."""
    if operation.name == "arith.constant":
        return  # of which there may be more than of all others
    attributes = operation.attributes
    if not len(attributes):
        return
    for name, attribute in attributes.items():
        if isinstance(attribute, _SYMBOLS):
            if name != "sym_name":
                yield from symbols_named_by(attribute)
        elif isinstance(attribute, _NESTED) and "@" in str(attribute):
            # There may be thousands of items, of a function's arguments for one; as text that is soon seen.
            yield from symbols_named_by(attribute)


_SYMBOLS = (ir.FlatSymbolRefAttr, ir.SymbolRefAttr)
_NESTED = (ir.ArrayAttr, ir.DictAttr)


def symbols_named_by(attribute: Attribute) -> Iterator[str]:
    """The outermost symbols that an attribute names."""
    if isinstance(attribute, _SYMBOLS):
        value = attribute.value
        yield value if isinstance(value, str) else value[0]
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from symbols_named_by(item)
    elif isinstance(attribute, ir.DictAttr):
        for item in attribute:
            yield from symbols_named_by(item.attr)
