# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker's side of a Dask cluster: calls in limited processes of the worker."""

from __future__ import annotations

import contextlib
import threading

from .limited_process import LimitedProcess

#: Limits of a process: bytes of memory, number of CPUs.
_Limits = tuple[int | None, int | None]

_measuring = threading.Lock()
_access = threading.Lock()
_idle: dict[_Limits, list[LimitedProcess]] = {}


def run_call(data: bytes, limit: float, memory: int | None, cpus: int | None, is_timed: bool) -> bytes:
    """Answer a call in a process of this worker. Timed calls of a worker never run at the same time."""
    key = memory, cpus
    with _measuring if is_timed else contextlib.nullcontext():
        process = _take(key)
        try:
            return process.send(data, limit)
        finally:
            with _access:
                _idle.setdefault(key, []).append(process)


def _take(key: _Limits) -> LimitedProcess:
    with _access:
        idle = _idle.get(key)
        return idle.pop() if idle else LimitedProcess(*key)


def end_idle() -> None:
    """End the processes that wait for calls."""
    with _access:
        idle = [process for processes in _idle.values() for process in processes]
        _idle.clear()
    for process in idle:
        process.close()
