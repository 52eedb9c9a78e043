# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharded programs in relax-run: `relax-run model.rxa --ranks 4`, or a process of mpiexec, srun or torchrun each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from typing import Any, NamedTuple

from relax_mlir.runtime import Executable
from relax_mlir.runtime.threads import usable_cores
from relax_mlir.support.errors import OptionError
from relax_mlir.support.files import refuse_unwritable, write_whole
from relax_mlir.tools.common import guard
from relax_mlir.tools.run.peer import COMPARISONS

from .engine_choice import choose_engine, engine_of_launcher, join_processes
from .engines import ThreadPool, ThreadRank, using
from .launch import Launched, launch
from .mesh import Mesh
from .network import CollectiveCost, fit_network, measure_rank

#: Options that write files: the first rank's, since all have the same results.
_WRITTEN = ("output", "output-dir")

#: Options that look into a program.
_LOCAL = ("each", "poison", "profile", "profile-json", "trace")


class _FunctionOfRanks(NamedTuple):
    """Function on all ranks, in the form of a program's function."""

    packed: Callable[..., Any]


class RankedProgram:
    """A sharded program on its ranks, for a tool that runs programs: functions of whole tensors."""

    definitions = None

    def __init__(self, program: Executable, ranks: Launched) -> None:
        self._program = program
        self._ranks = ranks

    @property
    def threads(self) -> int:
        """Return the number of threads of each rank."""
        return self._program.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._program.threads = threads

    def signature(self, name: str) -> dict[str, Any]:
        """Return the description of a function's whole arguments and results."""
        return self._ranks.whole_signature(self._program.signature(name))

    def copying(self) -> Mapping[str, _FunctionOfRanks]:
        """Return the functions by name."""
        return {name: _FunctionOfRanks(self._ranks.flat(name)) for name in self._ranks.names}

    def ready(self, name: str, *arguments: Any) -> Callable[[], object]:
        """Return a call of a function with these arguments, divided."""
        return partial(self._ranks.flat(name), *map(self._ranks.divide, self._ranks.argument_names, arguments))


def run_ranks(driver: Any, program: Executable, arguments: Any) -> RankedProgram:
    """Start the ranks of --ranks, `4`, `mpi` or `mpi:4`. Processes other than the first print and write nothing."""
    for name in _LOCAL:
        if arguments[name]:
            raise OptionError(f"option --{name} is for programs of one rank")
    engine, count = _chosen_ranks(arguments)
    started, reason = engine_of_launcher()
    ranks = launch(program, count, engine=engine or started)
    driver.ending.push(partial(_finish, ranks.finish, ranks.engine))
    if ranks.is_first:
        by = f" ({reason})" if reason and not engine else ""
        driver.stderr.write(f"relax-run: note: {ranks.ranks} ranks run by the engine '{ranks.engine}'{by}\n")
    else:
        driver.stdout = driver.stderr = StringIO()
        arguments.values.update(dict.fromkeys(_WRITTEN))
    return RankedProgram(program, ranks)


def measure_network(driver: Any, arguments: Any) -> int:
    """Measure the engine of --ranks, print its times, and write them to the file of --measure-network if it names one.

    Processes other than the first print and write nothing.
    """
    path = arguments["measure-network"]
    refuse_unwritable(path)
    name, count = _chosen_ranks(arguments)
    name = choose_engine(name, "option --ranks")
    engine = None if name == "threads" else join_processes(name, 60.0)
    size = (count or usable_cores()) if engine is None else engine.size
    if size < 2 or count not in (None, size):
        raise OptionError(f"--measure-network needs 2 ranks or more, and {name} has {size}: --ranks=2, mpiexec -n 2")
    if engine is None:
        rows, piece = ThreadPool(size).run(measure_rank, None)[0], ThreadRank.piece
    else:
        rows, piece = _measure_process(engine), engine.piece
        driver.ending.push(partial(_finish, engine.finish, name))
    if engine is None or not engine.rank:
        network = fit_network(name, size, piece, rows)
        driver.stdout.write(f"{network}\n")
        if path != "-":
            write_whole(path, network.encode())
    return 0


def _measure_process(engine: Any) -> list[tuple[CollectiveCost, float]]:
    try:
        engine.prepare(Mesh.from_sizes({"ranks": engine.size}))
        with using(engine):
            return measure_rank(engine)
    except BaseException as error:
        engine.fail(error)
        raise


def _chosen_ranks(arguments: Any) -> tuple[str, int | None]:
    """Return the engine of --ranks, "" by default, and the number."""
    engine, _, count = (arguments["ranks"] or "").rpartition(":")
    if not engine and not count.isdecimal():
        engine, count = count, ""
    if count and not count.isdecimal():
        raise OptionError(
            f"option --ranks expects a number, an engine or both, as in mpi:4, got '{arguments['ranks']}'"
        )
    return engine, int(count) if count else None


def _finish(finish: Callable[[], None], engine: str, error: type[BaseException] | None, *_: object) -> None:
    """Leave the other processes in order, unless this one fails: then the launcher ends them."""
    if error is None:
        finish()
    if error is None and engine == "mpi":
        guard.end_process = ctypes.CDLL(None).exit  # MPICH tells its launcher in an exit handler


COMPARISONS.register("ranks", run_ranks)
COMPARISONS.register("network", measure_network)
