# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The vector registers of the CPU that code is made for, this one or another."""

from __future__ import annotations

from collections.abc import Set

from ..core.backend import ChosenTarget
from ..core.machine import Machine
from .objects.code_target import code_target


def machine(target: ChosenTarget) -> Machine:
    """The machine by the target's options; without any it is this one."""
    code = code_target(target)
    vector_bytes = code.vector_bytes or _longest_vector(code.architecture, code.enabled)
    return Machine(code.architecture, code.enabled, vector_bytes, _registers(code.architecture, vector_bytes))


def _longest_vector(architecture: str, features: Set[str]) -> int:
    if architecture == "riscv64":
        # Without vectors pairs of numbers: 16 of them fill the registers that there are.
        return 16 if "v" in features else 8
    return 64 if "avx512f" in features else 32 if "avx2" in features else 16


def _registers(architecture: str, vector_bytes: int) -> int:
    """AVX-512 and NEON have 32, older x86 has 16, and what has more is not hurt by using fewer."""
    return 32 if vector_bytes >= 64 or (architecture == "aarch64" and vector_bytes <= 16) else 16
