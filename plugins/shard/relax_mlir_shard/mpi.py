# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are processes of MPI, on one machine or many: `mpiexec -n 4 python program.py`."""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn

import numpy
from relax_mlir.runtime.threads import usable_cores
from relax_mlir.support.errors import OptionError

from . import rank_watch
from .engines import Array, Combine, RankError, check_alike, groups_of_mesh, own_group, ranks_text
from .mesh import Groups, Mesh

#: Bytes of a slot: an array's type and shape as text, and elements.
_HEAD, _PIECE = 128, 1 << 20
_TEXT = f"S{_HEAD}"
#: Tags of messages: a rank failed; a rank has told its user.
_FAILED, _HEARD = 1, 2
#: Seconds in which ranks tell their users of a failure, and between looks at the others.
_GRACE, _LOOK = 0.5, 0.05


class MpiRank:
    """This process as a rank of MPI's world. Sums are ours: MPI moves bytes only."""

    name = "mpi"
    piece = _PIECE
    #: The process that names killed ranks of this machine, or 0: one for all launches.
    _watch = 0

    def __init__(self, timeout: float | None = None) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise OptionError(f"engine 'mpi' needs mpi4py and MPI: pip install mpi4py mpich ({reason})") from None
        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.rank: int = self._world.rank
        self.size: int = self._world.size
        self._timeout = timeout
        self._boards: dict[Groups, _Board] = {}
        #: For each rank the first rank on its machine, and handles of the processes on this one, with their ranks.
        self._machines: list[int] = []
        self._processes: dict[int, int] = {}
        self._spins = 2000 if self.size <= usable_cores() else 20

    def prepare(self, mesh: Mesh) -> None:
        """Create the groups of a mesh, while no rank has failed."""
        host = f"{socket.gethostname()} {os.getpid()}"
        world, request = self._world.Idup()
        self._await(request, range(self.size))
        self._world = world
        hosts = [value.decode().split() for value in self.agree(host.encode())]
        for rank, (name, process) in enumerate(hosts):
            if name == host.split()[0] and rank != self.rank and hasattr(os, "pidfd_open"):
                with suppress(OSError):  # a container hides other processes
                    self._processes[os.pidfd_open(int(process))] = rank
        if not MpiRank._watch:
            self._start_watch(host.split()[0])
        machine = self._world.Split_type(self._mpi.COMM_TYPE_SHARED)
        self._machines = self._world.allgather(machine.bcast(self.rank))
        for groups in groups_of_mesh(mesh):
            self._board(groups)

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> None:
        board = self._board(groups)
        if x.nbytes <= _PIECE:
            combine(self._share(board, x))
            return
        received = [numpy.empty_like(x, order="C") for _ in board.ranks]
        source, targets = x.reshape(-1), [array.reshape(-1) for array in received]
        step = _PIECE // x.itemsize
        for at in range(0, x.size, step):
            for target, piece in zip(targets, self._share(board, source[at : at + step]), strict=True):
                target[at : at + step] = piece
        combine(received)

    def agree(self, value: bytes) -> Sequence[bytes]:
        """Return the values of all ranks."""
        sizes = numpy.empty(self.size, "int64")
        everyone = tuple(range(self.size))
        with self._named_errors():
            self._await(self._world.Iallgather(numpy.array([len(value)]), sizes), everyone)
            values = numpy.empty(int(sizes.sum()), "uint8")
            self._await(self._world.Iallgatherv(numpy.frombuffer(value, "uint8"), (values, sizes)), everyone)
        return [part.tobytes() for part in numpy.split(values, numpy.cumsum(sizes)[:-1])]

    def fail(self, error: BaseException) -> NoReturn:
        """Tell this user and the other ranks of the error, and end all: a rank in a call of MPI cannot be woken."""
        self._tell(f"rank {self.rank} of {self.size}: {error}")
        others = {rank for rank in range(self.size) if rank != self.rank}
        sent = [self._world.isend(f"rank {self.rank} failed: {error}", rank, _FAILED) for rank in others]
        end = time.monotonic() + _GRACE
        status = self._mpi.Status()
        while others and time.monotonic() < end:
            if self._world.iprobe(status=status):
                self._world.recv(source=status.source, tag=status.tag)
                others.discard(status.source)
            else:
                time.sleep(0.001)
        del sent
        self._abort()

    def _abort(self) -> NoReturn:
        """End all ranks. MPICH's Abort spins without an end once the network has lost the launcher."""
        self.stop_watch()
        with suppress(ValueError):  # other threads than the main one set no handlers
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, _GRACE)
        self._world.Abort(1)
        raise AssertionError("MPI_Abort returned")

    def finish(self) -> None:
        """Finish MPI, for processes that end without exit handlers."""
        self.stop_watch()
        self._mpi.Finalize()

    def _start_watch(self, host: str) -> None:
        """Start the process that names a killed rank, once on each machine. Other launchers than MPICH's name it."""
        if self.rank < min(self._processes.values(), default=0) and "MPICH" in self._mpi.Get_library_version():
            handles = {os.pidfd_open(os.getpid()): self.rank, **self._processes}
            command = [sys.executable, "-IS", rank_watch.__file__, str(self.size), host]
            self._child = subprocess.Popen(
                [*command, *(f"{handle}:{rank}" for handle, rank in handles.items())],
                pass_fds=list(handles),
                start_new_session=True,
            )
            MpiRank._watch = self._child.pid
        watches = [value.decode().split() for value in self.agree(f"{host} {MpiRank._watch}".encode())]
        MpiRank._watch = max(int(watch) for name, watch in watches if name == host)
        atexit.register(self.stop_watch)

    def stop_watch(self) -> None:
        """End the watch: this rank ends in order, or has told its user the reason."""
        if MpiRank._watch:
            with suppress(ProcessLookupError):
                os.kill(MpiRank._watch, signal.SIGTERM)
            MpiRank._watch = 0

    def _tell(self, text: str) -> None:
        sys.stdout.flush()
        print(text, file=sys.stderr, flush=True)

    def _board(self, groups: Groups) -> _Board:
        if groups not in self._boards:
            own = own_group(self, groups)
            color = groups.index(own)
            communicator = self._world.Split(color, own.index(self.rank))
            is_shared = len({self._machines[rank] for rank in own}) == 1
            self._boards[groups] = _Board(self._mpi, communicator, own, is_shared)
        return self._boards[groups]

    def _share(self, board: _Board, x: Array) -> list[Array]:
        """Return the arrays of a group. They are valid until the next but one call."""
        head = _describe(x.shape, x.dtype)
        with self._named_errors():
            self._await(board.put(head, x), board.ranks, board.missing)
        heads, arrays = board.get(x)
        if heads.count(head) < len(heads):
            check_alike(self.rank, board.ranks, [text.decode() for text in heads])
        return arrays

    def _await(self, request: Any, ranks: Sequence[int], missing: Callable[[], Sequence[int]] | None = None) -> None:
        """Wait for a request of MPI: briefly busy, then by turns, and not for ranks that failed or ended."""
        for _ in range(self._spins):
            if request.Test():
                return
        begin = look = time.monotonic()
        while not request.Test():
            now = time.monotonic()
            if now - begin < _LOOK:
                os.sched_yield()
            else:
                time.sleep(0.0002)
            if now - look > _LOOK:
                self._look_at_others()
                look = now
            if self._timeout is not None and now - begin > self._timeout:
                absent = missing() if missing else [rank for rank in ranks if rank != self.rank]
                raise RankError(f"rank {self.rank} waited {self._timeout:g} s in a collective for {ranks_text(absent)}")

    def _look_at_others(self) -> None:
        """End this process if another rank failed. Raise RankError if one ended."""
        status = self._mpi.Status()
        if self._world.iprobe(tag=_FAILED, status=status):
            reason = self._world.recv(source=status.source, tag=_FAILED)
            self._tell(f"rank {self.rank} of {self.size} stops, because {reason}")
            self._world.send(None, status.source, _HEARD)
            time.sleep(2 * _GRACE)  # the rank that failed ends this process
            self._abort()
        ended, _, _ = select.select(list(self._processes), [], [], 0)
        if ended:
            rank = self._processes[ended[0]]
            raise RankError(f"rank {rank} ended, and rank {self.rank} waits in a collective for it")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except self._mpi.Exception as error:
            raise RankError(f"rank {self.rank} lost the others in a collective: {error}") from None


