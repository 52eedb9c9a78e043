# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads for parallel loops: one pool for all programs of a process, and a limit per program.

The pool is native code, an object in each artifact (targets/host/library/pool.py). The process keeps the pool of the
first program that has one.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache

from ..support.ending import at_end
from ..support.errors import OptionError
from .cpu import available_cpus, host_cores, read_system_file
from .foreign_types import CodeModule

VARIABLE = "RELAX_NUM_THREADS"
#: The caller, and as many workers as the pool has room for (pool.py).
MOST_THREADS = 256

_FAILED = "__relax_pool_failed"
_lock = threading.Lock()
_pool: list[CodeModule] = []


def usual_threads(environment: Mapping[str, str] = os.environ) -> int:
    """Return the default number of threads of a program: RELAX_NUM_THREADS, or the cores that this process may use.

    Raises RelaxError if the variable is not a number of threads.
    """
    said = environment.get(VARIABLE, "").strip()
    return checked_threads(said, f"{VARIABLE}=") if said else min(usable_cores(), MOST_THREADS)


def checked_threads(threads: int | str, where: str) -> int:
    """Return a valid number of threads. `where` is the prefix of the error. Raises RelaxError for anything else."""
    # Python refuses to print and to parse numbers of thousands of digits.
    is_huge = isinstance(threads, int) and threads.bit_length() > 64
    text = "a number of many digits" if is_huge else str(threads)
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= MOST_THREADS:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise OptionError(f"{where}{shown}: expected a number of threads from 1 to {MOST_THREADS}")
    return int(text)


def usable_cores() -> int:
    """Return the number of cores that this process may use, at least 1.

    Each core in the process's affinity counts once, up to the CPU time of its control group.
    """
    # The affinity may include one thread per core or several: no system reports the number of cores cheaply.
    return max(1, min(available_cpus(), host_cores(), _allowed_cpus()))


@lru_cache(maxsize=1)
def _allowed_cpus() -> int:
    """Return the number of CPUs for which the control groups grant this process time, rounded up."""
    quotas = [_quota(f"/sys/fs/cgroup{path}/cpu.max") for path in _group_paths()]
    older = (
        read_system_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        read_system_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
    )
    return min([*quotas, _round_up(*older)])


def _group_paths() -> list[str]:
    """Return the control groups of this process, from its own to the root."""
    lines = read_system_file("/proc/self/cgroup").splitlines()
    path = next((line.partition("::")[2] for line in lines if line.startswith("0::")), "/")
    parts = [part for part in path.split("/") if part]
    return ["".join(f"/{part}" for part in parts[:count]) for count in range(len(parts), -1, -1)]


def _quota(path: str) -> int:
    quota, _, period = read_system_file(path).partition(" ")
    return _round_up(quota, period)


def _round_up(quota: str, period: str) -> int:
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return MOST_THREADS
    return max(-(-int(quota) // int(period)), 1)


# ---- pool ----


class ThreadLimit:
    """Thread limit of a program. Its code reads the limit at each loop."""

    def __init__(self, threads: int) -> None:
        self._limit = ctypes.c_int64(threads)

    def table_with(self, share: int) -> ctypes.Array[ctypes.c_void_p]:
        """Return the table for the code: the address of the function that shares a range, and that of the limit."""
        return (ctypes.c_void_p * 2)(share, ctypes.addressof(self._limit))

    @property
    def threads(self) -> int:
        return self._limit.value

    @threads.setter
    def threads(self, threads: int) -> None:
        self._limit.value = threads


def pool_of_process(load: Callable[[], CodeModule]) -> CodeModule:
    """Return the module of the pool, created with `load` at the first call."""
    with _lock:
        if not _pool:
            _pool.append(load())
            # runs before the loader's session unloads all code
            at_end(_pool[0].get_function("__relax_pool_end"))
        return _pool[0]


def working_threads() -> int:
    """Return the number of worker threads that the pool has started."""
    return int(_pool[0].get_function("__relax_pool_workers")()) if _pool else 0


def notes_on_threads(allowed: int) -> list[str]:
    """Return notes for users after a program with this limit has run."""
    cores, notes = usable_cores(), []
    if allowed > cores:
        notes.append(f"{allowed} threads were asked for, and this process may use {cores} core" + "s" * (cores > 1))
    # The pool of programs of earlier versions does not report this.
    if _pool and _pool[0].implements_function(_FAILED) and _pool[0].get_function(_FAILED)():
        notes.append(f"the system had no more threads to give: {working_threads() + 1} of {allowed} work")
    return notes
