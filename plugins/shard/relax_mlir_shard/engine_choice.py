# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of the engine that runs ranks: by name, or by the variables of the program that started this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .mpi import MpiRank
from .torch_group import TorchRank

#: Engines of several processes. With "threads", all ranks are threads of this process.
_PROCESSES: dict[str, Callable[[float | None], Any]] = {"mpi": MpiRank, "torch": TorchRank}
_ENGINES = ("threads", *_PROCESSES)
#: Variables of torchrun, mpiexec (MPICH and Open MPI) and srun, which may start torchrun, with the number of processes.
_LAUNCHERS = {"torch": ("WORLD_SIZE",), "mpi": ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")}


def choose_engine(name: str, what: str) -> str:
    """Return the engine of this name, or of the launcher if it is empty. Raise OptionError for another name."""
    chosen = name or engine_of_launcher()[0]
    if chosen not in _ENGINES:
        raise OptionError(
            f"{what}: no engine '{chosen}'{suggest(str(chosen), _ENGINES)}; there are {', '.join(_ENGINES)}"
        )
    return chosen


def join_processes(engine: str, timeout: float | None = None) -> Any:
    """Return this process as a rank of an engine of processes."""
    return _PROCESSES[engine](timeout)


def engine_of_launcher() -> tuple[str, str]:
    """Return the engine of the program that started this process, and the variable that tells."""
    for engine, names in _LAUNCHERS.items():
        for name in names:
            if os.environ.get(name, "1") not in ("", "0", "1"):
                return engine, f"{name}={os.environ[name]}"
    return "threads", ""
