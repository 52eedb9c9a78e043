# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's driver, libcuda.so.1, by ctypes. It is opened when the first program with kernels for it is loaded."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ...support.once import once
from ..errors import DeviceError

LIBRARY = "libcuda.so.1"
#: Values of CUresult.
OUT_OF_MEMORY, NO_DEVICE, UNSUPPORTED_PTX = 2, 100, 222
_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _MEMORY_POOLS = 75, 76, 115
#: Attribute of a memory pool: the amount of freed memory that stays with the process.
_RELEASE_THRESHOLD = 4

_PLACE, _INT, _UNSIGNED, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_size_t
#: Functions that are called from Python, with the types of their arguments. Device addresses are as wide as the host's.
_CALLED: dict[str, tuple[type[ctypes._CDataType], ...]] = {
    "cuInit": (_UNSIGNED,),
    "cuDriverGetVersion": (_PLACE,),
    "cuGetErrorName": (_INT, _PLACE),
    "cuGetErrorString": (_INT, _PLACE),
    "cuDeviceGetCount": (_PLACE,),
    "cuDeviceGet": (_PLACE, _INT),
    "cuDeviceGetName": (_PLACE, _INT, _INT),
    "cuDeviceGetAttribute": (_PLACE, _INT, _INT),
    "cuDeviceGetDefaultMemPool": (_PLACE, _INT),
    "cuMemPoolSetAttribute": (_PLACE, _INT, _PLACE),
    "cuDevicePrimaryCtxRetain": (_PLACE, _INT),
    "cuCtxPushCurrent": (_PLACE,),
    "cuCtxPopCurrent": (_PLACE,),
    "cuCtxSynchronize": (),
    "cuModuleLoadDataEx": (_PLACE, _PLACE, _UNSIGNED, _PLACE, _PLACE),
    "cuModuleUnload": (_PLACE,),
    "cuModuleGetFunction": (_PLACE, _PLACE, ctypes.c_char_p),
    "cuFuncGetAttribute": (_PLACE, _INT, _PLACE),
    "cuFuncSetAttribute": (_PLACE, _INT, _INT),
    "cuMemAlloc": (_PLACE, _SIZE),
    "cuMemFree": (_PLACE,),
    "cuMemHostAlloc": (_PLACE, _SIZE, _UNSIGNED),
    "cuMemFreeHost": (_PLACE,),
    "cuMemHostGetDevicePointer": (_PLACE, _PLACE, _UNSIGNED),
    "cuMemcpyHtoDAsync": (_PLACE, _PLACE, _SIZE, _PLACE),
    "cuMemcpyDtoHAsync": (_PLACE, _PLACE, _SIZE, _PLACE),
    "cuMemcpyDtoDAsync": (_PLACE, _PLACE, _SIZE, _PLACE),
    "cuStreamSynchronize": (_PLACE,),
    "cuEventCreate": (_PLACE, _UNSIGNED),
    "cuEventRecord": (_PLACE, _PLACE),
    "cuEventSynchronize": (_PLACE,),
    "cuEventElapsedTime": (_PLACE, _PLACE, _PLACE),
    "cuEventDestroy": (_PLACE,),
    "cuGraphExecDestroy": (_PLACE,),
    "cuMemcpy2DAsync": (_PLACE, _PLACE),
}
#: Functions with a current version under another name in the library. The plain name is the version of CUDA 3.
_SECOND = frozenset(
    [f"cuCtx{name}Current" for name in ("Push", "Pop")]
    + [f"cuMemcpy{way}{kind}" for way in ("HtoD", "DtoH", "DtoD") for kind in ("", "Async")]
    + ["cuMemAlloc", "cuMemFree", "cuMemHostGetDevicePointer", "cuEventDestroy", "cuMemcpy2DAsync"]
    + ["cuStreamBeginCapture", "cuStreamDestroy"]
)


