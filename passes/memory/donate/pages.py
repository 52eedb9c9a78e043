# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that a call updates in place: relax.append_pages writes to the caller's memory, and the result disappears."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, last_of, operations_of, symbol_name, users_of
from ....bindings.rewriting import located_error
from ....dialects import relax
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, TensorInfo
from ....dialects.core.ir_attributes import OPERATOR, RESULT_GROUPS
from ....dialects.relax.function_attributes import VISIBILITY, argument_names
from ....dialects.tir.prim_func import make_prim_func
from ....emit import page_rows
from ....emit.kernels import parameter_type
from ....support.errors import RelaxError
from ....support.names import fresh_name
from ...graph.params.signature import forget_structure
from .dropped_results import drop_results

#: Number of leading operands that an operator overwrites: each is followed by the result of the same index.
_OVERWRITTEN = {"relax.append_pages": 1, "relax.append_pages_quantized": 2}


class PageUpdates(NamedTuple):
    """Operations that overwrite donated arguments, in order, and the final value of each argument."""

    appends: list[Operation]
    values: list[Value]


def is_updated(argument: Value) -> bool:
    """Check whether an argument is pages, or scales of pages, that rows are appended to."""
    return bool(_appends_to(argument))


def page_updates_of(function: Operation, places: Sequence[int], what: str) -> PageUpdates:
    """Return the updates. Raise RelaxError, with place and remedy, if an argument cannot be updated in place."""
    names, found = argument_names(function), PageUpdates([], [])
    if places and RESULT_GROUPS in function.attributes:
        reason = "returns lists: pages are updated in place only where results are separate"
        raise located_error(f"{what}: @{symbol_name(function)} {reason}", function.location)
    written: dict[Value, str] = {}
    for place in places:
        value = list(body_of(function).arguments)[place]
        while appends := _appends_to(value):
            if appends[0].block != body_of(function):
                reason = f"{appends[0].name} is in a branch or a loop"
                raise _problem(appends[0], names[place], reason, what)
            _check_last_reader(value, appends[0], names[place], what)
            written[value] = names[place]
            found.appends.append(appends[0])
            value = appends[0].results[list(appends[0].operands).index(value)]
        _check_read(value, names[place], what)
        found.values.append(value)
    for append in found.appends:
        for index in range(_OVERWRITTEN[append.name]):
            if append.operands[index] not in written:
                other = written[append.operands[1 - index]]
                reason = "its scales are no donated argument" if index else "its pages are no donated argument"
                raise _problem(append, other, f"{reason}: donate both", what)
    return found._replace(appends=list(dict.fromkeys(found.appends)))


def _appends_to(value: Value) -> list[Operation]:
    """Return the operations that append rows to a value, in program order."""
    users = dict.fromkeys(users_of(value))
    found = {user for user in users if value in list(user.operands)[: _OVERWRITTEN.get(user.name, 0)]}
    return list(found) if len(found) < 2 else [op for op in operations_of(next(iter(found)).block) if op in found]


def _check_last_reader(value: Value, append: Operation, name: str, what: str) -> None:
    """Check that nothing else reads a value that the operation overwrites."""
    for use in value.uses:
        reader = use.owner.operation
        if reader != append or use.operand_number >= _OVERWRITTEN[append.name]:
            reason = f"'{reader.name}' reads its rows from before {append.name}: let it read the result instead"
            raise _problem(reader, name, reason, what)


def _check_read(value: Value, name: str, what: str) -> None:
    """Check that a result depends on the new rows. Otherwise the write would be removed as dead code."""
    seen, left = {value}, [value]
    while left:
        each = left.pop()
        users = [user for user in users_of(each) if each != value or user.results]
        if not all(user.results for user in users):
            return
        new = [result for user in users for result in user.results if result not in seen]
        seen.update(new)
        left += new
    raise _problem(value.owner.operation, name, "no result depends on its new rows: do not donate it", what)


def _problem(where: Operation, name: str, reason: str, what: str) -> RelaxError:
    return located_error(f"{what}: argument '{name}' cannot be updated in place: {reason}", where.location)


def update_in_place(module: Operation, function: Operation, updates: PageUpdates) -> None:
    """Rewrite the operations to calls that write to their operands, and drop the results that are final values.

    The caller updates the function's type.
    """
    kernels = _Kernels(module, function)
    returned = list(last_of(body_of(function)).operands)
    if dropped := {place for place, value in enumerate(returned) if value in updates.values}:
        drop_results(function, dropped)
        forget_structure(function)
    for append in updates.appends:
        count, operands = _OVERWRITTEN[append.name], list(append.operands)
        with append.location, ir.InsertionPoint(append):
            written = relax.call_tir_inplace(
                kernels.of(append),
                operands,
                inplace_indices=[*range(count)],
                out_ty=[result.type for result in append.results],
            )
        for result, value in zip(append.results, written, strict=True):
            result.replace_all_uses_with(value)
        append.erase()


class _Kernels:
    """PrimFuncs that append rows in place, one for each combination of types."""

    def __init__(self, module: Operation, function: Operation):
        self._module, self._known = module, dict[tuple[str, ...], str]()
        self._taken = {symbol_name(operation) for operation in (function, *functions_in(module))}

    def of(self, append: Operation) -> str:
        context, infos = append.context, [decode(value.type) for value in append.operands]
        types = [parameter_type(info, context, on_memrefs=True) for info in infos]
        key = (append.name, *map(str, types))
        if key not in self._known:
            name = fresh_name(append.name.removeprefix("relax."), self._taken)
            self._taken.add(name)
            attributes = {
                OPERATOR: ir.StringAttr.get(append.name, context),
                VISIBILITY: ir.StringAttr.get("private", context),
            }
            with append.location, ir.InsertionPoint(body_of(self._module)):
                make_prim_func(name, types, [], _body_of(append, infos[0]), attributes=attributes)
            self._known[key] = name
        return self._known[key]


def _body_of(append: Operation, pages: Info) -> Callable[..., None]:
    """Return the body of the PrimFunc."""
    if append.name == "relax.append_pages_quantized":
        return page_rows.write_quantized_rows
    assert isinstance(pages, TensorInfo)
    dtype = pages.dtype
    return lambda pages, rows, slots: page_rows.write_rows(pages, rows, slots, dtype)
