# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inlines calls of functions, those included whose bodies hold relax operations, which upstream's inliner refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..bindings.diagnostics import Diagnostic, locate
from ..bindings.errors import RelaxError
from ..bindings.legality import operations_in
from ..bindings.mlir import ir
from ..dialects.core.substitute import substitute, symbols_in
from .core.base import Pass
from .core.registry import register_pass
from .inline.symbols import bind_symbols, can_be_renamed, fresh_names, seen_through

#: Functions with one of these attributes stay functions: they are marked so, or they are units of code generation.
NEVER_INLINED = ("relax.no_inline", "no_inline", "tir.prim_func", "relax.codegen", "relax.composite")


@register_pass
@dataclass(frozen=True)
class Inline(Pass):
    """Inlines calls of private functions, bottom-up, and removes the functions that nobody needs any more."""

    name: ClassVar[str] = "relax-inline"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "scf")

    remove_dead: bool = True
    include_public: bool = False
    recursion: Literal["error", "leave"] = "error"
    max_ops: int = 1_000_000

    def run(self, op: Any) -> None:
        functions = {name: function for function in _functions(op) if (name := _symbol(function))}
        graph = _CallGraph(functions, self)
        caller = _Caller(self.max_ops)
        for name in graph.bottom_up():
            caller.inline_all(functions[name], [(call, functions[callee]) for call, callee in graph.calls[name]])
        if self.remove_dead:
            candidates = [functions[name] for name in reversed(graph.order) if name in caller.inlined]
            _remove_dead(op, [function for function in candidates if _is_private(function)])

    def can_inline(self, function: Any) -> bool:
        """Whether calls of this function may be inlined at all."""
        attributes = function.attributes
        has_body = len(function.regions[0].blocks) > 0
        may_vanish = self.include_public or _is_private(function)
        return has_body and may_vanish and not any(name in attributes for name in NEVER_INLINED)


class _CallGraph:
    """Who calls whom, as far as calls are to be inlined."""

    def __init__(self, functions: Mapping[str, Any], options: Inline):
        self._options = options
        self.calls: dict[str, list[tuple[Any, str]]] = {}
        self.order: list[str] = []
        for name, function in functions.items():
            # What a codegen or a PrimFunc calls belongs to it.
            has_own_rules = any(attribute in function.attributes for attribute in NEVER_INLINED[2:])
            self.calls[name] = [] if has_own_rules else list(_inlinable_calls(function, functions, options))

    def bottom_up(self) -> list[str]:
        """The functions' names, callees before callers. A call that closes a cycle is an error, or is left alone."""
        done: set[str] = set()
        for name in self.calls:
            self._visit(name, done)
        return self.order

    def _visit(self, start: str, done: set[str]) -> None:
        # Not by recursion: chains of calls may be longer than Python's stack.
        path: dict[str, None] = {}
        pending: list[tuple[str, Iterator[tuple[Any, str]]]] = []

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
                self.order.append(name)
            elif callee in path:
                names = list(path)
                self._close_cycle(call, [*names[names.index(callee) :], callee])
            else:
                enter(callee)

    def _close_cycle(self, call: Any, cycle: list[str]) -> None:
        if self._options.recursion == "leave":
            caller = cycle[-2]
            self.calls[caller] = [(other, name) for other, name in self.calls[caller] if other != call]
            return
        shown = " calls ".join(f"@{name}" for name in cycle)
        raise _error(call, f"cannot inline @{cycle[-1]}, which is recursive: {shown} (recursion=leave keeps it)")


class _Caller:
    """Inlines calls into one function after the other."""

    def __init__(self, max_ops: int):
        self.max_ops = max_ops
        self.inlined: set[str] = set()
        self._added = 0

    def inline_all(self, function: Any, calls: list[tuple[Any, Any]]) -> None:
        names: set[str] | None = None
        for call, callee in calls:
            names = symbols_in(function) if names is None else names
            self._check_growth(call, callee)
            if _inline(call, callee, names):
                self.inlined.add(_symbol(callee))

    def _check_growth(self, call: Any, callee: Any) -> None:
        self._added += len(operations_in(callee))
        if self._added > self.max_ops:
            raise _error(
                call, f"inlining adds more than {self.max_ops} operations (max-ops); the last was @{_symbol(callee)}"
            )


def _inline(call: Any, callee: Any, names: set[str]) -> bool:
    """Replaces a call by the function's body. False when the names of symbols do not allow it.

    `names` are the caller's symbols; those of the body are added.
    """
    sizes = fresh_names(callee, names)
    if not can_be_renamed(callee, sizes):
        return False
    body = _body_for(call, callee, sizes)
    names |= symbols_in(body)
    for inside in operations_in(body):
        inside.location = _at_call(inside.location, call.location)
    with call.location, ir.InsertionPoint(call):
        arguments = [_argument(*pair) for pair in zip(call.operands, _entry(body).arguments, strict=True)]
        is_straight = len(body.regions[0].blocks) == 1 and _last(_entry(body)).name == "func.return"
        results = (_splice_block if is_straight else _splice_region)(call, body, arguments)
        for result, value in zip(call.results, results, strict=True):
            result.replace_all_uses_with(value)
    call.erase()
    return True