class _Board:
    """Memory in which the ranks of a group read each other's arrays: shared on one machine, else gathered.

    Slots take turns, so that a rank may write to one while others read the other.
    """

    def __init__(self, mpi: Any, communicator: Any, ranks: tuple[int, ...], is_shared: bool) -> None:
        self.ranks = ranks
        self._communicator = communicator
        self._own: int = communicator.rank
        self._step = 0
        size, count = _HEAD + _PIECE, len(ranks)
        self._steps: list[Array] = []
        if is_shared:
            self._window = mpi.Win.Allocate_shared(_HEAD + 2 * size, 1, comm=communicator)
            memory = [numpy.frombuffer(self._window.Shared_query(rank)[0], "uint8") for rank in range(count)]
            self._steps = [array[:8].view("int64") for array in memory]
            self._slots = [[array[at : at + size] for array in memory] for at in (_HEAD, _HEAD + size)]
            self._steps[self._own][0] = 0
            communicator.Barrier()
        else:
            self._sent, self._received = numpy.empty(size, "uint8"), numpy.empty(count * size, "uint8")

    def put(self, head: bytes, x: Array) -> Any:
        """Show an array to the group. Return the request to wait for before `get`."""
        self._step += 1
        size = _HEAD + x.nbytes
        slot = self._slots[self._step % 2][self._own] if self._steps else self._sent
        slot[:_HEAD].view(_TEXT)[0] = head
        slot[_HEAD:size].view(x.dtype).reshape(x.shape)[...] = x
        if not self._steps:
            return self._communicator.Iallgather(slot[:size], self._received[: size * len(self.ranks)])
        self._steps[self._own][0] = self._step
        return self._communicator.Ibarrier()

    def get(self, x: Array) -> tuple[list[bytes], list[Array]]:
        """Return the heads, and arrays like x, of all ranks."""
        size = _HEAD + x.nbytes
        if self._steps:
            slots = self._slots[self._step % 2]
        else:
            slots = list(self._received[: size * len(self.ranks)].reshape(-1, size))
        return (
            [slot[:_HEAD].view(_TEXT)[0] for slot in slots],
            [slot[_HEAD:size].view(x.dtype).reshape(x.shape) for slot in slots],
        )

    def missing(self) -> list[int]:
        """Return the ranks that have not arrived, as far as it is known."""
        steps = [int(step[0]) for step in self._steps] or [0] * len(self.ranks)
        own = self.ranks[self._own]
        return [rank for rank, step in zip(self.ranks, steps, strict=True) if step < self._step and rank != own]


@cache
def _describe(shape: tuple[int, ...], dtype: Any) -> bytes:
    return f"{dtype}{list(shape)}".encode()[:_HEAD]
