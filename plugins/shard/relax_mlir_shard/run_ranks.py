# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharded programs in relax-run: `relax-run model.rxa --ranks 4`, or a process of mpiexec, srun or torchrun each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import partial
from io import StringIO
from typing import Any, NamedTuple

from relax_mlir.runtime import Executable
from relax_mlir.support.errors import OptionError
from relax_mlir.tools.common import guard
from relax_mlir.tools.run.peer import COMPARISONS

from .launch import Launched, engine_of_launcher, launch

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
        return {name: _FunctionOfRanks(self._ranks[name]) for name in self._ranks.names}

    def ready(self, name: str, *arguments: Any) -> Callable[[], object]:
        """Return a call of a function with these arguments, divided."""
        return partial(self._ranks[name], *map(self._ranks.divide, self._ranks.argument_names, arguments))


def run_ranks(driver: Any, program: Executable, arguments: Any) -> RankedProgram:
    """Start the ranks of --ranks, `4`, `mpi` or `mpi:4`. Processes other than the first print and write nothing."""
    for name in _LOCAL:
        if arguments[name]:
            raise OptionError(f"option --{name} is for programs of one rank")
    engine, _, count = (arguments["ranks"] or "").rpartition(":")
    if not engine and not count.isdecimal():
        engine, count = count, ""
    if count and not count.isdecimal():
        raise OptionError(
            f"option --ranks expects a number, an engine or both, as in mpi:4, got '{arguments['ranks']}'"
        )
    started, reason = engine_of_launcher()
    ranks = launch(program, int(count) if count else None, engine=engine or started)
    driver.ending.push(partial(_finish, ranks))
    if ranks.is_first:
        by = f" ({reason})" if reason and not engine else ""
        driver.stderr.write(f"relax-run: note: {ranks.ranks} ranks run by the engine '{ranks.engine}'{by}\n")
    else:
        driver.stdout = driver.stderr = StringIO()
        arguments.values.update(dict.fromkeys(_WRITTEN))
    return RankedProgram(program, ranks)


def _finish(ranks: Launched, error: type[BaseException] | None, *_: object) -> None:
    """Leave the other processes in order, unless this one fails: then the launcher ends them."""
    if error is None:
        ranks.finish()
    if error is None and ranks.engine == "mpi":
        guard.end_process = ctypes.CDLL(None).exit  # MPICH tells its launcher in an exit handler


COMPARISONS.register("ranks", run_ranks)
