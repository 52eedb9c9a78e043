# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines, which run a program on several ranks and exchange their arrays.

An engine of your own has these six members: `name`, `rank`, `size`, `piece`, `exchange` and `fail`.
"""

from __future__ import annotations

import sys
import threading
from _thread import LockType, allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, combinations
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias

import numpy
from relax_mlir.support.errors import RelaxError

from .mesh import Groups, Mesh

Array: TypeAlias = "numpy.ndarray[Any, Any]"
#: Function of the arrays of a group, which writes its result where the caller needs it.
Combine: TypeAlias = "Callable[[Sequence[Array]], None]"


class Transport(Protocol):
    """Interface that collectives need from a rank."""

    name: str
    rank: int
    size: int
    #: Number of bytes that move without an additional copy. Collectives divide larger arrays if they can.
    piece: int

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> None:
        """Call `combine` with the arrays of this rank's group, in its order.

        All ranks call this with the same groups. `combine` must keep none of the arrays, and may run on any thread.
        """

    def fail(self, error: BaseException) -> None:
        """Tell all ranks that this one failed, so that none waits for it."""


class RankError(RelaxError):
    """A rank failed, or did not arrive in a collective in time."""


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


def groups_of_mesh(mesh: Mesh) -> list[Groups]:
    """Return the groups of ranks along each axis of a mesh, and along several."""
    names = [name for name, _ in mesh.axes]
    chosen = chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1))
    return [(tuple(range(mesh.size)),), *map(mesh.groups, chosen)]


def describe_array(array: Array) -> str:
    """Return an array's type and shape as text."""
    return f"{array.dtype}{list(array.shape)}"


def check_alike(rank: int, ranks: Sequence[int], arrays: Sequence[str]) -> None:
    """Raise RankError if the arrays of a group, described in its order, are not alike."""
    mine = arrays[list(ranks).index(rank)]
    for other, array in zip(ranks, arrays, strict=True):
        if array != mine:
            raise RankError(
                f"rank {rank} has {mine} in a collective, and rank {other} has {array}: do all ranks run the same "
                "program with the same options?"
            )


def ranks_text(ranks: Sequence[int]) -> str:
    """Return `rank 1` or `ranks 1, 3`."""
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


class _Meeting:
    """One exchange of a group of threads: the array of each rank, and the function that combines them for it."""

    def __init__(self) -> None:
        self.is_full = False
        self.arrays: dict[int, Array] = {}
        self.combines: dict[int, Combine] = {}
        #: Locks at which ranks wait until no rank reads their arrays.
        self.leaving: list[LockType] = []

    def arrays_of(self, ranks: Sequence[int]) -> list[Array]:
        return [self.arrays[rank] for rank in ranks]

    def clear(self) -> None:
        """Forget the arrays: their memory belongs to the calls of the ranks, which end when they wake."""
        self.arrays.clear()
        self.combines.clear()


class Threads:
    """Ranks that are threads of one process."""

    def __init__(self, size: int, timeout: float | None = None) -> None:
        self.size = size
        self.timeout = timeout
        self.failure: tuple[int, BaseException] | None = None
        self.lock = allocate_lock()
        self.meetings: dict[tuple[int, ...], _Meeting] = {}
        #: Locks at which ranks wait for a full meeting. The thread that takes a lock from here releases it.
        self.waiting: dict[int, LockType] = {}

    def rank(self, rank: int) -> ThreadRank:
        """Return the engine of a rank."""
        return ThreadRank(self, rank)

    def fail(self, rank: int, error: BaseException) -> None:
        """Remember the first failure, and wake all ranks that wait."""
        with self.lock:
            self.failure = self.failure or (rank, error)
            for lock in self.waiting.values():
                lock.release()
            self.waiting.clear()


