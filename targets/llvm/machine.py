# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the schedules assume of a CPU."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.cpu import host_features


@dataclass(frozen=True)
class Machine:
    """Vector registers: how long, and how many."""

    vector_bytes: int
    registers: int

    def lanes(self, bits: int) -> int:
        """Numbers of so many bits in a register."""
        return max(self.vector_bytes * 8 // bits, 1)


def machine_for(vector_bytes: int = 0) -> Machine:
    """The machine that this runs on, or one with vectors of so many bytes."""
    features = host_features()
    if vector_bytes == 0:
        vector_bytes = 64 if "avx512f" in features else 32 if "avx2" in features else 16
    # AVX-512 and Arm's vectors have 32 registers, older x86 has 16.
    return Machine(vector_bytes, 32 if vector_bytes == 64 or "neon" in features else 16)
