# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registration of the kinds of devices vulkan and opencl. Their programs are loaded at the first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.runtime.device_kinds import register_device

if TYPE_CHECKING:
    from relax_mlir.runtime.devices.device_program import DeviceProgram


def _vulkan() -> type[DeviceProgram]:
    from .vulkan_runtime.on_device import VulkanProgram

    return VulkanProgram


def _opencl() -> type[DeviceProgram]:
    from .opencl_runtime.on_device import OpenclProgram

    return OpenclProgram


register_device("vulkan", _vulkan)
register_device("opencl", _opencl)
