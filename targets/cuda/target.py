# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's GPUs, by PTX."""

from __future__ import annotations

from ..core.registry import Target
from .arch import OPTIONS

TARGET = Target(
    "cuda",
    parents=("gpu",),
    rule_modules=(f"{__package__}.intrinsics.libdevice",),
    schedule_modules=(f"{__package__}.schedule",),
    doc="NVIDIA's GPUs, by PTX.",
    options=OPTIONS,
)
