# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation for Vulkan."""

from __future__ import annotations

from typing import ClassVar

from ..backend import SpirvBackend


class VulkanBackend(SpirvBackend):
    """Backend that compiles kernels to SPIR-V for Vulkan."""

    api: ClassVar[str] = "vulkan"
