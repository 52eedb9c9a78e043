# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for CPUs with dot products and tiles on CPUs without these, by the reference's definitions."""

from __future__ import annotations

import re
from typing import Any

from relax_mlir.runtime import Executable
from relax_mlir_proof.interpreter.instructions import emulate_instructions

import relax_mlir as rx

#: A CPU that has all tile instructions.
TILES = "triple=x86_64-linux-gnu cpu=graniterapids"
_CALL = re.compile(r'llvm\.call_intrinsic "llvm\.((?:x86|aarch64)\.[\w.]+)"')


def instructions(lowered: rx.Module) -> set[str]:
    """Return the names of the CPU's instructions that a lowered module calls."""
    return set(_CALL.findall(str(lowered)))


def compiled(module: rx.Module, target: str, opt_level: int = 2, **how: Any) -> tuple[Executable, set[str]]:
    """Compile for another CPU, but run on this one. Also return the names of the emulated instructions."""
    lowered = rx.lower(module, target, opt_level=opt_level, **how)
    names = instructions(lowered)
    emulate_instructions(lowered.operation)
    stages = rx.stages("llvm").only("to-llvm")
    program = rx.compile(lowered, "llvm", pipeline=stages, opt_level=opt_level, jobs=1, cache=False)
    return program, names - instructions(lowered)


def compiled_for_tiles(module: rx.Module, options: str = "cores=1", **how: Any) -> tuple[Executable, set[str]]:
    """Compile for the CPU with tiles. Its instructions have the names of Intel's manual."""
    program, names = compiled(module, f"llvm{{{TILES} {options}}}", **how)
    found = (re.fullmatch(r"x86\.(t\w+)\.internal", name) for name in names)
    return program, {each[1] for each in found if each is not None}
