# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first device of OpenCL that is a CPU, by ctypes: runs kernels of words on this process' memory.

Addresses of such a device are the process' own, so kernels get them as they are: no memory is made here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_P, _SIZE, _U32, _U64, _I32 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32
_CPU, _BUILD_LOG = 2, 0x1183
#: Of the wheel intel-cmplr-lib-rt, which the driver of intel-opencl-rt needs and does not find.
_NEEDED = ("libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so")


@functools.cache
def library() -> Any:
    """The loader of the wheels, or the system's; None where there is neither. RELAX_MLIR_OPENCL: where wheels are."""
    folder = Path(os.environ.get("RELAX_MLIR_OPENCL", sys.prefix)) / "lib"
    if (folder / "libintelocl.so").exists():
        try:
            for name in _NEEDED:
                ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL)
        except OSError:
            return None
        os.environ.setdefault("OCL_ICD_FILENAMES", str(folder / "libintelocl.so"))
        return ctypes.CDLL(str(folder / "libOpenCL.so.1"))
    name = ctypes.util.find_library("OpenCL")
    return ctypes.CDLL(name) if name else None


def _call(name: str, *arguments: Any) -> None:
    status = getattr(library(), name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: OpenCL error {status}")


def _made(name: str, *arguments: Any) -> Any:
    function, status = getattr(library(), name), _I32()
    function.restype = _P
    made = _P(function(*arguments, ctypes.byref(status)))
    if status.value:
        raise RuntimeError(f"{name}: OpenCL error {status.value}")
    return made


@functools.cache
def why_none() -> str:
    """Why nothing can be run; empty where it can."""
    if library() is None:
        return "there is no OpenCL (pip: intel-opencl-rt and intel-cmplr-lib-rt)"
    try:
        _cpu_device()
    except RuntimeError as error:
        return f"no device of OpenCL is a CPU: {error}"
    return ""


@functools.cache
def _cpu_device() -> Any:
    count, platforms = _U32(), (_P * 8)()
    _call("clGetPlatformIDs", _U32(8), platforms, ctypes.byref(count))
    device = _P()
    _call("clGetDeviceIDs", _P(platforms[0]), _U64(_CPU), _U32(1), ctypes.byref(device), None)
    return device


class OpenclDevice:
    """The device, with a queue; one for a process."""

    def __init__(self) -> None:
        self.handle = _cpu_device()
        self._context = _made("clCreateContext", None, _U32(1), ctypes.byref(self.handle), None, None)
        self._queue = _made("clCreateCommandQueueWithProperties", self._context, self.handle, None)
        self._programs: dict[bytes, Any] = {}

    def kernel(self, module: bytes, name: str, _: int) -> Any:
        if module not in self._programs:
            self._programs[module] = self._program(module)
        return _made("clCreateKernel", self._programs[module], name.encode())

    def _program(self, module: bytes) -> Any:
        program = _made("clCreateProgramWithIL", self._context, module, _SIZE(len(module)))
        status = library().clBuildProgram(program, _U32(1), ctypes.byref(self.handle), b"", None, None)
        if status:
            log = ctypes.create_string_buffer(4096)
            library().clGetProgramBuildInfo(program, self.handle, _U32(_BUILD_LOG), _SIZE(4096), log, None)
            raise RuntimeError(f"clBuildProgram: OpenCL error {status}: {log.value.decode(errors='replace')}")
        return program

    def launch(self, kernel: Any, blocks: int, threads: int, words: Sequence[int]) -> None:
        """Runs it to its end."""
        for place, word in enumerate(words):
            _call("clSetKernelArg", kernel, _U32(place), _SIZE(8), ctypes.byref(_U64(word)))
        whole, block = (_SIZE * 1)(blocks * threads), (_SIZE * 1)(threads)
        _call("clEnqueueNDRangeKernel", self._queue, kernel, _U32(1), None, whole, block, _U32(0), None, None)
        _call("clFinish", self._queue)


@functools.cache
def device() -> OpenclDevice:
    return OpenclDevice()
