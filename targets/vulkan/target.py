# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by Vulkan."""

from __future__ import annotations

from ..core.registry import Target
from ..spirv.options import MATRICES, OPTIONS, VERSION
from .backend import VulkanBackend

TARGET = Target(
    "vulkan",
    parents=("spirv",),
    host="llvm",
    schedule_modules=(f"{__package__}.schedule",),
    doc="Devices by Vulkan, by SPIR-V.",
    options=(*OPTIONS, MATRICES, VERSION),
    backend=VulkanBackend,
)
