# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How code is made for Vulkan."""

from __future__ import annotations

from typing import ClassVar

from ..spirv.backend import SpirvBackend


class VulkanBackend(SpirvBackend):
    """Kernels by SPIR-V for Vulkan."""

    api: ClassVar[str] = "vulkan"
