# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that are processes of MPI, on one machine or many: `mpiexec -n 4 python program.py`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy
from relax_mlir.support.errors import OptionError

from .engines import Array, Combine
from .mesh import Groups, Mesh


class MpiRank:
    """This process as a rank of MPI's world. Sums are ours: MPI moves bytes only."""

    name = "mpi"

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise OptionError(f"engine 'mpi' needs mpi4py and MPI: pip install mpi4py mpich ({error})") from None
        self._world = MPI.COMM_WORLD
        self.rank: int = self._world.rank
        self.size: int = self._world.size
        self._communicators: dict[Groups, Any] = {}

    def prepare(self, mesh: Mesh) -> None:
        """Do nothing: communicators are made when they are required_sharding, and a rank that fails ends all."""

    def exchange(self, groups: Groups, x: Array, combine: Combine) -> Array:
        communicator = self._communicator(groups)
        mine = numpy.ascontiguousarray(x)
        received = numpy.empty((communicator.size, *x.shape), x.dtype)
        communicator.Allgather(_bytes(mine), _bytes(received))
        return combine(list(received))

    def agree(self, value: bytes) -> Sequence[bytes]:
        """Return the values of all ranks."""
        values: list[bytes] = self._world.allgather(value)
        return values

    def fail(self, error: BaseException) -> None:
        """Print the error and end all ranks: a rank that waits in MPI cannot be woken otherwise."""
        print(f"rank {self.rank} of {self.size}: {error}", file=sys.stderr, flush=True)
        self._world.Abort(1)

    def _communicator(self, groups: Groups) -> Any:
        if groups not in self._communicators:
            color = next(index for index, group in enumerate(groups) if self.rank in group)
            self._communicators[groups] = self._world.Split(color, groups[color].index(self.rank))
        return self._communicators[groups]


def _bytes(array: Array) -> Array:
    """Return an array's memory as bytes: MPI has no names for all element types."""
    return array.reshape(-1).view(numpy.uint8)
