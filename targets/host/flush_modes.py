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
