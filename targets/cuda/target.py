# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target cuda: NVIDIA's GPUs, by PTX."""

from __future__ import annotations

from ..core.registry import Target
from .backend import CudaBackend
from .objects.arch import OPTIONS

TARGET = Target(
    "cuda",
    parents=("gpu",),
    host="llvm",
    rule_modules=(f"{__package__}.intrinsics.libdevice", f"{__package__}.legalize_attention"),
    schedule_modules=(f"{__package__}.schedule",),
    doc="NVIDIA's GPUs, programmed in PTX.",
    options=OPTIONS,
    backend=CudaBackend,
)
