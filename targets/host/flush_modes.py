# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control registers of CPUs by which a thread flushes denormal numbers to zero."""

from __future__ import annotations

from typing import NamedTuple


class FlushMode(NamedTuple):
    """Control register of an architecture, and the bits that flush denormal operands and results."""

    #: LLVM's intrinsics that read and write the register.
    read: str
    write: str
    bits: int
    #: Bits of the register.
    width: int
    #: True if the intrinsics take the address of the value instead of the value.
    is_in_memory: bool


#: By LLVM's architecture name. x86: DAZ (bit 6) and FTZ (bit 15) of MXCSR. Arm: FZ (bit 24) of FPCR. RISC-V has no such
#: mode.
FLUSH_MODES = {
    "x86_64": FlushMode("llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr", 1 << 15 | 1 << 6, 32, is_in_memory=True),
    "aarch64": FlushMode("llvm.aarch64.get.fpcr", "llvm.aarch64.set.fpcr", 1 << 24, 64, is_in_memory=False),
}


def keep_text(architecture: str) -> str:
    """Return the instructions that clear a thread's flush bits, in the LLVM dialect: none without such bits."""
    if (mode := FLUSH_MODES.get(architecture)) is None:
        return ""
    type_ = f"i{mode.width}"
    clear = f"""%others = llvm.mlir.constant({~mode.bits} : {type_}) : {type_}
  %cleared = llvm.and %mode, %others : {type_}"""
    if not mode.is_in_memory:
        return f"""%mode = llvm.call_intrinsic "{mode.read}"() : () -> {type_}
  {clear}
  llvm.call_intrinsic "{mode.write}"(%cleared) : ({type_}) -> ()"""
    return f"""%one = llvm.mlir.constant(1 : i64) : i64
  %place = llvm.alloca %one x {type_} : (i64) -> !ptr
  llvm.call_intrinsic "{mode.read}"(%place) : (!ptr) -> ()
  %mode = llvm.load %place : !ptr -> {type_}
  {clear}
  llvm.store %cleared, %place : {type_}, !ptr
  llvm.call_intrinsic "{mode.write}"(%place) : (!ptr) -> ()"""