def _body_for(call: Any, callee: Any, sizes: dict[str, Any]) -> Any:
    """A copy of the function, outside of any module, with the caller's sizes in place of the function's symbols."""
    bound = {**sizes, **bind_symbols(call, callee)}
    if bound != sizes:
        body = callee.clone(ip=False)
        substitute(body, bound)
        if _is_valid(body):
            return body
    body = callee.clone(ip=False)
    if sizes:
        substitute(body, sizes)
    return body


def _is_valid(body: Any) -> bool:
    """Whether the body holds together with the sizes bound to it; it need not, where a run-time check would fail."""
    inputs = [argument.type for argument in _entry(body).arguments]
    signature = ir.FunctionType(ir.TypeAttr(body.attributes["function_type"]).value)
    returned = [operation for operation in operations_in(body) if operation.name == "func.return"]
    results = [value.type for value in returned[0].operands] if returned else list(signature.results)
    body.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results, body.context), body.context)
    try:
        return bool(body.verify())
    except ir.MLIRError:
        return False


def _argument(value: Any, parameter: Any) -> Any:
    """The value for a parameter: the operand, or what it was before a match_cast where the body has its sizes."""
    for candidate in (value, seen_through(value)):
        if candidate.type == parameter.type:
            return candidate
    return _cast(seen_through(value), parameter.type)


def _cast(value: Any, type_: Any) -> Any:
    if value.type == type_:
        return value
    return ir.Operation.create("relax.match_cast", results=[type_], operands=[value]).result


def _splice_block(call: Any, body: Any, arguments: list[Any]) -> list[Any]:
    """Moves the only block's operations before the call; returns the values for its results."""
    block = _entry(body)
    for parameter, value in zip(block.arguments, arguments, strict=True):
        parameter.replace_all_uses_with(value)
    operations = [op.operation for op in block.operations]
    for operation in operations[:-1]:
        operation.move_before(call)
    return [_cast(value, type_) for value, type_ in zip(operations[-1].operands, call.results.types, strict=True)]


def _splice_region(call: Any, body: Any, arguments: list[Any]) -> list[Any]:
    """Several blocks cannot stand where the call stands: they go into an scf.execute_region."""
    region_op = ir.Operation.create("scf.execute_region", results=call.results.types, regions=1)
    for parameter, value in zip(_entry(body).arguments, arguments, strict=True):
        parameter.replace_all_uses_with(value)
    for index in reversed(range(len(arguments))):
        _entry(body).erase_argument(index)
    for block in list(body.regions[0].blocks):
        block.append_to(region_op.regions[0])
        last = _last(block)
        if last.name == "func.return":
            with last.location, ir.InsertionPoint(last):
                values = [_cast(*pair) for pair in zip(last.operands, call.results.types, strict=True)]
                ir.Operation.create("scf.yield", operands=values)
            last.erase()
    return list(region_op.results)


def _entry(function: Any) -> Any:
    return function.regions[0].blocks[0]


def _last(block: Any) -> Any:
    return block.operations[len(block.operations) - 1].operation


def _at_call(inside: Any, call: Any) -> Any:
    if isinstance(inside, ir.UnknownLoc):
        return call
    return ir.Location.callsite(inside, [call], inside.context)


def _functions(module: Any) -> Iterator[Any]:
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func":
            yield op.operation


def _inlinable_calls(function: Any, functions: Mapping[str, Any], options: Inline) -> Iterator[tuple[Any, str]]:
    """Calls in a function, nested modules left out: their calls are about their own functions."""
    for operation in operations_in(function, _is_module):
        if operation.name != "func.call" or "no_inline" in operation.attributes:
            continue
        callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
        if callee in functions and options.can_inline(functions[callee]):
            yield operation, callee


def _is_module(operation: Any) -> bool:
    return operation.name == "builtin.module"


def _symbol(function: Any) -> str:
    return ir.StringAttr(function.attributes["sym_name"]).value


def _is_private(function: Any) -> bool:
    attributes = function.attributes
    return "sym_visibility" in attributes and attributes["sym_visibility"].value == "private"


def _remove_dead(module: Any, candidates: list[Any]) -> None:
    """Erases the functions to which nothing refers. Callers stand before callees among the candidates."""
    references = Counter(name for operation in operations_in(module) for name in _references(operation))
    for function in candidates:
        if references[_symbol(function)]:
            continue
        references.subtract(name for operation in operations_in(function) for name in _references(operation))
        function.erase()


def _references(operation: Any) -> Iterator[str]:
    for name, attribute in operation.attributes.items():
        if name not in ("sym_name", "function_type"):
            yield from _symbol_names(attribute)


def _symbol_names(attribute: Any) -> Iterator[str]:
    if isinstance(attribute, (ir.FlatSymbolRefAttr, ir.SymbolRefAttr)):
        value = attribute.value
        yield value if isinstance(value, str) else value[0]
    elif isinstance(attribute, ir.ArrayAttr):
        for item in attribute:
            yield from _symbol_names(item)
    elif isinstance(attribute, ir.DictAttr):
        for item in attribute:
            yield from _symbol_names(item.attr)


def _error(operation: Any, message: str) -> RelaxError:
    file, line, column, name = locate(operation.location)
    diagnostic = Diagnostic("error", message, file, line, column, name)
    return RelaxError(message, location=diagnostic.place, diagnostics=[diagnostic])
