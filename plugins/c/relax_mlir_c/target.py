# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target c: C99, for systems that may have nothing but a C compiler."""

from __future__ import annotations

from relax_mlir.targets.core.registry import Target, TargetOption, register_target

from .backend import CBackend

OPTIONS = (
    TargetOption("name", "base name of files and public functions: net for net.h and net_main(); default model"),
    TargetOption("memory", "static (an array in the program, default) or heap (malloc, for unbounded sizes)"),
    TargetOption("loops", "tiles (many dot products at a time, default) or plain (one at a time, less code)"),
    TargetOption(
        "constants",
        "text (all in C), or incbin (constants of 4 KiB or more in a file that GCC's or Clang's assembler includes); "
        "by default text up to 4 MiB in total",
    ),
    TargetOption("ffi", "prefix of names under which functions are exported to tvm-ffi, too: ffi=net for net.main"),
)

TARGET = register_target(
    Target(
        "c",
        parents=("cpu",),
        # Functions that <math.h> lacks are computed as for CPUs.
        rules=("llvm",),
        keeps_views=True,
        legal=frozenset({"tir.call_extern", "tir.call_pure_extern"}),
        rule_modules=(f"{__package__}.intrinsics",),
        schedule_modules=(f"{__package__}.steps",),
        doc="C99 source files to read, keep and compile elsewhere.",
        options=OPTIONS,
        backend=CBackend,
    )
)
