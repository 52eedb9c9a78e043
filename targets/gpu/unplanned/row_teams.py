# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Teams of threads that work on one row together: a part of a warp, a warp, or a block of several warps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import constant_of
from ....dialects.core.ir_attributes import TEAM
from ....emit.combiner import Combiner
from ....emit.loops import load, store, when, when_all
from ....emit.memrefs import storage_bytes
from ....emit.numbers import Number, Size, as_index, ceil_divided, constant, maximum, minimum, number
from ...core.machine import Machine
from ..emit.memory_access import wait_for_block
from ..emit.threads import (
    WARP,
    block_id,
    from_kept,
    from_lane,
    kept_type,
    shared_memory,
    thread_id,
    threads_of,
    to_keep,
)

#: Threads of a block: with smaller teams, for rows of dynamic length, and the maximum.
_THREADS, _OF_UNKNOWN, _MOST_THREADS = 128, 256, Machine.block_threads
#: Bytes that a thread reads at once, and most bytes that it keeps of a row of known or unknown length. Loops process
#: longer rows.
_VECTOR_BYTES, _MOST_BYTES, _BYTES_OF_UNKNOWN = Machine.thread_bytes, 128, 64
#: Most threads for a row of which no element stays in registers.
FOR_REDUCTIONS = 256
#: Number of blocks that keeps all processors of a device busy.
_MANY_BLOCKS = 512


@dataclass(frozen=True)
class TeamShape:
    """Division of a row among the threads of a team."""

    threads: int
    lanes: int
    #: Number of reads of `lanes` elements per thread; 0 for a loop.
    chunks: int

    def teams(self, rows: int) -> int:
        """Return the number of teams per block, for `rows` rows, -1 if dynamic."""
        teams = max(_THREADS // self.threads, 1)
        while teams > 1 and teams * self.threads > WARP and 0 <= rows < teams * _MANY_BLOCKS:
            teams //= 2
        return teams

    def within(self, most: int) -> TeamShape:
        """Limit the team to a device's most threads per block. A smaller team loops over its row."""
        return self if self.threads <= most else TeamShape(most, self.lanes, 0)

    def attribute(self) -> ir.Attribute:
        return ir.DenseI64ArrayAttr.get([self.threads, self.lanes, self.chunks])


def shape_of(op: Operation) -> TeamShape:
    return TeamShape(*op.attributes[TEAM])


def shape_for(length: int | None, lanes: int, bytes_: int, most_threads: int = _MOST_THREADS) -> TeamShape:
    """Choose the team for rows of `length` elements, None if dynamic. A thread keeps `bytes_` bytes of each element."""
    if length is None:
        return TeamShape(_OF_UNKNOWN, lanes, max(_BYTES_OF_UNKNOWN // (lanes * bytes_), 1))
    vectors, threads = math.ceil(length / lanes), 1
    while threads < min(WARP, vectors):
        threads *= 2
    while threads < most_threads and threads * (_MOST_BYTES if threads <= WARP else _MOST_BYTES // 2) < length * bytes_:
        threads *= 2 if threads > WARP else 4
    chunks = math.ceil(vectors / threads)
    return TeamShape(threads, lanes, chunks if chunks * lanes * bytes_ <= _MOST_BYTES else 0)


def lanes_for(types: Sequence[Type], length: int | None) -> int:
    """Return how many elements of a row a thread reads at once: up to 16 bytes, and a divisor of the length."""
    lanes = max(_VECTOR_BYTES // max(map(storage_bytes, types)), 1)
    while length is not None and length % lanes:
        lanes //= 2
    return lanes


class Team:
    """Team of threads in a block; `rows` is the number of rows, one per team."""

    def __init__(self, kernel: Operation, threads: int, rows: Size | None = None):
        self._kernel, self.threads = kernel, threads
        teams = threads_of(kernel) // threads
        thread = thread_id()
        #: Index of the thread in its team, and the team's row.
        self.thread = thread % threads if teams > 1 else thread
        self.row = block_id() * teams + thread // threads if teams > 1 else block_id()
        #: Condition that the team has a row; None if it always does.
        self.has_row: Number | None = None
        if teams > 1 and rows is not None and not (isinstance(rows, int) and rows % teams == 0):
            self.has_row = self.row < rows
            self.row = minimum(self.row, as_index(rows) - 1)

    def if_row(self, make: Callable[[], list[Value]], types: Sequence[Type] = ()) -> list[Value]:
        """Emit `make` if the team has a row. Otherwise the values are arbitrary."""
        return make() if self.has_row is None else guarded(self.has_row, make, types)

    def once(self, do: Callable[[], None]) -> None:
        """Emit `do` for one thread of the row."""
        when_all([self.thread == 0, self.has_row], do)

    def combined(self, combiner: Combiner, part: Value) -> Value:
        """Combine the values of all threads, first within each warp, then across warps.

        All threads receive the result.
        """
        whole = part
        for offset in (16, 8, 4, 2, 1):
            if offset < self.threads:
                whole = combiner.apply(whole, from_lane(whole, offset))
        if self.threads <= WARP:
            return whole
        warps = self.threads // WARP
        place, thread = shared_memory(self._kernel, [warps], kept_type(part.type)), thread_id()
        when(thread % WARP == 0, lambda: store(to_keep(whole), place, thread // WARP))
        wait_for_block()
        parts = [from_kept(load(place, warp), part.type) for warp in range(warps)]
        while len(parts) > 1:
            parts = [combiner.apply(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]


def steps_of(loop: Operation) -> Size:
    """Return the number of steps of a loop, emitted at the insertion point if it is not constant."""
    known = [constant_of(operand) for operand in loop.operands]
    if None not in known:
        return len(range(*known))  # type: ignore[arg-type]
    first, last, step = map(number, loop.operands)
    return ceil_divided(maximum(last - first, 0), step)


def guarded(condition: Number, make: Callable[[], list[Value]], types: Sequence[Type]) -> list[Value]:
    """Emit `make` under a condition, with zeros otherwise."""
    return [
        value.value if isinstance(value, Number) else value
        for value in when(condition, make, lambda: [zero(type_) for type_ in types], types)
    ]


def zero(type_: Type) -> Value:
    return number(constant(0, type_)).value