class ThreadRank:
    """One of the threads. Arrays are read where they are."""

    name = "threads"
    piece = sys.maxsize
    #: Up to this size one thread combines for all ranks: it takes longer to wake the threads twice.
    _SMALL = 1 << 15

    def __init__(self, all_ranks: Threads, rank: int) -> None:
        self.rank = rank
        self.size = all_ranks.size
        self._all = all_ranks
        self._lock = allocate_lock()
        self._lock.acquire()

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> None:
        ranks = own_group(self, groups)
        meeting, sleepers = self._arrive(ranks, x, combine)
        if x.nbytes > self._SMALL:
            _release(sleepers)
            try:
                combine(meeting.arrays_of(ranks))
            finally:
                self._leave(ranks, meeting)
        elif sleepers or len(ranks) == 1:
            try:
                for rank in ranks:
                    meeting.combines[rank](meeting.arrays_of(ranks))
            finally:
                meeting.clear()
                _release(sleepers)

    def fail(self, error: BaseException) -> None:
        self._all.fail(self.rank, error)

    def _arrive(self, ranks: tuple[int, ...], x: Array, combine: Combine) -> tuple[_Meeting, list[LockType]]:
        """Wait until a meeting is full. Return it, and to the last rank the locks of the others."""
        everyone = self._all
        with everyone.lock:
            self._check_failure()
            meeting = everyone.meetings.setdefault(ranks, _Meeting())
            meeting.arrays[self.rank], meeting.combines[self.rank] = x, combine
            if len(meeting.arrays) == len(ranks):
                del everyone.meetings[ranks]
                self._check(ranks, meeting)
                meeting.is_full = True
                return meeting, [everyone.waiting.pop(rank) for rank in ranks if rank != self.rank]
            everyone.waiting[self.rank] = self._lock
        is_awake = self._lock.acquire(timeout=-1 if everyone.timeout is None else everyone.timeout)
        if not meeting.is_full:
            self._check_failure()
            missing = ranks_text([rank for rank in ranks if rank not in meeting.arrays])
            raise RankError(f"rank {self.rank} waited {everyone.timeout:g} s in a collective for {missing}")
        if not is_awake:
            self._lock.acquire()
        return meeting, []

    def _check_failure(self) -> None:
        if self._all.failure is not None:
            rank, error = self._all.failure
            raise RankError(f"rank {self.rank} stops, because rank {rank} failed: {error}")

    def _check(self, ranks: Sequence[int], meeting: _Meeting) -> None:
        mine = meeting.arrays[self.rank]
        if any((array.shape, array.dtype) != (mine.shape, mine.dtype) for array in meeting.arrays.values()):
            check_alike(self.rank, ranks, [describe_array(array) for array in meeting.arrays_of(ranks)])

    def _leave(self, ranks: Sequence[int], meeting: _Meeting) -> None:
        """Wait until no rank reads this rank's array."""
        with self._all.lock:
            is_last = len(meeting.leaving) == len(ranks) - 1
            if not is_last:
                meeting.leaving.append(self._lock)
        if is_last:
            meeting.clear()
            _release(meeting.leaving)
        else:
            self._lock.acquire()


def _release(locks: Sequence[LockType]) -> None:
    for lock in locks:
        lock.release()


class ThreadPool:
    """A thread of this process for each rank. The process does not wait for a thread that hangs."""

    #: Seconds that the others get to end after a rank has failed.
    GRACE = 0.5

    def __init__(self, size: int) -> None:
        self._jobs: list[SimpleQueue[Callable[[], None] | None]] = [SimpleQueue() for _ in range(size)]
        self._busy: set[int] = set()
        self._is_closed = False
        for rank, jobs in enumerate(self._jobs):
            threading.Thread(target=_work, args=(jobs,), name=f"rank {rank}", daemon=True).start()

    def close(self) -> None:
        """End the threads."""
        self._is_closed = True
        for jobs in self._jobs:
            jobs.put(None)

    def run(self, call: Callable[[ThreadRank], Any], timeout: float | None) -> list[Any]:
        """Call a function for each rank, and return the results. Raise the first error of a rank."""
        if self._is_closed:
            raise RankError("the ranks have ended: launch again")
        if self._busy:
            raise RankError(f"{ranks_text(sorted(self._busy))} did not end an earlier call, which failed: launch again")
        ranks, ended = Threads(len(self._jobs), timeout), SimpleQueue[int]()
        results: list[Any] = [None] * ranks.size

        def run(engine: ThreadRank) -> None:
            try:
                with using(engine):
                    results[engine.rank] = call(engine)
            except BaseException as error:
                engine.fail(error)
            ended.put(engine.rank)

        for rank, jobs in enumerate(self._jobs):
            jobs.put(partial(run, ranks.rank(rank)))
        self._await(ranks, ended)
        if ranks.failure is not None:
            rank, error = ranks.failure
            if isinstance(error, RankError):
                raise error
            raise RankError(f"rank {rank} of {ranks.size}: {error}") from error
        return results

    def _await(self, ranks: Threads, ended: SimpleQueue[int]) -> None:
        """Wait for all ranks: once one has ended, `timeout` seconds for the others, and fewer if it failed."""
        self._busy = set(range(ranks.size))
        try:
            while self._busy:
                # A rank that waits in a collective has the better sentence, so it gets the time to say it.
                limit = self.GRACE if ranks.failure else None if ranks.timeout is None else ranks.timeout + self.GRACE
                self._busy.remove(ended.get(timeout=limit if len(self._busy) < ranks.size else None))
        except Empty:
            missing = ranks_text(sorted(self._busy))
            ranks.fail(min(self._busy), RankError(f"{missing} did not end within {limit:g} s after the others"))
        except BaseException as error:
            ranks.fail(0, error)
            raise


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
