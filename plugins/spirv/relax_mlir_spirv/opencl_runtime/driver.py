# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenCL's loader, libOpenCL.so.1, by ctypes, and its devices.

It is opened when the first program for them is loaded.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from relax_mlir.runtime.errors import DeviceError
from relax_mlir.support.byte_sizes import byte_text
from relax_mlir.support.once import once

from ..device_kernels import USUAL_SUBGROUP, fitting_target
from .statuses import NO_DEVICE, NO_PLATFORM, status_text

LIBRARY = "libOpenCL.so.1"
#: Intel's runtime for CPUs in wheels: its driver, and the libraries that the driver needs but does not find.
_WHEEL_DRIVER, _WHEEL_NEEDS = "libintelocl.so", ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so")
_INSTALL = "pip install intel-opencl-rt intel-cmplr-lib-rt has one for CPUs"
_ALL_TYPES = 0xFFFFFFFF
TYPES = {2: "CPU", 4: "GPU", 8: "accelerator"}
# cl_device_info
_TYPE, _UNITS, _MOST_THREADS, _MOST_ALLOCATION, _MEMORY, _SHARED = 0x1000, 0x1002, 0x1004, 0x1010, 0x101F, 0x1023
_NAME, _EXTENSIONS, _VERSION, _DOUBLE, _IL, _SVM, _SUBGROUP_SIZES = (
    0x102B,
    0x1030,
    0x102F,
    0x1032,
    0x105B,
    0x1053,
    0x4108,
)
# CL_DEVICE_SINGLE_FP_CONFIG, and its bit for divisions and roots.
_SINGLE, _EXACT = 0x101B, 1 << 7
_GIVES_HANDLE = frozenset(
    {
        *("clCreateContext", "clCreateCommandQueueWithProperties", "clCreateProgramWithIL"),
        *("clCreateProgramWithSource", "clCreateKernel", "clSVMAlloc"),
    }
)
_VOID = frozenset({"clSVMFree"})
#: Extension of f64. Some devices support f64 without listing it.
FLOATS_OF_64 = "cl_khr_fp64"


class OpenclError(DeviceError):
    """Error of a function of OpenCL."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class OpenclDevice(NamedTuple):
    """Device, in the order in which the drivers list devices."""

    number: int
    handle: int
    name: str
    type: int
    version: str
    extensions: frozenset[str]
    has_double: bool
    #: The device's text on supported versions of SPIR-V; empty without support.
    spirv: str
    #: Bits of CL_DEVICE_SVM_CAPABILITIES.
    shared_virtual: int
    memory: int
    largest: int
    local_memory: int
    threads: int
    units: int
    #: Subgroup sizes that kernels may request; empty if the device does not report them.
    subgroup_sizes: tuple[int, ...]
    #: True if the device can divide f32 and compute roots as in IEEE 754.
    divides_exactly: bool

    def __str__(self) -> str:
        return f"opencl:{self.number} ({self.name})"

    def has(self, extension: str) -> bool:
        return self.has_double if extension == FLOATS_OF_64 else extension in self.extensions

    @property
    def target(self) -> str:
        """Return the target that fits the device, in the form of rx.compile and relax-compile."""
        sizes = [size for size in self.subgroup_sizes if size <= USUAL_SUBGROUP and not size & (size - 1)]
        is_usual = not self.spirv or not self.subgroup_sizes or USUAL_SUBGROUP in sizes
        own = [*([] if self.spirv else ["language=c"]), *([] if is_usual else [f"subgroup={max(sizes, default=1)}"])]
        return fitting_target("opencl", own, self.threads, self.local_memory, self._types())

    def _types(self) -> dict[str, bool]:
        """Return the support for element types that some devices lack."""
        return {"f64": self.has(FLOATS_OF_64), "f16": self.has("cl_khr_fp16")}

    def table(self) -> str:
        """Return the device's properties for programs, one per line."""
        kinds = ["f32", "i32", "i64", *(name for name, is_there in self._types().items() if is_there)]
        described = {
            "version": self.version,
            "type": TYPES.get(self.type & 14, "another"),
            "memory": byte_text(self.memory),
            "shared memory": byte_text(self.local_memory),
            "threads of a group": str(self.threads),
            "compute units": str(self.units),
            "SPIR-V": self.spirv or "none",
            "subgroups": ", ".join(map(str, self.subgroup_sizes)) or "unknown",
            "numbers": ", ".join(kinds),
            "target": self.target,
        }
        return "\n".join([str(self), *(f"  {what:<20}{value}" for what, value in described.items())])


