# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meaning of Vulkan's statuses."""

from __future__ import annotations

from relax_mlir.runtime.devices import table_program

from .. import paged

OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, LOST = -1, -2, -4
INCOMPATIBLE_DRIVER = -9
STATUSES: tuple[tuple[int, str, str], ...] = (
    *paged.OWN_STATUSES,
    (OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", "the driver has no room on the host"),
    (OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", "the device has no room for more"),
    (-3, "VK_ERROR_INITIALIZATION_FAILED", "the driver could not be set up"),
    (
        LOST,
        "VK_ERROR_DEVICE_LOST",
        "the device is lost: a kernel hung or failed, and it does no more work for this process",
    ),
    (-5, "VK_ERROR_MEMORY_MAP_FAILED", "memory could not be mapped"),
    (-6, "VK_ERROR_LAYER_NOT_PRESENT", "a layer that was asked for (VK_INSTANCE_LAYERS) is not installed"),
    (-7, "VK_ERROR_EXTENSION_NOT_PRESENT", "the driver lacks an extension"),
    (-8, "VK_ERROR_FEATURE_NOT_PRESENT", "the device lacks a feature"),
    (INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", "no driver for this version of Vulkan"),
    (-10, "VK_ERROR_TOO_MANY_OBJECTS", "the driver has too many objects"),
    (-13, "VK_ERROR_UNKNOWN", "the driver does not say what is wrong"),
    (-1000012000, "VK_ERROR_INVALID_SHADER_NV", "the driver does not take a kernel's code"),
)


def status_text(status: int) -> str:
    """Return a status with its name."""
    return table_program.status_text(STATUSES, status)
