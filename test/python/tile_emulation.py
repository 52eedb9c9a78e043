# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for CPUs with tiles (AMX) on CPUs without tiles, by the reference's definitions of the instructions."""

from __future__ import annotations

import re
from typing import Any

from relax_mlir.interpreter.instructions import emulate_instructions
from relax_mlir.runtime import Executable

import relax_mlir as rx

#: A CPU that has all of them.
CPU = "triple=x86_64-linux-gnu cpu=graniterapids"
_CALL = re.compile(r'llvm\.call_intrinsic "llvm\.x86\.(t\w+)\.internal"\(')


def compiled(module: rx.Module, options: str = "cores=1", **how: Any) -> tuple[Executable, set[str]]:
    """Compile for the CPU with tiles, but run on this one. Also return the names of its tile instructions."""
    lowered = rx.lower(module, f"llvm{{{CPU} {options}}}", **how)
    names = set(_CALL.findall(str(lowered)))
    emulate_instructions(lowered.operation)
    return rx.compile(lowered, "llvm", pipeline=rx.stages("llvm").only("to-llvm")), names