class OpenclDriver:
    """Functions of the loader, with exceptions for their errors. `library` has them as attributes, like a CDLL."""

    def __init__(self, library: object) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._devices: list[OpenclDevice] | None = None

    def address(self, name: str) -> int:
        return ctypes.cast(self._function(name), ctypes.c_void_p).value or 0

    def call(self, name: str, *arguments: object) -> None:
        """Call a function. Raises OpenclError.

        Numbers are passed as 64 bits: handles have 64 bits, and the callee reads narrower ones from them.
        """
        status = self._function(name)(*map(_pass, arguments))
        if name not in _VOID and status:
            raise OpenclError(f"{name}: {status_text(status)}", status)

    def made(self, name: str, *arguments: object) -> int:
        """Return the handle that a function creates. The function's last argument receives its status."""
        status = ctypes.c_int32()
        handle = self._function(name)(*map(_pass, arguments), ctypes.byref(status))
        if status.value:
            raise OpenclError(f"{name}: {status_text(status.value)}", status.value)
        return handle or 0

    def devices(self) -> list[OpenclDevice]:
        with self._lock:
            if self._devices is None:
                handles = [handle for platform in self._platforms() for handle in self._list_devices(platform)]
                self._devices = [self._device(*each) for each in enumerate(handles)]
            return self._devices

    def device(self, number: int) -> OpenclDevice:
        """Return a device. Raises DeviceError if there is none with this number."""
        there = self.devices()
        if not there:
            raise DeviceError(f"no OpenCL device: no driver is installed, or none finds a device; {_INSTALL}")
        if number >= len(there):
            listed = ", ".join(map(str, there))
            raise DeviceError(f"no device opencl:{number}: there {'is' if len(there) == 1 else 'are'} {listed}")
        return there[number]

    def _function(self, name: str) -> Any:
        function: Any = getattr(self._library, name, None)
        if function is None:
            raise DeviceError(f"OpenCL's loader has no {name}: programs need OpenCL 2.1 or newer")
        if name in _GIVES_HANDLE:
            function.restype = ctypes.c_void_p
        return function

    def _platforms(self) -> list[int]:
        count, handles = ctypes.c_uint32(), (ctypes.c_void_p * 16)()
        try:
            self.call("clGetPlatformIDs", len(handles), handles, ctypes.byref(count))
        except OpenclError as error:
            if error.status == NO_PLATFORM:
                return []
            raise
        return [handles[place] or 0 for place in range(min(count.value, len(handles)))]

    def _list_devices(self, platform: int) -> list[int]:
        count, handles = ctypes.c_uint32(), (ctypes.c_void_p * 16)()
        try:
            self.call("clGetDeviceIDs", platform, _ALL_TYPES, len(handles), handles, ctypes.byref(count))
        except OpenclError as error:
            if error.status == NO_DEVICE:
                return []
            raise
        return [handles[place] or 0 for place in range(min(count.value, len(handles)))]

    def _device(self, number: int, handle: int) -> OpenclDevice:
        def text(which: int) -> str:
            return self._about(handle, which).rstrip(b"\0").decode(errors="replace").strip()

        def value(which: int) -> int:
            return int.from_bytes(self._about(handle, which), "little")

        return OpenclDevice(
            number, handle, text(_NAME), value(_TYPE), text(_VERSION), frozenset(text(_EXTENSIONS).split()),
            bool(value(_DOUBLE)), text(_IL), value(_SVM), value(_MEMORY), value(_MOST_ALLOCATION), value(_SHARED),
            value(_MOST_THREADS), value(_UNITS), self._numbers(handle, _SUBGROUP_SIZES),
            bool(value(_SINGLE) & _EXACT),
        )  # fmt: skip

    def _numbers(self, handle: int, which: int) -> tuple[int, ...]:
        data = self._about(handle, which)
        return tuple((ctypes.c_size_t * (len(data) // ctypes.sizeof(ctypes.c_size_t))).from_buffer_copy(data))

    def _about(self, handle: int, which: int) -> bytes:
        """Return a property of a device, or b"" if its version does not support the query."""
        size = ctypes.c_size_t()
        try:
            self.call("clGetDeviceInfo", handle, which, 0, None, ctypes.byref(size))
            answer = ctypes.create_string_buffer(size.value)
            self.call("clGetDeviceInfo", handle, which, size.value, answer, None)
        except OpenclError:
            return b""
        return answer.raw


def _pass(argument: object) -> object:
    return ctypes.c_uint64(argument) if isinstance(argument, int) else argument


@once
def driver() -> OpenclDriver:
    """Open the loader once: the one of Intel's wheels if they are installed, or the system's.

    RELAX_MLIR_OPENCL may name the folder of the wheels; the default is the folder of Python's libraries. Raises
    DeviceError without a loader.
    """
    folder = Path(os.environ.get("RELAX_MLIR_OPENCL") or sys.prefix) / "lib"
    library = LIBRARY
    try:
        if (folder / _WHEEL_DRIVER).exists():
            for name in _WHEEL_NEEDS:
                ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL)
            os.environ.setdefault("OCL_ICD_FILENAMES", str(folder / _WHEEL_DRIVER))
            library = str(folder / LIBRARY)
        return OpenclDriver(ctypes.CDLL(library))
    except OSError as error:
        raise DeviceError(f"no OpenCL loader: {library} cannot be loaded: {error}; {_INSTALL}") from None
