# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices by Vulkan."""

from __future__ import annotations

from ..core.registry import Target
from ..spirv.options import OPTIONS, VERSION
from .backend import VulkanBackend

TARGET = Target(
    "vulkan",
    parents=("spirv",),
    host="llvm",
    doc="Devices by Vulkan, by SPIR-V.",
    options=(*OPTIONS, VERSION),
    backend=VulkanBackend,
)
