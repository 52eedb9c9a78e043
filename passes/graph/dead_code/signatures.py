# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dead argument elimination: unused parameters and results of private functions, in functions and all calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, is_private, last_of, operations_in, symbol_name, use_count
from ....bindings.patterns import apply_greedy
from ....dialects.core.call_graph import UNITS, references_of
from ....dialects.core.ir_attributes import INPUT_GROUPS, PRIM_FUNC, RESULT_GROUPS, RESULT_NAMES, STRUCTURE
from ....dialects.core.substitute import symbols_of, symbols_of_operation
from ....dialects.tir.prim_func import is_prim_func
from ..params.signature import remove_arguments, state_type

# Attributes of functions with a fixed signature.
_FIXED = (
    "res_attrs", INPUT_GROUPS, RESULT_GROUPS, RESULT_NAMES, STRUCTURE,
    *(name for name in UNITS if name != PRIM_FUNC),
)  # fmt: skip
_CALL_TIR = "relax.call_tir"


def narrow_signatures(module: Operation, entries: Collection[str]) -> bool:
    """Remove unused parameters and results. Return True if there were some."""
    changed = False
    for function, calls in functions_and_calls(module):
        if symbol_name(function) not in entries:
            changed |= _Signature(function, calls).narrow()
    return changed


def functions_and_calls(module: Operation) -> list[tuple[Operation, list[Operation]]]:
    """Return the private functions with changeable signatures, and all their calls."""
    if not (private := [function for function in functions_in(module) if is_private(function)]):
        return []
    calls = _calls_by_callee(module)
    named = [(function, calls.get(symbol_name(function), [])) for function in private]
    return [(function, found) for function, found in named if found and _can_change(function, found)]


def drop_parameters(function: Operation, calls: Sequence[Operation], places: Collection[int]) -> list[Operation]:
    """Remove unread parameters. Return the calls that replace the old ones."""
    remove_arguments(function, places)
    state_type(function)
    return [_without(call, places, ()) for call in calls]


def _calls_by_callee(module: Operation) -> dict[str, list[Operation]]:
    """Map function names to all operations that refer to them."""
    calls: dict[str, list[Operation]] = {}
    for op in (module, *operations_in(module)):
        for name in references_of(op):
            calls.setdefault(name, []).append(op)
    return calls


def _can_change(function: Operation, calls: Sequence[Operation]) -> bool:
    """Check whether only plain calls depend on the signature."""
    if len(function.regions[0].blocks) != 1:
        return False
    if any(name in function.attributes for name in _FIXED):
        return False
    expected = _CALL_TIR if is_prim_func(function) else "func.call"
    return all(call.name == expected and "arg_attrs" not in call.attributes for call in calls)


class _Signature:
    """The signature of a function and all its calls."""

    def __init__(self, function: Operation, calls: Sequence[Operation]):
        self._function, self._calls = function, list(calls)
        self._is_prim_func = is_prim_func(function)

    def narrow(self) -> bool:
        results = [place for place in range(len(self._calls[0].results)) if self._is_unused(place)]
        if self._is_prim_func:
            results = [place for place in results if len(results) < len(self._calls[0].results)]
            dropped = [place for place in reversed(results) if self._drop_output(place)]
        else:
            dropped = self._drop_results(results)
        if parameters := self._unread():
            remove_arguments(self._function, parameters)
            state_type(self._function)
        if parameters or dropped:
            self._calls = [_without(call, parameters, dropped) for call in self._calls]
        return bool(parameters or dropped)

    def _is_unused(self, place: int) -> bool:
        return not any(use_count(call.results[place]) for call in self._calls)

    # ---- results ----

    def _drop_results(self, places: Sequence[int]) -> list[int]:
        """Remove unused results of a graph function if the parameters have their sizes, too."""
        body = body_of(self._function)
        known = _symbols(body.arguments)
        returned = last_of(body)
        if places := [place for place in places if symbols_of(returned.operands[place].type) <= known]:
            _return_less(returned, places)
            state_type(self._function)
        return list(places)

    def _drop_output(self, place: int) -> bool:
        """Remove an output of a PrimFunc on tensors if its memory serves only the returned value."""
        body = body_of(self._function)
        returned = last_of(body)
        if not returned.operands:
            return False  # on memrefs, writes to the output are mixed with other work
        parameter = len(body.arguments) - len(returned.operands) + place
        copy = self._function.clone(ip=False).operation
        inside = body_of(copy)
        _return_less(last_of(inside), [place])
        apply_greedy(copy, [], what="dead code elimination")
        if use_count(inside.arguments[parameter]):
            return False
        _return_less(returned, [place])
        apply_greedy(self._function, [], what="dead code elimination")
        remove_arguments(self._function, [parameter])
        state_type(self._function)
        return True

    # ---- parameters ----

    def _unread(self) -> list[int]:
        """Return the unread parameters that are not needed to determine a size in use."""
        arguments = list(body_of(self._function).arguments)[: len(self._calls[0].operands)]
        unread = [place for place, argument in enumerate(arguments) if not use_count(argument)]
        if self._is_prim_func or not unread:
            return unread
        used = frozenset().union(*map(symbols_of_operation, operations_in(self._function)))
        found: list[int] = []
        for place in unread:
            rest = [argument for other, argument in enumerate(arguments) if other not in (place, *found)]
            if (symbols_of(arguments[place].type) & used) <= _symbols(rest):
                found.append(place)
        return found


def _symbols(values: Sequence[Value]) -> frozenset[str]:
    return frozenset().union(*(symbols_of(value.type) for value in values))


def _return_less(returned: Operation, places: Collection[int]) -> None:
    kept = [value for place, value in enumerate(returned.operands) if place not in places]
    with returned.location, ir.InsertionPoint(returned):
        ir.Operation.create(returned.name, operands=kept)
    returned.erase()


def _without(call: Operation, parameters: Collection[int], results: Collection[int]) -> Operation:
    """Replace the call by one without some operands and results."""
    operands = [value for place, value in enumerate(call.operands) if place not in parameters]
    kept = [value for place, value in enumerate(call.results) if place not in results]
    with call.location, ir.InsertionPoint(call):
        made = ir.Operation.create(
            call.name,
            results=[value.type for value in kept],
            operands=operands,
            attributes={name: call.attributes[name] for name in call.attributes},
        )
    for old, new in zip(kept, made.results, strict=True):
        old.replace_all_uses_with(new)
    call.erase()
    return made
