# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New tensors on a program's device, and copies between these and tensors of the CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ..foreign_types import ElementType, Tensor
from .loading import DeviceProgram

#: The code's functions: of a new tensor, and to wait.
EMPTY, SYNCHRONIZE = "__relax_device_empty", "__relax_device_synchronize"


class Copies:
    """Copies on the caller's stream of a device."""

    def __init__(self, program: DeviceProgram, empty: Callable[..., Tensor], synchronize: Callable[[], object]) -> None:
        self._driver, self._index, self._context = program.driver, program.device.number, program.context
        self._empty, self.synchronize = empty, synchronize
        self._label = ctypes.create_string_buffer(f"a copy on {program.device}".encode())

    def on_device(self) -> AbstractContextManager[None]:
        return self._driver.current(self._context)

    def upload(self, host: Tensor) -> Tensor:
        """A tensor on the device with the elements of one of the CPU; `wait` before that one goes."""
        device = self.empty(host.shape, host.dtype)
        self._copy("cuMemcpyHtoDAsync", device, host)
        return device

    def empty(self, shape: Sequence[int], dtype: ElementType) -> Tensor:
        """A new tensor on the device."""
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        element = dtype.type_code | dtype.bits << 8 | dtype.lanes << 16
        about = len(shape), element, element_bytes(dtype), ctypes.addressof(sizes)
        return self._empty(ctypes.addressof(self._label), *about)

    def download(self, host: Tensor, device: Tensor) -> None:
        self._copy("cuMemcpyDtoHAsync", host, device)

    def copy_2d(self, described: ctypes.Structure, *, waits: bool) -> None:
        """What a CUDA_MEMCPY2D says."""
        with self.on_device():
            self._driver.call("cuMemcpy2DAsync", ctypes.addressof(described), self._stream())
            if waits:
                self.wait()

    def wait(self) -> None:
        self._driver.call("cuStreamSynchronize", self._stream())

    def _copy(self, name: str, to: Tensor, source: Tensor) -> None:
        size = element_bytes(to.dtype)
        for extent in to.shape:
            size *= extent
        if size:
            self._driver.call(name, to.data_ptr(), source.data_ptr(), size, self._stream())

    def _stream(self) -> int:
        from ..ffi import tvm_ffi

        return int(tvm_ffi.get_raw_stream(tvm_ffi.device("cuda", self._index)))


def element_bytes(dtype: ElementType) -> int:
    return -(-dtype.bits * dtype.lanes // 8)
