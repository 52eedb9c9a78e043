# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call graph: callers and callees, the order of inlining, and the functions that remain alive afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from ...bindings.ir import Attribute, Operation, OperationBase
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, operations_in, symbol_name
from ...bindings.rewriting import located_error
from .ir_attributes import CODEGEN, COMPOSITE, PRIM_FUNC

#: Functions that own their contents: codegen functions, patterns of codegens, and PrimFuncs.
UNITS = (PRIM_FUNC, CODEGEN, COMPOSITE)

#: Call operation and the name of its callee.
_Call = tuple[Operation, str]


class CallGraph:
    """Calls to inline, by the calling function."""

    def __init__(
        self, functions: Mapping[str, Operation], can_inline: Callable[[Operation], bool], leave_recursion: bool
    ):
        self._leave_recursion = leave_recursion
        self.calls: dict[str, list[_Call]] = {}
        inlinable = {name for name, function in functions.items() if can_inline(function)}
        for name, function in functions.items():
            is_unit = any(attribute in function.attributes for attribute in UNITS)
            calls = _calls_in(function, inlinable) if inlinable and not is_unit else ()
            self.calls[name] = [call for call in calls if "no_inline" not in call[0].attributes]

    def bottom_up(self) -> list[str]:
        """Return the functions' names, callees before callers.

        A call that closes a cycle is an error, or is not inlined.
        """
        return _callees_first(self.calls, self._close_cycle)

    def _close_cycle(self, call: Operation, cycle: list[str]) -> None:
        if self._leave_recursion:
            caller = cycle[-2]
            self.calls[caller] = [(other, name) for other, name in self.calls[caller] if other != call]
            return
        raise located_error(
            f"cannot inline @{cycle[-1]}, which is recursive: {_show(cycle)} (recursion=leave keeps it)", call.location
        )


def refuse_recursion(functions: Mapping[str, Operation]) -> list[str]:
    """Return the functions' names, callees before callers.

    Raise RelaxError for direct or indirect recursion.

    Nothing bounds the memory, or the stack, of recursive calls.
    """

    def refuse(call: Operation, cycle: list[str]) -> None:
        text = f"@{cycle[-1]} calls itself ({_show(cycle)}): nothing bounds the memory that it takes; scf.while repeats"
        raise located_error(text, call.location)

    named = set(functions)
    return _callees_first({name: list(_calls_in(function, named)) for name, function in functions.items()}, refuse)


def check_calls(module: OperationBase) -> None:
    """Raise RelaxError if a function of a module is recursive."""
    refuse_recursion({symbol_name(function): function for function in functions_in(module)})


def _show(cycle: list[str]) -> str:
    return " calls ".join(f"@{name}" for name in cycle)


def _callees_first(calls: Mapping[str, list[_Call]], close_cycle: Callable[[Operation, list[str]], None]) -> list[str]:
    """Return the functions' names, callees first.

    `close_cycle` receives each call that closes a cycle, and the names on the cycle.
    """
    order: list[str] = []
    done: set[str] = set()
    for start in calls:
        if start in done:
            continue
        # Iterative, because chains of calls may be longer than Python's stack.
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
    """Yield the calls in a function, without nested modules, which call functions of their own."""
    for operation in operations_in(function, lambda each: each.name == "builtin.module"):
        if operation.name == "func.call":
            callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
            if callee in named:
                yield operation, callee


def remove_dead(module: Operation, candidates: list[Operation], references: Counter[str] | None = None) -> None:
    """Erase functions without references.

    Callers must come before callees among the candidates.

    `references` is the number of references per symbol, if known already.
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
    """Yield the symbols that an operation's own attributes refer to."""
    if operation.name == "arith.constant":
        return  # a module may have more constants than other operations
    attributes = operation.attributes
    if not len(attributes):
        return
    for name, attribute in attributes.items():
        if isinstance(attribute, _SYMBOLS):
            if name != "sym_name":
                yield from symbols_named_by(attribute)
        elif isinstance(attribute, _NESTED) and "@" in str(attribute):
            # A list may have thousands of items, such as the attributes of arguments. A search in its text is faster.
            yield from symbols_named_by(attribute)


_SYMBOLS = (ir.FlatSymbolRefAttr, ir.SymbolRefAttr)
_NESTED = (ir.ArrayAttr, ir.DictAttr)


def symbols_named_by(attribute: Attribute) -> Iterator[str]:
    """Yield the outermost symbols that an attribute refers to."""
    if isinstance(attribute, _SYMBOLS):
        value = attribute.value
        yield value if isinstance(value, str) else value[0]
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from symbols_named_by(item)
    elif isinstance(attribute, ir.DictAttr):
        for item in attribute:
            yield from symbols_named_by(item.attr)
