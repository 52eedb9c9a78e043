# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Open device in the form that code uses: the page of host_library/opencl.py, one per device of a process."""

from __future__ import annotations

import ctypes
import threading

from relax_mlir.runtime.errors import DeviceError

from ..paged import Page
from .driver import OpenclDevice, OpenclDriver

#: Functions that the code calls, in the page's order, from word 24 on.
_CALLED = (
    "clSVMAlloc", "clSVMFree", "clEnqueueSVMMemcpy", "clFinish", "clSetKernelArg", "clSetKernelExecInfo",
    "clEnqueueNDRangeKernel",
)  # fmt: skip
_FUNCTIONS, _WORDS, _MOST_CHUNKS = 24, 32, 1024
# Bits of CL_DEVICE_SVM_CAPABILITIES, and flags of clSVMAlloc: CL_MEM_READ_WRITE, CL_MEM_SVM_FINE_GRAIN_BUFFER.
_COARSE, _FINE = 1, 2
_FINE_GRAINED = 1 | 1 << 10


class OpenDevice:
    """Open device, which lives as long as the process: results outlive programs."""

    def __init__(self, driver: OpenclDriver, device: OpenclDevice) -> None:
        _check(device)
        self.driver, self.device = driver, device
        handle = (ctypes.c_void_p * 1)(device.handle)
        self.context = driver.made("clCreateContext", None, 1, handle, None, None)
        queue = driver.made("clCreateCommandQueueWithProperties", self.context, device.handle, None)
        self.page = Page(_WORDS, device.largest)
        words = self.page.words
        self._chunks = (ctypes.c_void_p * _MOST_CHUNKS)()
        words[16], words[17], words[20], words[21] = self.context, queue, ctypes.addressof(self._chunks), _MOST_CHUNKS
        for place, name in enumerate(_CALLED):
            words[_FUNCTIONS + place] = driver.address(name)

    def host_visible(self, size: int) -> int:
        """Allocate memory with the same address for host and device. Raises DeviceError."""
        allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint32)
        found = allocate(self.driver.address("clSVMAlloc"))(self.context, _FINE_GRAINED, size, 0)
        if not found:
            raise DeviceError(f"{self.device} has no room for {size} bytes that the host sees")
        return int(found)

    def free(self, address: int) -> None:
        self.driver.call("clSVMFree", self.context, address)


def _check(device: OpenclDevice) -> None:
    if device.shared_virtual & (_COARSE | _FINE) != _COARSE | _FINE:
        raise DeviceError(f"{device} ({device.version}) has no fine-grained shared virtual memory, which programs need")


_open_devices: dict[int, OpenDevice] = {}
_lock = threading.Lock()


def open_device(driver: OpenclDriver, number: int) -> OpenDevice:
    """Return the process's open device of a number. Raises DeviceError."""
    with _lock:
        if number not in _open_devices:
            _open_devices[number] = OpenDevice(driver, driver.device(number))
        return _open_devices[number]
