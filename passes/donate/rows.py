# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether an argument can grow in place: what continues it, along which axis, and by how many rows."""

from __future__ import annotations

from typing import NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.navigation import body_of, last_of, symbol_name, users_of
from ...bindings.rewriting import located_error
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, describe
from ...dialects.core.symbols import Dim, SymExpr
from ...dialects.relax.function_attributes import argument_names


class Donation(NamedTuple):
    """An argument that grows: `concat` gives it with new rows behind its own along an axis."""

    place: int
    name: str
    info: TensorInfo
    concat: Operation
    axis: int
    #: Of the argument: a symbol.
    length: SymExpr
    #: How many rows are new: a number or a symbol.
    added: int | SymExpr
    #: The function's result that the concat gives; None where nobody outside sees it.
    result: int | None

    @property
    def argument(self) -> Value:
        return self.concat.operands[0]


def donation_of(function: Operation, place: int, what: str) -> Donation:
    """Raises RelaxError, with the place and what helps, where an argument cannot grow in place."""
    argument = list(body_of(function).arguments)[place]
    name = argument_names(function)[place]
    asked = f"{what}: argument '{name}' of @{symbol_name(function)} cannot grow in place"
    info = decode(argument.type)
    continuing = [user for user in dict.fromkeys(users_of(argument)) if user.name == "relax.concat"]
    continuing = [user for user in continuing if len(user.operands) == 2 and user.operands[0] == argument]
    if not isinstance(info, TensorInfo) or info.shape is None:
        raise located_error(f"{asked}: it is {describe(info)}, of no known rank", function.location)
    if len(continuing) != 1:
        found = "none does" if not continuing else f"{len(continuing)} do"
        raise located_error(f"{asked}: one concat(argument, new) is to continue it, {found}", function.location)
    (concat,) = continuing
    axis = concat.opview.axis % len(info.shape)
    length, added = info.shape[axis], _rows(concat.operands[1], axis)
    if not _is_symbol(length):
        raise located_error(f"{asked}: its length along axis {axis} is {length}: a symbol is needed", concat.location)
    if not isinstance(added, int) and not _is_symbol(added):
        reason = f"{added} rows are added: a number or a symbol is needed"
        raise located_error(f"{asked}: {reason}", concat.location)
    returned = list(last_of(body_of(function)).operands)
    result = returned.index(concat.results[0]) if concat.results[0] in returned else None
    return Donation(place, name, info, concat, axis, length, added, result)  # type: ignore[arg-type]


def _rows(new: Value, axis: int) -> Dim:
    info = decode(new.type)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return info.shape[axis]


def _is_symbol(size: Dim) -> bool:
    return isinstance(size, SymExpr) and size.variables == {str(size)}
