# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles scheduled PrimFuncs for cuda and runs them where races, missing barriers and wrong addresses are found."""

from __future__ import annotations

from typing import Any

from emulated_gpu import Checks, EmulatedCuda, use_library
from schedule_kernels import Kernel, agree

import relax_mlir as rx

TARGET = "cuda{arch=sm_80}"


def run_kernel(sch: rx.Schedule, kernel: Kernel) -> rx.runtime.Executable:
    """The program, which computes what numpy computes."""
    executable = rx.compile(sch.mod, TARGET)
    check_kernel(executable, sch, kernel)
    return executable


def check_kernel(executable: Any, sch: rx.Schedule, kernel: Kernel, seed: int = 0, order: str = "forward") -> None:
    """It computes what numpy computes; `order`: of the blocks."""
    # What is read before it is written is not used: LLVM loads sums before it asks whether they are the first.
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
