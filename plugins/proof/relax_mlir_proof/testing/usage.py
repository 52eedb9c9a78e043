# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of programs in use.

They cover thread counts, concurrent calls, save and load, wrong arguments, leaks, and missing memory.
"""

from __future__ import annotations

import gc
import itertools
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from relax_mlir.runtime import Executable, load
from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.guard_pages import guarded, guarded_results
from relax_mlir.runtime.poisoning import PATTERNS

from .c_program import CProgram

if TYPE_CHECKING:
    from numpy import ndarray

Program: TypeAlias = "Executable | CProgram"
#: Calls of each program while another one is called.
_TURNS = 4
#: Definition of a leak: in each round of calls but the first, the process grows by this many bytes per call.
_ROUNDS, _LEAKED = 4, 256
#: Seconds per round, and fewest and most calls per round.
_ROUND_S, _FEWEST, _MOST = 0.2, 20, 200
#: Bytes left to a process without memory. Python allocates its objects in pieces of 1 MiB.
_LEFT = 4 << 20


def called(program: Program, arrays: Sequence[ndarray], pattern: bytes = PATTERNS[0]) -> list[ndarray]:
    """Call "main". On the CPU, results are next to forbidden pages, and contain the pattern before the call."""
    if isinstance(program, CProgram):
        return program(arrays)
    with guarded_results(pattern) if program.device == "cpu" else nullcontext():
        found = program.copying()["main"](*map(tensor, arrays))
    listed = found if isinstance(found, (list, tuple)) else [found]
    return [to_numpy(each) for each in listed]


def are_same(one: Sequence[ndarray], other: Sequence[ndarray]) -> bool:
    """Check whether all bits are equal."""
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def change_in_use(executable: Executable, arguments: Sequence[ndarray], expected: Sequence[ndarray]) -> str:
    """Describe a use in which a call gives other bits than expected, or return ""."""
    placed = [guarded(array, at_end=True) for array in arguments]
    again = _load(executable)
    return (
        _check_threads(executable, placed, expected)
        or ("" if are_same(called(again, placed, PATTERNS[1]), expected) else "saved and loaded, it gives other bits")
        or _check_two_at_once((executable, again), placed, expected)
    )


def _load(executable: Executable) -> Executable:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.rxa"
        executable.save(path)
        found = load(path)
    found.threads = executable.threads
    return found


def _check_threads(executable: Executable, placed: Sequence[ndarray], expected: Sequence[ndarray]) -> str:
    before = executable.threads
    executable.threads = 1
    try:
        return "" if are_same(called(executable, placed), expected) else "one thread gives other bits than two"
    finally:
        executable.threads = before


def _check_two_at_once(programs: Sequence[Executable], placed: Sequence[ndarray], expected: Sequence[ndarray]) -> str:
    together = Barrier(len(programs))

    def turns(program: Executable) -> bool:
        try:
            found = []
            for _ in range(_TURNS):
                together.wait()
                found.append(called(program, placed))
            return all(are_same(each, expected) for each in found)
        except Exception:
            together.abort()  # the other thread would wait forever
            raise

    with ThreadPoolExecutor(len(programs)) as pool:
        return "" if all(pool.map(turns, programs)) else "called from two threads at once, it gives other bits"


def wrong_argument_taken(executable: Executable, arguments: Sequence[ndarray]) -> str:
    """Describe a wrong argument that a call accepts, or return ""."""
    for what, wrong in _wrong(arguments):
        with suppress(Exception):  # any exception is a refusal
            called(executable, wrong)
            return f"it takes {what}"
    return ""


def _wrong(arguments: Sequence[ndarray]) -> Iterator[tuple[str, list[Any]]]:
    """Yield arguments that every call must refuse, and descriptions."""
    for place, array in enumerate(arguments):
        other = "float64" if array.dtype == numpy.float32 else "float32"
        before, after = arguments[:place], arguments[place + 1 :]
        yield f"{other} as argument {place}, of {array.dtype}", [*before, array.astype(other), *after]
        yield f"one dimension more in argument {place}", [*before, array[None], *after]
        if array.ndim > 1:
            yield f"argument {place} with one dimension, not {array.ndim}", [*before, array.reshape(-1), *after]
    yield "one argument too many", [*arguments, numpy.zeros(2, "float32")]
    if arguments:
        yield "one argument too few", list(arguments[:-1])


def memory_leaked(executable: Executable, arguments: Sequence[ndarray]) -> int:
    """Return the bytes that each call leaks. 0 if they are too few or irregular."""
    run = executable.ready("main", *map(tensor, map(numpy.array, arguments)))
    page = _page(executable)
    taken = 0 if page is None else page.bytes_taken
    start = time.perf_counter()
    run()
    calls = min(max(int(_ROUND_S / max(time.perf_counter() - start, 1e-9)), _FEWEST), _MOST)
    sizes = []
    for _ in range(_ROUNDS):
        _run_often(run, calls)
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
    if page is not None and page.bytes_taken > taken:
        return (page.bytes_taken - taken) // (calls * _ROUNDS) or 1
    leaked = min([after - before for before, after in itertools.pairwise(sizes)]) // calls
    return leaked if leaked >= _LEAKED else 0


def _run_often(run: Callable[[], object], calls: int) -> None:
    for _ in range(calls):
        run()
    gc.collect()


def fault_without_memory(executable: Executable, arguments: Sequence[ndarray], expected: Sequence[ndarray]) -> str:
    """Describe a call's behaviour without memory unless it raises MemoryError or succeeds. Return "" if it does."""
    placed = [guarded(array, at_end=True) for array in arguments]
    for limit in _LIMITS if _page(executable) is None else (_full_device,):
        again = _load(executable)
        function = again.copying()["main"]  # the code is loaded, but the arena is not
        tensors = list(map(tensor, placed))
        try:
            with limit(again):
                found = function(*tensors)
        except MemoryError:
            pass
        except Exception as error:  # programs may raise anything
            return f"it raises {type(error).__name__}, not MemoryError: {error}"
        else:
            listed = found if isinstance(found, (list, tuple)) else [found]
            if not are_same(list(map(to_numpy, listed)), expected):
                return "it gives other bits"
        if not are_same(called(again, placed), expected):
            return "the next call, which has memory, gives other bits"
    return ""


def _page(executable: Executable) -> Any:
    """Return the device memory that programs share, or None. Programs for Vulkan and OpenCL have such memory."""
    return getattr(executable._on_device, "page", None)


def _full_device(executable: Executable) -> AbstractContextManager[None]:
    program: Any = executable._on_device
    full: AbstractContextManager[None] = program.without_room()
    return full


def _failing_results(_: Executable) -> AbstractContextManager[None]:
    return guarded_results(fails=True)


@contextmanager
def _little_memory(_: Executable) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + _LEFT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


_LIMITS = (_little_memory, _failing_results)
