# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call graph: callers and callees, the order in which to inline, and which functions are alive afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ...bindings.ir import Attribute, Operation, OperationBase
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, operations_in, symbol_name
from ...bindings.rewriting import located_error
from .ir_attributes import CODEGEN, COMPOSITE, PRIM_FUNC

#: What a codegen, a pattern of one or a PrimFunc has inside belongs to it.
UNITS = (PRIM_FUNC, CODEGEN, COMPOSITE)

#: A call and the name of what it calls.
_Call = tuple[Operation, str]


class CallGraph:
    """The calls that are to be inlined, by the function that makes them."""

    def __init__(
        self, functions: Mapping[str, Operation], can_inline: Callable[[Operation], bool], leave_recursion: bool
    ):
        self._leave_recursion = leave_recursion
        self.calls: dict[str, list[_Call]] = {}
        inlinable = {name for name, function in functions.items() if can_inline(function)}
        for name, function in functions.items():
            is_unit = any(attribute in function.attributes for attribute in UNITS)
            found = _calls_in(function, inlinable) if inlinable and not is_unit else ()
            self.calls[name] = [each for each in found if "no_inline" not in each[0].attributes]

    def bottom_up(self) -> list[str]:
        """The functions' names, callees before callers. A call that closes a cycle is an error, or is left alone."""
        return _callees_first(self.calls, self._close_cycle)

    def _close_cycle(self, call: Operation, cycle: list[str]) -> None:
        if self._leave_recursion:
            caller = cycle[-2]
            self.calls[caller] = [(other, name) for other, name in self.calls[caller] if other != call]
            return
        raise located_error(
            f"cannot inline @{cycle[-1]}, which is recursive: {_shown(cycle)} (recursion=leave keeps it)", call.location
        )


def refuse_recursion(functions: Mapping[str, Operation]) -> list[str]:
    """The functions' names, callees before callers. Raises RelaxError where one calls itself, by others too: nothing
    bounds the memory that such calls take, the stack among it.
    """

    def refuse(call: Operation, cycle: list[str]) -> None:
        text = (
            f"@{cycle[-1]} calls itself ({_shown(cycle)}): nothing bounds the memory that it takes; scf.while repeats"
        )
        raise located_error(text, call.location)

    named = set(functions)
    return _callees_first({name: list(_calls_in(each, named)) for name, each in functions.items()}, refuse)


def check_calls(module: OperationBase) -> None:
    """Raises RelaxError where a function of a module calls itself."""
    refuse_recursion({symbol_name(each): each for each in functions_in(module)})


def _shown(cycle: list[str]) -> str:
    return " calls ".join(f"@{name}" for name in cycle)


def _callees_first(calls: Mapping[str, list[_Call]], close_cycle: Callable[[Operation, list[str]], None]) -> list[str]:
    """The functions' names; each call that closes a cycle is given to a function, with the names on it."""
    order: list[str] = []
    done: set[str] = set()
    for start in calls:
        if start in done:
            continue
        # Not by recursion: chains of calls may be longer than Python's stack.
        path: dict[str, None] = {start: None}
        pending = [iter(list(calls[start]))]
        while pending:
            call, callee = next(pending[-1], (None, ""))
            if call is None:
                pending.pop()
                name, _ = path.popitem()
                done.add(name)
                order.append(name)
            elif callee in path:
                names = list(path)
                close_cycle(call, [*names[names.index(callee) :], callee])
            elif callee not in done:
                path[callee] = None
                pending.append(iter(list(calls[callee])))
    return order


def _calls_in(function: Operation, named: set[str]) -> Iterator[_Call]:
    """Calls in a function, nested modules left out: their calls are about their own functions."""
    for operation in operations_in(function, lambda each: each.name == "builtin.module"):
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee in named:
                yield operation, callee


def remove_dead(module: Operation, candidates: list[Operation], references: Counter[str] | None = None) -> None:
    """Erases the functions to which nothing refers. Callers stand before callees among the candidates.

    `references`: how often the module refers to each symbol, if it is known already.
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
