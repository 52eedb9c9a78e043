# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meaning of OpenCL's statuses."""

from __future__ import annotations

from relax_mlir.runtime.devices import table_program

from .. import paged

NO_DEVICE, NO_PLATFORM = -1, -1001
FULL = frozenset({-4, -5, -6})
STATUSES: tuple[tuple[int, str, str], ...] = (
    *paged.OWN_STATUSES,
    (NO_DEVICE, "CL_DEVICE_NOT_FOUND", "the driver has no device"),
    (-2, "CL_DEVICE_NOT_AVAILABLE", "the device is in use, or lost"),
    (-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", "the device has no room for more"),
    (-5, "CL_OUT_OF_RESOURCES", "the device lacks what the work needs, or is lost: a kernel hung or failed"),
    (-6, "CL_OUT_OF_HOST_MEMORY", "the driver has no room on the host"),
    (-11, "CL_BUILD_PROGRAM_FAILURE", "the driver cannot make code of the kernels"),
    (-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "work on the device has failed"),
    (-30, "CL_INVALID_VALUE", "a value is wrong"),
    (-36, "CL_INVALID_COMMAND_QUEUE", "the queue is lost"),
    (-42, "CL_INVALID_BINARY", "the driver does not take the kernels' code"),
    (-46, "CL_INVALID_KERNEL_NAME", "there is no kernel of that name"),
    (-50, "CL_INVALID_ARG_VALUE", "a kernel's parameter is wrong"),
    (-52, "CL_INVALID_KERNEL_ARGS", "a kernel takes other parameters"),
    (-54, "CL_INVALID_WORK_GROUP_SIZE", "the device takes no work groups of that size"),
    (-55, "CL_INVALID_WORK_ITEM_SIZE", "the device takes no work groups of that size"),
    (NO_PLATFORM, "CL_PLATFORM_NOT_FOUND_KHR", "there is no driver"),
)


def status_text(status: int) -> str:
    """Return a status with its name."""
    return table_program.status_text(STATUSES, status)
