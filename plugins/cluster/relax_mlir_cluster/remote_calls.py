# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker's side of remote programs: loads programs, calls and times them, and compares two of them.

A worker keeps the last programs by their keys. If a worker lacks a program, the caller sends its bytes.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from relax_mlir.runtime.arrays import to_numpy
from relax_mlir.runtime.artifact import parse_artifact
from relax_mlir.runtime.executable import Executable

from .turns import time_in_turns

if TYPE_CHECKING:
    from relax_mlir.runtime.foreign_types import Array
    from relax_mlir.runtime.profile import Profile

_MOST_PROGRAMS = 8
_programs: OrderedDict[str, Executable] = OrderedDict()
#: Arguments and results of the programs that others are compared with.
_baselines: dict[str, tuple[Sequence[Array], list[bytes]]] = {}


class ProgramBytes(NamedTuple):
    """Bytes of a program's file, or None if the worker has the program."""

    key: str
    data: bytes | None

    @staticmethod
    def of(data: bytes) -> ProgramBytes:
        return ProgramBytes(hashlib.sha256(data).hexdigest(), data)

    def without_data(self) -> ProgramBytes:
        return ProgramBytes(self.key, None)


class ProgramMissing(Exception):
    """A worker lacks the program of a key, and needs its bytes."""


class Compared(NamedTuple):
    """Result of `compare_programs`."""

    #: Seconds of a call of both programs, for each turn.
    turns: list[tuple[float, ...]]
    #: True if the results differ. Then nothing is timed.
    is_wrong: bool
    #: Seconds of the comparison.
    seconds: float


def signatures(program: ProgramBytes) -> dict[str, dict[str, Any]]:
    """Load a program. Return its functions with descriptions of their arguments and results."""
    loaded = _load(program)
    return {name: loaded.signature(name) for name in loaded}


def call(program: ProgramBytes, name: str, arguments: Sequence[object]) -> object:
    """Return the results of a function as NumPy arrays."""
    return _as_numpy(_load(program)[name](*arguments))


def seconds(program: ProgramBytes, name: str, arguments: Sequence[object], turns: int) -> float:
    """Return the median time of a call over turns."""
    ready = _load(program).ready(name, *arguments)
    return statistics.median(each for (each,) in time_in_turns([ready], (), turns))


def profile(program: ProgramBytes, name: str, arguments: Sequence[object], repeat: int, warmup: int) -> Profile:
    return _load(program).profile(name, *arguments, repeat=repeat, warmup=warmup)


def compare_programs(
    default: ProgramBytes, tuned: ProgramBytes, arguments: Sequence[Array] | None, turns: int, threads: int
) -> Compared:
    """Compare the bits of two programs' results of @main, and time both in turns.

    `arguments` are the inputs, or None if the worker has them with the default program.
    """
    start = time.perf_counter()
    known = _load(default, threads)
    if arguments is not None:
        _baselines[default.key] = arguments, _bytes(known["main"](*arguments))
    if default.key not in _baselines:
        raise ProgramMissing
    arguments, expected = _baselines[default.key]
    other = Executable(parse_artifact(memoryview(tuned.data or b"")))
    other.threads = threads
    if _bytes(other["main"](*arguments)) != expected:
        return Compared([], True, time.perf_counter() - start)
    times = time_in_turns([known["main"], other["main"]], arguments, turns)
    return Compared(times, False, time.perf_counter() - start)


def _load(program: ProgramBytes, threads: int | None = None) -> Executable:
    if program.key not in _programs:
        if program.data is None:
            raise ProgramMissing
        _programs[program.key] = Executable(parse_artifact(memoryview(program.data)))
        while len(_programs) > _MOST_PROGRAMS:
            key, _ = _programs.popitem(last=False)
            _baselines.pop(key, None)
    _programs.move_to_end(program.key)
    executable = _programs[program.key]
    if threads is not None:
        executable.threads = threads
    return executable


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_numpy, value))
    return to_numpy(value) if hasattr(value, "__dlpack__") else value


def _bytes(results: Any) -> list[bytes]:
    listed = results if isinstance(results, (list, tuple)) else [results]
    return [to_numpy(each).tobytes() for each in listed]
