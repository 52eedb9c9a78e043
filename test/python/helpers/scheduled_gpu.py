# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation of scheduled PrimFuncs for cuda, and runs that find races, missing barriers and wrong addresses."""

from __future__ import annotations

from typing import Any

from emulated_gpu import Checks, EmulatedCuda, use_library
from schedule_kernels import Kernel, agree

import relax_mlir as rx

TARGET = "cuda{arch=sm_80}"


def run_kernel(sch: rx.Schedule, kernel: Kernel) -> rx.runtime.Executable:
    """Compile the program, check it against numpy, and return it."""
    executable = rx.compile(sch.mod, TARGET)
    check_kernel(executable, sch, kernel)
    return executable


def check_kernel(executable: Any, sch: rx.Schedule, kernel: Kernel, seed: int = 0, order: str = "forward") -> None:
    """Check that the program computes what numpy computes. `order` is the order of the blocks."""
    # Values that are read before they are written are not used: LLVM loads sums before the test for the first step.
    library = EmulatedCuda(checks=Checks(unwritten=False, order=order))
    with use_library(library):
        try:
            agree(kernel, executable.copying()["main"], seed, sch.show())
        finally:
            library.check()


def code_of(executable: Any) -> str:
    return bytes(executable._artifact.devices[0].data).decode()


def threads_of(executable: Any) -> list[str]:
    return [line.partition(".maxntid")[2].strip() for line in code_of(executable).splitlines() if ".maxntid" in line]


def barriers_of(executable: Any) -> int:
    return code_of(executable).count("bar.sync")
