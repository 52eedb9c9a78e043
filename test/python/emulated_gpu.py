# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs for cuda where there is no device: on the emulator, which finds races and wrong addresses too.

RELAX_MLIR_GPU=1 has them run on this machine's device instead (`make gpu`).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpu_emulator.driver import EmulatedCuda
from gpu_emulator.machine import Checks
from gpu_emulator.traffic import Traffic
from relax_mlir.runtime import Executable
from relax_mlir.runtime.cuda.driver import use_library

ON_DEVICE = os.environ.get("RELAX_MLIR_GPU") == "1"
#: Errors after which a process gets no more work done on a device, by what their names have in them.
_FATAL = (
    "ILLEGAL_ADDRESS",
    "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE",
    "ILLEGAL_INSTRUCTION",
    "INVALID_PC",
    "LAUNCH_",
)
_USUAL = (8, 0)
_made: dict[tuple[int, int], EmulatedCuda] = {}


def emulated(capability: tuple[int, int] = _USUAL) -> EmulatedCuda:
    """The one of this process with such devices."""
    if capability not in _made:
        _made[capability] = EmulatedCuda(capability=capability)
    return _made[capability]


def run_emulated(
    executable: Executable, *arguments: Any, function: str = "main", capability: tuple[int, int] = _USUAL
) -> Any:
    """What a function gives for arrays of the CPU; raises what the emulator has found wrong in kernels."""
    if ON_DEVICE:
        return _run_on_device(executable, arguments, function)
    library = emulated(capability)
    try:
        with use_library(library):
            return executable.copying()[function](*arguments)
    finally:
        if library.faults:
            # As a real one it does nothing any more: what is loaded next is on a new one.
            _made.clear()
        library.check()


def _run_on_device(executable: Executable, arguments: tuple[Any, ...], function: str) -> Any:
    """Ends a worker whose device is of no more use, so that the tests behind this one run in another process."""
    try:
        return executable.copying()[function](*arguments)
    except Exception as error:
        if "PYTEST_XDIST_WORKER" in os.environ and any(name in str(error) for name in _FATAL):
            print(f"{os.environ.get('PYTEST_CURRENT_TEST')}: {error}", file=sys.__stderr__, flush=True)
            os._exit(1)
        raise


def traffic_of(executable: Executable, *arguments: Any) -> dict[str, Traffic]:
    """What each kernel of a call asks of memory, on an emulator of its own."""
    found: dict[str, Traffic] = {}
    library = EmulatedCuda(checks=Checks(traffic=found))
    with use_library(library):
        executable.copying()["main"](*arguments)
    library.check()
    return found


@contextmanager
def device_of_a_test(devices: int = 1) -> Iterator[EmulatedCuda]:
    """In the driver's place; at the end nothing is left there but what the test handed over by DLPack."""
    # Behind a kernel that has failed, others work on what is unwritten.
    library = EmulatedCuda(devices=devices, checks=Checks(unwritten=False))
    with use_library(library):
        yield library
    gc.collect()
    library.check()
    assert not library.stack() and not [each for each in library.leaks() if not each.startswith("tensor ")]
