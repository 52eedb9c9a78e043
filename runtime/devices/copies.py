# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New tensors on a program's device, and copies between them and tensors of the CPU."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

from ..arrays import CPU
from ..foreign_types import ElementType, Tensor
from .device_program import DeviceProgram

#: Functions of the code: to create a tensor, and to wait.
EMPTY, SYNCHRONIZE = "__relax_device_empty", "__relax_device_synchronize"


R = TypeVar("R")


class Copies:
    """Copies on the caller's stream of a device."""

    def __init__(self, program: DeviceProgram, empty: Callable[..., Tensor], synchronize: Callable[[], object]) -> None:
        self._program = program
        self._empty, self.synchronize = empty, synchronize
        self._label = ctypes.create_string_buffer(f"a copy on {program.name}".encode())

    def timed(self, times: list[tuple[str, int, int]]) -> Copies:
        """Return these copies with a log: each operation appends its name, start and end to the list."""
        return _TimedCopies(self, times)

    def on_device(self) -> AbstractContextManager[None]:
        return self._program.current()

    def upload(self, host: Tensor) -> Tensor:
        """Return a copy of a CPU tensor on the device. Call `wait` before the source is freed."""
        device = self.empty(host.shape, host.dtype)
        self._copy(self._program.write, device, host)
        return device

    def empty(self, shape: Sequence[int], dtype: ElementType) -> Tensor:
        """Return a new tensor on the device."""
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        element = dtype.type_code | dtype.bits << 8 | dtype.lanes << 16
        about = len(shape), element, element_bytes(dtype), ctypes.addressof(sizes)
        return self._empty(ctypes.addressof(self._label), *about)

    def download(self, host: Tensor, device: Tensor) -> None:
        self._copy(self._program.read, host, device)

    def copy_rows(self, to: Tensor, to_pitch: int, source: Tensor, pitch: int, width: int, height: int) -> None:
        """Copy rows of `width` bytes with a pitch on each side. Waits if one side is on the CPU."""
        from_host, to_host = (tensor.__dlpack_device__()[0] == CPU for tensor in (source, to))
        program = self._program
        copy = program.write if from_host else program.read if to_host else program.copy
        with self.on_device():
            program.copy_rows(copy, (to.data_ptr(), to_pitch), (source.data_ptr(), pitch), width, height)
            if from_host or to_host:
                self.wait()

    def copy_bytes(self, to: int, source: int, size: int) -> None:
        """Copy bytes on the device. Both ranges may overlap."""
        with self.on_device():
            if abs(to - source) < size:
                between = self.empty((size,), _bytes_type())
                self._program.copy(between.data_ptr(), source, size)
                source = between.data_ptr()
            self._program.copy(to, source, size)

    @property
    def name(self) -> str:
        return self._program.name

    @property
    def device(self) -> tuple[int, int]:
        """Return DLPack's kind and number of the device."""
        return self._program.dlpack_kind, self._program.number

    def wait(self) -> None:
        self._program.wait()

    def _copy(self, copy: Callable[[int, int, int], None], to: Tensor, source: Tensor) -> None:
        size = element_bytes(to.dtype)
        for extent in to.shape:
            size *= extent
        if size:
            copy(to.data_ptr(), source.data_ptr(), size)


class _TimedCopies(Copies):
    def __init__(self, copies: Copies, times: list[tuple[str, int, int]]) -> None:
        self.__dict__ = dict(copies.__dict__)
        self._times, synchronize = times, copies.synchronize
        self.synchronize = lambda: self._time("wait for kernels", synchronize)

    def upload(self, host: Tensor) -> Tensor:
        return self._time("copy to the device", super().upload, host)

    def download(self, host: Tensor, device: Tensor) -> None:
        self._time("copy from the device", super().download, host, device)

    def wait(self) -> None:
        self._time("wait for copies", super().wait)

    def _time(self, what: str, function: Callable[..., R], *arguments: object) -> R:
        begin = time.perf_counter_ns()
        result = function(*arguments)
        self._times.append((what, begin, time.perf_counter_ns()))
        return result


def element_bytes(dtype: ElementType) -> int:
    return -(-dtype.bits * dtype.lanes // 8)


def _bytes_type() -> ElementType:
    from ..ffi import tvm_ffi

    return tvm_ffi.dtype("uint8")
