# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a program on a device of NVIDIA's driver."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial

from ..artifact import DeviceCode
from ..devices.device_program import DeviceProgram, Rows
from ..errors import ArtifactError, DeviceError
from ..manifest import Signature
from .driver import OUT_OF_MEMORY, UNSUPPORTED_PTX, Device, DriverError, driver
from .graphs import graphs_of

KIND = "cuda"
#: Driver functions that code calls, in the order of its table (targets/host/library/device.py), from position 6.
_CALLED = (
    "cuCtxPushCurrent", "cuCtxPopCurrent", "cuLaunchKernel", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemcpyHtoDAsync",
    "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuStreamSynchronize", "cuCtxSynchronize", "cuGetErrorName",
    "cuGetErrorString", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuEventDestroy",
)  # fmt: skip
#: Function that encodes tensor maps, at the table's position after graphs, and the first driver version with it.
_MAKES_MAPS, _FIRST_WITH_MAPS = "cuTensorMapEncodeTiled", "12.0"
#: Instructions that read tensor maps. Machine code for a device that has them may contain some.
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)")
_READS_MAPS, _HAS_MAPS = b"cp.async.bulk.tensor", "sm_90a"
_PORTABLE_AND_MAPPED = 3
_LOG_BYTES, _SHOWN_LINES = 8192, 5
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6
_STATIC_SHARED, _MOST_DYNAMIC_SHARED = 1, 8
_MOST_SHARED_IN_A_BLOCK = 97
#: Marker in code for kernels with shared memory of a size that the launch states.
_DYNAMIC_SHARED = b".extern .shared"


def _side(name: str) -> list[tuple[str, type[ctypes.c_size_t | ctypes.c_int | ctypes.c_void_p]]]:
    return [
        (f"{name}_x", ctypes.c_size_t), (f"{name}_y", ctypes.c_size_t), (f"{name}_kind", ctypes.c_int),
        (f"{name}_host", ctypes.c_void_p), (f"{name}_device", ctypes.c_void_p), (f"{name}_array", ctypes.c_void_p),
        (f"{name}_pitch", ctypes.c_size_t),
    ]  # fmt: skip


class _Copy2D(ctypes.Structure):
    """Structure CUDA_MEMCPY2D."""

    _fields_ = (*_side("from"), *_side("to"), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t))


_HOST, _DEVICE = 1, 2


