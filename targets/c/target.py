# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""C99, for whoever has a compiler of C and maybe nothing else."""

from __future__ import annotations

from ..core.registry import Target, TargetOption
from .backend import CBackend

OPTIONS = (
    TargetOption("name", "what files and public functions are called: net for net.h and net_main(); model without it"),
    TargetOption("memory", "static (an array of the program, the usual) or heap (malloc, where sizes have no bound)"),
    TargetOption("loops", "tiles (sums of products many at a time, the usual) or plain (one at a time, less code)"),
    TargetOption(
        "constants",
        "text (all in C), or incbin (those of 4 KiB and more in a file of their own, taken in by the assembler of "
        "GCC or Clang); without it text up to 4 MiB together",
    ),
    TargetOption("ffi", "a name: functions are exported to tvm-ffi too, by it and theirs, name.main"),
)

TARGET = Target(
    "c",
    parents=("cpu",),
    # What <math.h> lacks is computed as for CPUs.
    rules=("llvm",),
    keeps_views=True,
    legal=frozenset({"tir.call_extern", "tir.call_pure_extern"}),
    rule_modules=(f"{__package__}.intrinsics",),
    schedule_modules=(f"{__package__}.steps",),
    doc="C99 to read, to keep and to compile elsewhere: a folder of source files.",
    options=OPTIONS,
    backend=CBackend,
)
