# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathering loops: counted loops that only append rows to a loop-carried tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, last_of, made_by, use_count
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim, equal, product
from .overwriting import Move


class Gathering(NamedTuple):
    """Rows that an iteration appends, the appending call, and the casts that belong to it."""

    rows: Value
    #: Number of rows per iteration, and the other sizes.
    added: int
    sizes: tuple[Dim, ...]
    call: Operation
    casts: tuple[Operation, ...]


def gatherings(loop: Operation, moves_of: Callable[[Operation], Sequence[Move]]) -> dict[Value, Gathering]:
    """Return the gathering for each loop-carried value that has one.

    `moves_of(call)` returns the element moves of a kernel.
    """
    _, *carried = body_of(loop).arguments
    found: dict[Value, Gathering] = {}
    for argument, yielded in zip(carried, last_of(body_of(loop)).operands, strict=True):
        if (gathering := _gathering(loop, argument, yielded, moves_of)) is not None:
            found[argument] = gathering
    return found


def _gathering(
    loop: Operation, argument: Value, yielded: Value, moves_of: Callable[[Operation], Sequence[Move]]
) -> Gathering | None:
    casts: list[Operation] = []
    joined = _skip_casts(yielded, casts)
    call = made_by(joined, "relax.call_tir")
    if call is None or call.block != body_of(loop) or [len(call.operands), len(call.results)] != [2, 1]:
        return None
    before, rows = call.operands
    if _skip_casts(before, casts) != argument or use_count(argument) != 1 or not _is_of_rows(before, rows):
        return None
    chain = (before, joined, *(cast.results[0] for cast in casts))
    if any(use_count(value) != 1 for value in chain):
        return None
    length = product(_shape(before))
    moved = {move.input: move.distance for move in moves_of(call)}
    is_appended = len(moved) == 2 and equal(moved[0], 0) is True and equal(moved[1], length) is True
    count, *sizes = _shape(rows)
    if not is_appended or not isinstance(count, int):
        return None
    return Gathering(rows, count, tuple(sizes), call, tuple(casts))


def _skip_casts(value: Value, casts: list[Operation]) -> Value:
    """Return the value before casts that name its sizes, and add these operations to `casts`."""
    while (cast := made_by(value, "relax.match_cast")) is not None:
        casts.append(cast)
        value = cast.operands[0]
    return value


def _shape(value: Value) -> tuple[Dim, ...]:
    info = decode(value.type)
    return tuple(info.shape or ()) if isinstance(info, TensorInfo) else ()


def _is_of_rows(before: Value, rows: Value) -> bool:
    """Check whether both tensors have a first dimension, and equal sizes in all other dimensions."""
    sizes, others = _shape(rows), _shape(before)
    if not sizes or len(sizes) != len(others):
        return False
    return all(equal(*pair) is True for pair in zip(sizes[1:], others[1:], strict=True))
