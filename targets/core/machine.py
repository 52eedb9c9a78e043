# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processor that a target makes code for, as far as plans of loops have to know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """A processor: what it is, and how long and how many its vector registers are."""

    #: By LLVM's name: x86_64.
    architecture: str
    #: By LLVM's names: avx2, neon.
    features: frozenset[str]
    vector_bytes: int
    registers: int

    def lanes(self, bits: int) -> int:
        """Numbers of so many bits in a register."""
        return max(self.vector_bytes * 8 // bits, 1)
