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
    """The machine that this runs on; or one with vectors of so many bytes, whatever this one is."""
    if vector_bytes:
        return Machine(vector_bytes, _registers(vector_bytes))
    features = host_features()
    if "neon" in features:
        return Machine(16, 32)
    vector_bytes = 64 if "avx512f" in features else 32 if "avx2" in features else 16
    return Machine(vector_bytes, _registers(vector_bytes))


def _registers(vector_bytes: int) -> int:
    """AVX-512 has 32, older x86 has 16, and what has more is not hurt by using fewer."""
    return 32 if vector_bytes >= 64 else 16
