# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of a sharded program on several ranks: `rx.launch`."""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy
from relax_mlir.runtime import Executable
from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.threads import usable_cores
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from . import exchanges
from .engines import Array, RankError, Threads, Transport, using
from .mesh import Mesh, Sharding
from .mpi import MpiRank
from .shard import PLAN
from .torch_group import TorchRank

#: Engines of several processes. With "threads", all ranks are threads of this process.
_PROCESSES: dict[str, Callable[[], Any]] = {"mpi": MpiRank, "torch": TorchRank}
_ENGINES = ("threads", *_PROCESSES)
#: Variables of launchers with the number of processes.
_MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


class _PlannedTensor(NamedTuple):
    """Argument or result: its sharding and its whole sizes. A size is None if only its parts are known."""

    sharding: Sharding
    sizes: tuple[int | None, ...]

    @staticmethod
    def from_plan(entry: Mapping[str, Any]) -> _PlannedTensor:
        return _PlannedTensor(tuple(map(tuple, entry["sharding"])), tuple(entry["sizes"]))


class RankParts:
    """Parts of a tensor for each rank of this process. Calls take them in place of the whole tensor."""

    def __init__(self, arrays: Mapping[int, Array]) -> None:
        self.arrays = dict(arrays)


class Launched(ABC):
    """A sharded program with its ranks. Functions take and return whole tensors."""

    def __init__(self, program: Executable, ranks: int | None) -> None:
        self._program = program
        self._plan = plan_of(program)
        self._mesh = Mesh(tuple(self._plan["mesh"].items()))
        self._function = self._plan["function"]
        self._main = program[self._function]
        self._arguments = dict(
            zip(self._plan["names"], map(_PlannedTensor.from_plan, self._plan["arguments"]), strict=True)
        )
        self._returned = list(map(_PlannedTensor.from_plan, self._plan["results"]))
        self.ranks = self._mesh.size
        if ranks is not None and ranks != self.ranks:
            raise OptionError(
                f"rx.launch: the program is for a mesh of {self._mesh}, which are {self.ranks} ranks, got ranks={ranks}"
            )

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name != self._function:
            raise OptionError(f"rx.launch: '{name}' is not divided, only '{self._function}' is")
        return self._call

    def __enter__(self) -> Launched:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027  # not abstract: processes end by themselves
        """End the ranks."""

    def divide(self, name: str, array: Any) -> RankParts:
        """Return the parts of an argument, for many calls: weights are divided once."""
        if name not in self._arguments:
            raise OptionError(f"'{self._function}' has no argument '{name}'{suggest(name, self._arguments)}")
        whole = to_numpy(array)
        self._check(name, whole.shape)
        return RankParts({rank: self._part(name, whole, rank) for rank in self._own_ranks()})

    @abstractmethod
    def _own_ranks(self) -> Sequence[int]:
        """Return the ranks in this process."""

    @abstractmethod
    def _results(self, parts: Mapping[int, Sequence[Array]]) -> list[Array]:
        """Call the program for each rank of this process, and return whole results."""

    def _part(self, name: str, whole: Array, rank: int) -> Array:
        part = part_of_rank(whole, self._arguments[name].sharding, self._mesh, rank)
        return numpy.array(part, order="C", copy=None)

    def _check(self, name: str, shape: Sequence[int]) -> None:
        tensor = self._arguments[name]
        if len(shape) != len(tensor.sizes):
            raise OptionError(
                f"argument '{name}' has {len(tensor.sizes)} dimensions, got an array of shape {tuple(shape)}"
            )
        for axis, (size, known, axes) in enumerate(zip(shape, tensor.sizes, tensor.sharding, strict=True)):
            if known is not None and size != known:
                raise OptionError(f"argument '{name}' has size {known} along dimension {axis}, got {size}")
            count = self._mesh.count(axes)
            if known is None and size % count:
                raise OptionError(
                    f"argument '{name}': its size {size} along dimension {axis} has no {count} equal parts"
                )

    def _call(self, *arguments: Any, **named: Any) -> Any:
        values = self._bind_arguments(arguments, named)
        divided = {
            name: value if isinstance(value, RankParts) else self.divide(name, value) for name, value in values.items()
        }
        parts = {rank: [divided[name].arrays[rank] for name in self._arguments] for rank in self._own_ranks()}
        results = self._results(parts)
        return results[0] if len(results) == 1 else tuple(results)

    def _bind_arguments(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = list(self._arguments)
        values = dict(zip(names, arguments, strict=False))
        if len(arguments) > len(names):
            raise OptionError(f"'{self._function}' takes {len(names)} arguments, got {len(arguments)}")
        for name in named:
            if name not in names or name in values:
                reason = "is given twice" if name in values else f"is none of its arguments{suggest(name, names)}"
                raise OptionError(f"'{self._function}': '{name}' {reason}")
        if missing := [name for name in names if name not in values and name not in named]:
            raise OptionError(f"'{self._function}' needs its argument '{missing[0]}'")
        return {**values, **named}

    def _run(self, engine: Transport, parts: Sequence[Array]) -> list[Array]:
        with using(engine):
            results = self._main(*parts)
        return [to_numpy(value) for value in (results if isinstance(results, tuple) else (results,))]

    def _join_result(self, index: int, parts: Sequence[Array]) -> Array:
        return join_parts(parts, self._returned[index].sharding, self._mesh, self._returned[index].sizes)


class _OnThreads(Launched):
    """All ranks are threads of this process. Calls from several threads take turns."""

    def __init__(self, program: Executable, ranks: int | None, timeout: float | None) -> None:
        super().__init__(program, ranks)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(self.ranks, thread_name_prefix="rank")
        program.threads = max(usable_cores() // self.ranks, 1)

    def close(self) -> None:
        self._pool.shutdown()

    def _own_ranks(self) -> Sequence[int]:
        return range(self.ranks)

    def _results(self, parts: Mapping[int, Sequence[Array]]) -> list[Array]:
        all_ranks = Threads(self.ranks, self._timeout)

        def run(rank: int) -> list[Array]:
            engine = all_ranks.rank(rank)
            try:
                return self._run(engine, parts[rank])
            except BaseException as error:
                engine.fail(error)
                return []

        with self._lock:
            results = list(self._pool.map(run, parts))
        if all_ranks.failure is not None:
            rank, error = all_ranks.failure
            if isinstance(error, RankError):
                raise error
            raise RankError(f"rank {rank} of {self.ranks}: {error}") from error
        return [self._join_result(index, value) for index, value in enumerate(zip(*results, strict=True))]


class _InProcesses(Launched):
    """This process is one rank. All ranks make the same calls, and each gets the whole results."""

    def __init__(self, program: Executable, ranks: int | None, engine: Any) -> None:
        super().__init__(program, ranks)
        self._engine = engine
        if engine.size != self.ranks:
            raise OptionError(
                f"rx.launch: the program is for a mesh of {self._mesh}, which are {self.ranks} ranks, and "
                f"{engine.name} started {engine.size} processes"
            )
        engine.prepare(self._mesh)
        for rank, plan in enumerate(engine.agree(json.dumps(self._plan).encode())):
            if json.loads(plan) != self._plan:
                raise RankError(
                    f"rank {engine.rank} and rank {rank} have different programs: start all with the same one"
                )

    def _own_ranks(self) -> Sequence[int]:
        return (self._engine.rank,)

    def _results(self, parts: Mapping[int, Sequence[Array]]) -> list[Array]:
        everyone = (tuple(range(self.ranks)),)
        try:
            results = self._run(self._engine, parts[self._engine.rank])
        except BaseException as error:
            self._engine.fail(error)
            raise
        return [
            self._engine.exchange(everyone, value, lambda arrays, index=index: self._join_result(index, arrays).copy())
            if any(self._returned[index].sharding)
            else value
            for index, value in enumerate(results)
        ]


def launch(
    program: Executable, ranks: int | None = None, *, engine: str = "", timeout: float | None = 60.0
) -> Launched:
    """Run a program of `rx.shard` on the ranks of its mesh.

    The result has the program's function: `rx.launch(program)["main"](x)`. It takes and returns whole tensors.
    `engine`: "threads" of this process, "mpi" or "torch" for a process of each rank; default: as the process was
    started. Ranks that are threads share the cores of the process, and set `program.threads` for it.
    `timeout` limits the seconds that a thread waits for others; None waits without a limit.
    """
    chosen = engine or _engine_of_launcher()
    if chosen not in _ENGINES:
        raise OptionError(
            f"rx.launch: no engine '{chosen}'{suggest(chosen, _ENGINES)}; there are {', '.join(_ENGINES)}"
        )
    if chosen == "threads":
        return _OnThreads(program, ranks, timeout)
    return _InProcesses(program, ranks, _PROCESSES[chosen]())


def _engine_of_launcher() -> str:
    """Return the engine of the program that started this process: mpiexec, srun, torchrun or none of them."""
    if any(int(os.environ.get(name, "1")) > 1 for name in _MPI_SIZES):
        return "mpi"
    return "torch" if "TORCHELASTIC_RUN_ID" in os.environ else "threads"


def plan_of(program: Executable) -> dict[str, Any]:
    """Return the plan of a sharded program. Raise OptionError for another program."""
    if PLAN not in program:
        raise OptionError("rx.launch: the program has no plan for several ranks: divide its module with rx.shard first")
    plan: dict[str, Any] = json.loads(to_numpy(program[PLAN]()).tobytes())
    return plan


def part_of_rank(array: Array, sharding: Sharding, mesh: Mesh, rank: int) -> Array:
    """Return a rank's part of a whole tensor."""
    for dimension, axes in enumerate(sharding):
        for axis in axes:
            array = exchanges.part(array, dimension, mesh.part(rank, [axis]), mesh.count([axis]))
    return array


def join_parts(parts: Sequence[Array], sharding: Sharding, mesh: Mesh, sizes: Sequence[int | None]) -> Array:
    """Return the whole tensor of all ranks' parts."""
    results = list(parts)
    for dimension, axes in enumerate(sharding):
        for group in mesh.groups(axes) if axes else ():
            whole = _join_dimension([results[rank] for rank in group], dimension, axes, mesh, sizes[dimension])
            for rank in group:
                results[rank] = whole
    return results[0]


def _join_dimension(parts: Sequence[Array], dimension: int, axes: Sequence[str], mesh: Mesh, size: int | None) -> Array:
    """Join the parts of one dimension, along the innermost axis first, without copies behind its end."""
    outer, count = axes[:-1], mesh.count(axes[-1:])
    runs = [numpy.concatenate(parts[at : at + count], dimension) for at in range(0, len(parts), count)]
    if size is not None:
        limit = -(-size // mesh.count(outer))
        runs = [value[(slice(None),) * dimension + (slice(0, limit),)] for value in runs]
    return runs[0] if not outer else _join_dimension(runs, dimension, outer, mesh, size)
