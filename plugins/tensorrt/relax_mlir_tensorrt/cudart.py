# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU memory and a stream, by ctypes calls of CUDA's runtime library."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator

from relax_mlir import RelaxError
from relax_mlir.runtime import wheel_folders

_TO_DEVICE, _TO_HOST = 1, 2
CUDA = 2  # kDLCUDA
_NAMES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so", "cudart64_12.dll")
# Import names of NVIDIA's wheels.
_WHEELS = ("nvidia.cuda_runtime", "nvidia.cu13")


class CudaError(RelaxError):
    """Error that CUDA reports."""


class Cuda:
    """Stream of the current device, with allocations and copies in the device's memory."""

    def __init__(self) -> None:
        self._library = _library()
        stream = ctypes.c_void_p()
        self._call("cudaStreamCreate", ctypes.byref(stream))
        self.stream = stream.value or 0

    def devices(self) -> int:
        count = ctypes.c_int()
        self._call("cudaGetDeviceCount", ctypes.byref(count))
        return count.value

    def allocate(self, size: int) -> int:
        address = ctypes.c_void_p()
        self._call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        return address.value or 0

    def free(self, address: int) -> None:
        self._call("cudaFree", ctypes.c_void_p(address))

    def to_device(self, address: int, host: int, size: int) -> None:
        self._copy(address, host, size, _TO_DEVICE)

    def to_host(self, host: int, address: int, size: int) -> None:
        self._copy(host, address, size, _TO_HOST)

    def wait(self) -> None:
        self._call("cudaStreamSynchronize", ctypes.c_void_p(self.stream))

    def _copy(self, to: int, source: int, size: int, kind: int) -> None:
        stream = ctypes.c_void_p(self.stream)
        places = ctypes.c_void_p(to), ctypes.c_void_p(source)
        self._call("cudaMemcpyAsync", *places, ctypes.c_size_t(size), ctypes.c_int(kind), stream)

    def _call(self, name: str, *arguments: object) -> None:
        if status := getattr(self._library, name)(*arguments):
            describe = self._library.cudaGetErrorString
            describe.restype = ctypes.c_char_p
            raise CudaError(f"{name}: {describe(status).decode()}")


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    problem = ""
    for path in _paths():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            problem = problem or str(error)
    raise CudaError(f"CUDA's runtime library cannot be loaded: {problem}")


def _paths() -> Iterator[str]:
    yield from _NAMES
    for folder in wheel_folders(_WHEELS):
        yield from map(str, folder.glob("libcudart.so*"))
