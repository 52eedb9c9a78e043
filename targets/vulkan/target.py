# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target vulkan: Vulkan devices."""

from __future__ import annotations

from ..core.registry import Target
from ..spirv.options import MATRICES, OPTIONS, VERSION
from .backend import VulkanBackend

TARGET = Target(
    "vulkan",
    parents=("spirv",),
    host="llvm",
    schedule_modules=(f"{__package__}.schedule",),
    doc="Vulkan devices, programmed in SPIR-V.",
    options=(*OPTIONS, MATRICES, VERSION),
    backend=VulkanBackend,
)
