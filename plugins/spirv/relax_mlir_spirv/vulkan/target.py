# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target vulkan: Vulkan devices."""

from __future__ import annotations

from relax_mlir.targets.core.registry import Target, register_target
from relax_mlir.targets.host.units import register_library

from ..host_library import VULKAN_UNITS
from ..options import MATRICES, OPTIONS, VERSION
from .backend import VulkanBackend

register_library(*VULKAN_UNITS)
TARGET = register_target(
    Target(
        "vulkan",
        parents=("spirv",),
        host="llvm",
        schedule_modules=(f"{__package__}.schedule",),
        doc="Vulkan devices, programmed in SPIR-V.",
        options=(*OPTIONS, MATRICES, VERSION),
        backend=VulkanBackend,
    )
)