class DriverError(DeviceError):
    """Error of a function of the driver."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class CudaDriver:
    """Functions of the driver, with exceptions for their errors. `library` has them as attributes, like a CDLL."""

    def __init__(self, library: object) -> None:
        self._library = library
        self._functions: dict[str, Callable[..., int]] = {}
        self._lock = threading.Lock()
        self._contexts: dict[int, int] = {}
        if (status := self._function("cuInit")(0)) == NO_DEVICE:
            raise DeviceError("no NVIDIA device: the driver has none (nvidia-smi and CUDA_VISIBLE_DEVICES tell why)")
        self._check("cuInit", status)

    def call(self, name: str, *arguments: object) -> None:
        """Call a function. Raises DriverError with the function's name, the error's name and its text."""
        self._check(name, self._function(name)(*arguments))

    def address(self, name: str, oldest: str = "11.2") -> int:
        """Return the address of a function for native code. Drivers of CUDA `oldest` and newer have the function."""
        for spelled in (f"{name}_v2", name) if name in _SECOND else (name,):
            if (found := getattr(self._library, spelled, None)) is not None:
                return ctypes.cast(found, ctypes.c_void_p).value or 0
        raise DeviceError(f"the NVIDIA driver has no {name}: it is too old, CUDA {oldest} is the oldest that will do")

    def version(self) -> tuple[int, int]:
        """Return the version of CUDA that the driver supports."""
        found = self.number("cuDriverGetVersion")
        return found // 1000, found % 1000 // 10

    def device_count(self) -> int:
        return self.number("cuDeviceGetCount")

    def device(self, index: int) -> Device:
        """Return a device. Raises DeviceError if there is none with this number."""
        if not (count := self.device_count()):
            raise DeviceError("no NVIDIA device: the driver has none (nvidia-smi and CUDA_VISIBLE_DEVICES tell why)")
        if index >= count:
            there = "only cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
            raise DeviceError(f"no device cuda:{index}: there is {there}")
        handle, name = self.number("cuDeviceGet", index), ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, len(name), handle)
        capability = [self.attribute(handle, which) for which in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR)]
        return Device(index, handle, name.value.decode(errors="replace"), capability[0], capability[1])

    def attribute(self, device: int, which: int) -> int:
        return self.number("cuDeviceGetAttribute", which, device)

    def context(self, device: int) -> int:
        """Return the device's primary context, which the process shares.

        It is never released: results outlive programs.
        """
        with self._lock:
            if device not in self._contexts:
                found = self.made("cuDevicePrimaryCtxRetain", device)
                self._keep_memory(device, found)
                self._contexts[device] = found
            return self._contexts[device]

    def _keep_memory(self, device: int, context: int) -> None:
        """Let the device's pool keep freed memory. Otherwise each call would request memory from the system again."""
        if not self.attribute(device, _MEMORY_POOLS):
            raise DeviceError("the device has no memory pools (cuMemAllocAsync), which programs take their memory from")
        all_of_it = ctypes.c_uint64(2**64 - 1)
        with self.current(context):
            pool = self.made("cuDeviceGetDefaultMemPool", device)
            self.call("cuMemPoolSetAttribute", pool, _RELEASE_THRESHOLD, ctypes.byref(all_of_it))

    @contextmanager
    def current(self, context: int) -> Iterator[None]:
        """Make the context current for this thread inside of the `with`."""
        self.call("cuCtxPushCurrent", context)
        try:
            yield
        finally:
            self.call("cuCtxPopCurrent", ctypes.byref(ctypes.c_void_p()))

    def _function(self, name: str) -> Callable[..., int]:
        if name not in self._functions:
            self._functions[name] = ctypes.CFUNCTYPE(_INT, *_CALLED[name])(self.address(name))
        return self._functions[name]

    def number(self, name: str, *arguments: object) -> int:
        """Return the integer that a function stores through its first argument."""
        found = ctypes.c_int()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value

    def made(self, name: str, *arguments: object) -> int:
        """Return the address or handle that a function stores through its first argument."""
        found = ctypes.c_void_p()
        self.call(name, ctypes.byref(found), *arguments)
        return found.value or 0

    def _check(self, name: str, status: int) -> None:
        if status:
            raise DriverError(f"{name}: {self.error_text(status)}", status)

    def error_text(self, status: int) -> str:
        """Return an error's name and the driver's description."""
        texts = [self._error_string(name, status) for name in ("cuGetErrorName", "cuGetErrorString")]
        return ": ".join(filter(None, texts)) or f"unknown error {status}"

    def _error_string(self, name: str, status: int) -> str:
        found = ctypes.c_char_p()
        failed = self._function(name)(status, ctypes.byref(found))
        return "" if failed or found.value is None else found.value.decode(errors="replace")


class Device(NamedTuple):
    """Device of the driver: its number, handle, name and compute capability."""

    number: int
    handle: int
    name: str
    major: int
    minor: int

    def __str__(self) -> str:
        return f"cuda:{self.number}"

    def table(self) -> str:
        return f"{self} ({self.name})\n  {'architecture':<20}{self.arch}"

    @property
    def arch(self) -> str:
        return f"sm_{self.major}{self.minor}"


# ---- driver of the process ----

_in_place: list[CudaDriver] = []


def driver() -> CudaDriver:
    """Return the driver, opened once. Raises DeviceError without a driver or a device."""
    return _in_place[-1] if _in_place else _load_system_driver()


@once
def _load_system_driver() -> CudaDriver:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise DeviceError(f"no NVIDIA driver: {LIBRARY} cannot be loaded: {error}") from None
    return CudaDriver(library)


@contextmanager
def use_library(library: object) -> Iterator[CudaDriver]:
    """Replace the driver by a library for programs that are loaded inside of the `with`. For tests."""
    _in_place.append(CudaDriver(library))
    try:
        yield _in_place[-1]
    finally:
        _in_place.pop()
