# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the host library for Vulkan and OpenCL, with tables of the functions that drivers lack."""

from __future__ import annotations

#: Names of the units' modules, in the order of their dependencies.
VULKAN_UNITS = [f"{__name__}.{name}" for name in ("device_memory", "vulkan_commands", "vulkan", "vulkan_graphs")]
OPENCL_UNITS = [f"{__name__}.{name}" for name in ("device_memory", "opencl")]
