# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conditions for an argument to grow in place: the concat that extends it, the axis, and the number of new rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, last_of, symbol_name, users_of
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo, describe
from ....dialects.core.ir_attributes import INPUT_GROUPS, RESULT_GROUPS
from ....dialects.core.symbols import Dim, SymExpr
from ....dialects.relax.function_attributes import argument_names
from ....dialects.relax.values import shape_of
from ....support.errors import RelaxError


class Donation(NamedTuple):
    """An argument that grows: `concat` appends new rows to it along an axis."""

    place: int
    name: str
    info: TensorInfo
    concat: Operation
    axis: int
    #: Rows of the argument, a symbol.
    length: SymExpr
    #: Number of new rows: a number or a symbol.
    added: int | SymExpr
    #: Index of the function's result that the concat computes, or None if the concat is not returned.
    result: int | None

    @property
    def argument(self) -> Value:
        return self.concat.operands[0]

    @property
    def total(self) -> SymExpr:
        """The number of rows afterwards."""
        total: SymExpr = self.length + self.added  # type: ignore[assignment]  # a symbol and more is no number
        return total


def donations_of(function: Operation, places: Sequence[int], what: str) -> list[Donation]:
    """Return the donations. Raise RelaxError, with place and remedy, if an argument cannot grow in place."""
    for groups in (INPUT_GROUPS, RESULT_GROUPS):
        if places and groups in function.attributes:
            reason = "takes or returns lists: only separate arguments can grow in place"
            raise located_error(f"{what}: @{symbol_name(function)} {reason}", function.location)
    donations = [_donation(function, place, what) for place in places]
    for donation in donations:
        _check_alike(donations[0], donation, what)
        _check_known(function, donation, places, what)
    return donations


def _donation(function: Operation, place: int, what: str) -> Donation:
    argument, name = list(body_of(function).arguments)[place], argument_names(function)[place]
    info, returned = decode(argument.type), list(last_of(body_of(function)).operands)
    if not isinstance(info, TensorInfo) or info.shape is None:
        raise _problem(function, name, f"it is {describe(info)}, and its rank is not known", what)
    concats = [user for user in dict.fromkeys(users_of(argument)) if user.name == "relax.concat"]
    continuing = [each for each in concats if len(each.operands) == 2 and each.operands[0] == argument]
    if len(continuing) != 1 or continuing[0].operands[1] == argument:
        reason = f"exactly one concat(argument, new) must extend it, found {len(continuing)}"
        raise _problem(concats[0] if concats else function, name, reason, what)
    (concat,) = continuing
    axis = concat.opview.axis % len(info.shape)
    length, added = info.shape[axis], (shape_of(concat.operands[1]) or (None,) * len(info.shape))[axis]
    if not isinstance(length, SymExpr) or not _is_symbol(length):
        raise _problem(concat, name, f"its length along axis {axis}, {length}, is not a symbol", what)
    if not isinstance(added, (int, SymExpr)) or not (isinstance(added, int) or _is_symbol(added)):
        raise _problem(concat, name, f"the number of new rows, {added}, is neither a number nor a symbol", what)
    result = returned.index(concat.results[0]) if concat.results[0] in returned else None
    return Donation(place, name, info, concat, axis, length, added, result)


def _check_alike(one: Donation, other: Donation, what: str) -> None:
    """Check that all buffers of a function have one length."""
    for kind, first, second in (("rows", one.length, other.length), ("new rows", one.added, other.added)):
        if str(first) != str(second):
            reason = (
                f"it has {second} {kind}, '{one.name}' has {first}: arguments that grow together must have one length"
            )
            raise _problem(other.concat, other.name, reason, what)


def _check_known(function: Operation, donation: Donation, places: Sequence[int], what: str) -> None:
    """Check that other arguments determine the number of new rows, because callers reserve room before a call."""
    others = [each for place, each in enumerate(body_of(function).arguments) if place not in places]
    infos = [info for info in (decode(each.type) for each in others) if isinstance(info, TensorInfo)]
    sizes = {str(size) for info in infos for size in info.shape or ()}
    if isinstance(donation.added, SymExpr) and str(donation.added) not in sizes:
        reason = f"no other argument determines the number of new rows: {donation.added} is not a size of any"
        raise _problem(donation.concat, donation.name, reason, what)


def _problem(where: Operation, name: str, reason: str, what: str) -> RelaxError:
    return located_error(f"{what}: argument '{name}' cannot grow in place: {reason}", where.location)


def _is_symbol(size: Dim) -> bool:
    return isinstance(size, SymExpr) and size.variables == {str(size)}
