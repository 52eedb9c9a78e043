# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines, which run a program on several ranks and exchange their arrays.

An engine of your own has these five members: `name`, `rank`, `size`, `exchange` and `fail`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import numpy
from relax_mlir.support.errors import RelaxError

from .mesh import Groups

Array: TypeAlias = "numpy.ndarray[Any, Any]"
Combine: TypeAlias = "Callable[[Sequence[Array]], Array]"


class Transport(Protocol):
    """Interface that collectives need from a rank."""

    name: str
    rank: int
    size: int

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> Array:
        """Return what `combine` computes from the arrays of this rank's group, in its order.

        All ranks call this with the same groups. `combine` must keep none of the arrays.
        """

    def fail(self, error: BaseException) -> None:
        """Tell all ranks that this one failed, so that none waits for it."""


class RankError(RelaxError):
    """A rank failed, or did not arrive at a collective in time."""


_this_thread = threading.local()


def current(what: str) -> Transport:
    """Return the engine of the calling thread. Raise RankError if the thread belongs to no rank."""
    engine: Transport | None = getattr(_this_thread, "engine", None)
    if engine is None:
        raise RankError(f"{what} needs other ranks, and this program was called alone: start it with rx.launch")
    return engine


@contextmanager
def using(engine: Transport) -> Iterator[None]:
    """Use an engine for the collectives of the calling thread."""
    before = getattr(_this_thread, "engine", None)
    _this_thread.engine = engine
    try:
        yield
    finally:
        _this_thread.engine = before


def own_group(engine: Transport, groups: Groups) -> tuple[int, ...]:
    """Return the ranks of the engine's group."""
    return next(group for group in groups if engine.rank in group)


class _Place:
    """Meeting place of a group of threads: a slot for the array of each, and a barrier."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.slots: dict[int, Array | None] = dict.fromkeys(ranks)
        self.barrier = threading.Barrier(len(ranks))


class Threads:
    """Ranks that are threads of one process."""

    def __init__(self, size: int, timeout: float | None = None) -> None:
        self.size = size
        self.timeout = timeout
        self.failure: tuple[int, BaseException] | None = None
        self._lock = threading.Lock()
        self._places: dict[tuple[int, ...], _Place] = {}

    def rank(self, rank: int) -> ThreadRank:
        """Return the engine of a rank."""
        return ThreadRank(self, rank)

    def place(self, ranks: tuple[int, ...]) -> _Place:
        """Return the meeting place of these ranks."""
        with self._lock:
            if ranks not in self._places:
                self._places[ranks] = _Place(ranks)
                if self.failure:
                    self._places[ranks].barrier.abort()
            return self._places[ranks]

    def fail(self, rank: int, error: BaseException) -> None:
        """Remember the first failure, and wake all ranks that wait."""
        with self._lock:
            self.failure = self.failure or (rank, error)
            for place in self._places.values():
                place.barrier.abort()


class ThreadRank:
    """One of the threads. Arrays are read where they are."""

    name = "threads"

    def __init__(self, all_ranks: Threads, rank: int) -> None:
        self.rank = rank
        self.size = all_ranks.size
        self._all = all_ranks

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> Array:
        ranks = own_group(self, groups)
        place = self._all.place(ranks)
        place.slots[self.rank] = x
        self._wait(place, ranks)
        result = self._combine_slots(place, ranks, combine)
        # Others read x until they arrive here. The memory belongs to the call, so no reference may be left.
        self._wait(place, ranks)
        place.slots[self.rank] = None
        return result

    def fail(self, error: BaseException) -> None:
        self._all.fail(self.rank, error)

    def _wait(self, place: _Place, ranks: Sequence[int]) -> None:
        try:
            place.barrier.wait(self._all.timeout)
        except threading.BrokenBarrierError:
            failure = self._all.failure
            if failure is not None:
                raise RankError(f"rank {self.rank} stops, because rank {failure[0]} failed: {failure[1]}") from None
            others = ", ".join(str(rank) for rank in ranks if rank != self.rank)
            raise RankError(
                f"rank {self.rank} waited {self._all.timeout:g} s at a collective for the ranks {others}"
            ) from None

    def _combine_slots(self, place: _Place, ranks: Sequence[int], combine: Combine) -> Array:
        arrays = [array for array in place.slots.values() if array is not None]
        self._check(ranks, arrays)
        return combine(arrays)

    def _check(self, ranks: Sequence[int], arrays: Sequence[Array]) -> None:
        mine = next(array for rank, array in zip(ranks, arrays, strict=True) if rank == self.rank)
        for rank, array in zip(ranks, arrays, strict=True):
            if (array.shape, array.dtype) != (mine.shape, mine.dtype):
                raise RankError(
                    f"rank {self.rank} has {mine.dtype}{list(mine.shape)} at a collective, and rank {rank} has "
                    f"{array.dtype}{list(array.shape)}: do all ranks run the same program with the same options?"
                )
