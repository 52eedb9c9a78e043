# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs of programs for cuda without a device: on the emulator, which also finds races and wrong addresses.

With RELAX_MLIR_GPU=1 programs run on this machine's device instead (`make gpu`).
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
#: Parts of the names of errors after which a process can no longer use the device.
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
    """Return this process's emulator with this capability."""
    if capability not in _made:
        _made[capability] = EmulatedCuda(capability=capability)
    return _made[capability]


def run_emulated(
    executable: Executable, *arguments: Any, function: str = "main", capability: tuple[int, int] = _USUAL
) -> Any:
    """Call a function with arrays of the CPU, and raise the emulator's findings about kernels."""
    if ON_DEVICE:
        return _run_on_device(executable, arguments, function)
    library = emulated(capability)
    try:
        with use_library(library):
            return executable.copying()[function](*arguments)
    finally:
        if library.faults:
            # Like a real device, the library is unusable after a finding: the next program gets a new library.
            _made.clear()
        library.check()


def _run_on_device(executable: Executable, arguments: tuple[Any, ...], function: str) -> Any:
    """Call a function on the device.

    A worker with an unusable device ends, so that later tests run in another process.
    """
    try:
        return executable.copying()[function](*arguments)
    except Exception as error:
        if "PYTEST_XDIST_WORKER" in os.environ and any(name in str(error) for name in _FATAL):
            print(f"{os.environ.get('PYTEST_CURRENT_TEST')}: {error}", file=sys.__stderr__, flush=True)
            os._exit(1)
        raise


def traffic_of(executable: Executable, *arguments: Any) -> dict[str, Traffic]:
    """Return the memory traffic of each kernel of a call, on a new emulator."""
    found: dict[str, Traffic] = {}
    library = EmulatedCuda(checks=Checks(traffic=found))
    with use_library(library):
        executable.copying()["main"](*arguments)
    library.check()
    return found


@contextmanager
def device_of_a_test(devices: int = 1) -> Iterator[EmulatedCuda]:
    """Replace the driver by an emulator. At the end only memory that the test handed over by DLPack may be left."""
    # After a failed kernel, later kernels read unwritten memory.
    library = EmulatedCuda(devices=devices, checks=Checks(unwritten=False))
    with use_library(library):
        yield library
    gc.collect()
    library.check()
    assert not library.stack() and not [each for each in library.leaks() if not each.startswith("tensor ")]