class CudaProgram(DeviceProgram):
    """State of a program on a device of NVIDIA's driver."""

    kind, dlpack_kind, called, has_graphs = KIND, 2, _CALLED, True

    @classmethod
    def devices(cls) -> list[str]:
        return [driver().device(number).table() for number in range(driver().device_count())]

    def open(self, codes: Sequence[DeviceCode], signatures: Sequence[Signature], graphs: bool | None) -> None:
        self.driver = driver()
        self.device = self.driver.device(self.number)
        self._chosen = _codes_for(self.device, codes)
        self._addresses = [self.driver.address(name) for name in _CALLED]
        self.graphs = graphs_of(signatures, graphs, self.driver, self.device)
        self.makes_maps = self.driver.address(_MAKES_MAPS, _FIRST_WITH_MAPS) if _need_maps(codes) else 0
        self._context = self.driver.context(self.device.handle)

    def load(self, codes: Sequence[DeviceCode]) -> list[int]:
        """Load the first code that the driver accepts.

        A driver that is older than the compiler of the machine code refuses that code, and compiles PTX.
        """
        kernels = self._load_first()
        if self.graphs is not None:
            self._undo.append(self.graphs.close)
        return kernels

    def _load_first(self) -> list[int]:
        *others, last = self._chosen
        for code in others:
            with suppress(_RefusedError):
                return self._load(code)
        return self._load(last)

    @property
    def label(self) -> str:
        return f"{self.device} ({self.device.name})"

    @property
    def context(self) -> int:
        return self._context

    def functions(self) -> Sequence[int]:
        return self._addresses

    def current(self) -> AbstractContextManager[None]:
        return self.driver.current(self._context)

    def allocate(self, size: int) -> int:
        try:
            found = self.driver.made("cuMemAlloc", size)
        except DriverError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            raise MemoryError(str(error)) from None
        self._undo.append(partial(self.driver.call, "cuMemFree", found))
        return found

    def allocate_shared(self, size: int) -> tuple[int, int]:
        host = self.driver.made("cuMemHostAlloc", size, _PORTABLE_AND_MAPPED)
        self._undo.append(partial(self.driver.call, "cuMemFreeHost", host))
        return host, self.driver.made("cuMemHostGetDevicePointer", host, 0)

    def write(self, to: int, source: int, size: int) -> None:
        self.driver.call("cuMemcpyHtoDAsync", to, source, size, self._stream())

    def read(self, to: int, source: int, size: int) -> None:
        self.driver.call("cuMemcpyDtoHAsync", to, source, size, self._stream())

    def copy(self, to: int, source: int, size: int) -> None:
        self.driver.call("cuMemcpyDtoDAsync", to, source, size, self._stream())

    def copy_rows(self, copy: Callable[[int, int, int], None], to: Rows, source: Rows, width: int, height: int) -> None:
        """Copy rows by one call of the driver."""
        sides: list[int | None] = []
        for (place, pitch), is_host in ((source, copy == self.write), (to, copy == self.read)):
            places = (place, None) if is_host else (None, place)
            sides += [0, 0, _HOST if is_host else _DEVICE, *places, None, pitch]
        described = _Copy2D(*sides, width, height)
        self.driver.call("cuMemcpy2DAsync", ctypes.addressof(described), self._stream())

    def wait(self) -> None:
        self.driver.call("cuStreamSynchronize", self._stream())

    def wait_for_all(self) -> None:
        self.driver.call("cuCtxSynchronize")

    def _stream(self) -> int:
        from ..ffi import tvm_ffi

        return int(tvm_ffi.get_raw_stream(tvm_ffi.device(KIND, self.number)))

    def _load(self, code: DeviceCode) -> list[int]:
        """Return the handles of the kernels."""
        data = bytes(code.data) + b"\0"
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        try:
            module = self.driver.made("cuModuleLoadDataEx", data, 2, options, values)
        except DriverError as error:
            raise self._explain(code, error, log.value.decode(errors="replace")) from None
        self._undo.append(partial(self.driver.call, "cuModuleUnload", module))
        kernels = [self._kernel(module, name) for name in code.kernels]
        if code.format != "ptx" or _DYNAMIC_SHARED in data:
            for kernel in kernels:
                self._allow_shared(kernel)
        return kernels

    def _explain(self, code: DeviceCode, error: DriverError, log: str) -> DeviceError:
        if error.status == OUT_OF_MEMORY:
            return DeviceError(f"{self.device} ({self.device.name}) has no room for the program's kernels: {error}")
        text = f"{self.device} ({self.device.name}) refuses {code.label} ({code.format}): {error}"
        if error.status == UNSUPPORTED_PTX:
            major, minor = self.driver.version()
            text += f"; the driver is of CUDA {major}.{minor}, which is too old for them: a newer one is needed"
        lines = [line for line in log.splitlines() if line.strip()][:_SHOWN_LINES]
        return _RefusedError("\n  ".join([text, *lines]))

    def _kernel(self, module: int, name: str) -> int:
        try:
            return self.driver.made("cuModuleGetFunction", module, name.encode())
        except DriverError as error:
            raise ArtifactError(f"the code for the device has no kernel '{name}': {error}") from None

    def _allow_shared(self, kernel: int) -> None:
        """Let launches request all the shared memory that a block can have, which is more than the default of 48 KB."""
        static = self.driver.number("cuFuncGetAttribute", _STATIC_SHARED, kernel)
        most = self.driver.attribute(self.device.handle, _MOST_SHARED_IN_A_BLOCK) - static
        self.driver.call("cuFuncSetAttribute", kernel, _MOST_DYNAMIC_SHARED, most)


class _RefusedError(DeviceError):
    """Refusal of code by the driver."""


def _codes_for(device: Device, codes: Sequence[DeviceCode]) -> list[DeviceCode]:
    """Return the codes that run on a device, machine code first. Raises DeviceError if there is none."""
    for code in codes:
        if not _ARCH.fullmatch(code.arch):
            raise ArtifactError(f"the code for the device is for '{code.arch}', which this release does not know")
    if not (device_codes := [code for code in codes if not _reason_against(code, device)]):
        raise DeviceError(_reason_against(codes[0], device))
    return sorted(device_codes, key=lambda code: code.format == "ptx")


def _need_maps(codes: Sequence[DeviceCode]) -> bool:
    """Check whether the code needs tensor maps, from its PTX. Without PTX, machine code may need them."""
    texts = [code for code in codes if code.format == "ptx"]
    return any(_READS_MAPS in bytes(text.data) for text in texts) if texts else codes[0].arch == _HAS_MAPS


def _reason_against(code: DeviceCode, device: Device) -> str:
    """Return why code does not run on a device.

    PTX also runs on newer devices; a cubin or arch-specific code does not.
    """
    major, minor, own = _ARCH.fullmatch(code.arch).groups()  # type: ignore[union-attr]
    wanted, had = (int(major), int(minor)), (device.major, device.minor)
    if had == wanted if own else had >= wanted and (code.format == "ptx" or had[0] == wanted[0]):
        return ""
    newer = "" if own else f" to sm_{major}9" if code.format != "ptx" else " and newer"
    return f"{code.label}, run on {code.arch}{newer}; {device} ({device.name}) is {device.arch}"
