# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in the emulated device's memory, in a framework's form: by DLPack, on kDLCUDA."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy

from .driver import EmulatedCuda
from .memory import ALLOCATED, WRITTEN, Allocation

CUDA = 2  # kDLCUDA
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_handed_out: dict[int, tuple[Any, ...]] = {}  # data of tensors that were handed out, by address


@_DELETER
def _delete(address: int) -> None:
    _handed_out.pop(address, None)


_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@_DESTRUCTOR
def _end(capsule: int) -> None:
    """Release the data of a capsule without a consumer: consumers rename it."""
    if _is_capsule(capsule, b"dltensor"):
        _handed_out.pop(_pointer(capsule, b"dltensor"), None)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CudaTensor:
    """Row-major array in device memory, which `free` or the end of the driver releases."""

    def __init__(self, driver: EmulatedCuda, values: Any, device: int = 0, label: str = "tensor") -> None:
        array = numpy.array(values, order="C", copy=True)
        self.driver, self.shape, self.dtype, self.device = driver, array.shape, array.dtype, device
        number = len(driver.memory.allocations)
        self.allocation: Allocation = driver.memory.allocate(array.nbytes, f"{label} {number}")
        self._span = slice(self.allocation.start, self.allocation.start + array.nbytes)
        driver.memory.data[self._span] = array.reshape(-1).view(numpy.uint8)
        driver.memory.state[self._span] = ALLOCATED | WRITTEN

    @property
    def address(self) -> int:
        return self.allocation.address

    def to_numpy(self) -> Any:
        return self.driver.memory.data[self._span].copy().view(self.dtype).reshape(self.shape)

    def free(self) -> None:
        self.driver.memory.free(self.allocation, "by whoever had the tensor")

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        """Return an unversioned capsule, which every consumer accepts."""
        shape = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)
        is_bfloat = self.dtype.name == "bfloat16"
        code = _BFLOAT if is_bfloat else _CODES[self.dtype.kind]
        bits = 8 * self.dtype.itemsize
        tensor = _DLTensor(self.address, CUDA, self.device, len(self.shape), code, bits, 1, shape, None, 0)
        managed = _Managed(tensor, None, ctypes.cast(_delete, ctypes.c_void_p))
        _handed_out[ctypes.addressof(managed)] = managed, shape, self
        return _new_capsule(ctypes.addressof(managed), b"dltensor", ctypes.cast(_end, ctypes.c_void_p))


def to_numpy(driver: EmulatedCuda, tensor: Any) -> Any:
    """Return the data of a consumer's tensor on the emulated device, which is any object with __dlpack__."""
    capsule = tensor.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = get(capsule, b"dltensor")
    return _values(driver, _Managed.from_address(address).tensor)


def _values(driver: EmulatedCuda, found: _DLTensor) -> Any:
    if found.device_type != CUDA:
        raise ValueError(f"a tensor on a device of kind {found.device_type}, not on CUDA ({CUDA})")
    shape = tuple(found.shape[number] for number in range(found.ndim))
    kinds = {code: kind for kind, code in _CODES.items()}
    name = f"{kinds[found.code]}{found.bits // 8}" if found.code != _BFLOAT else "u2"
    size = int(numpy.prod(shape, dtype=numpy.int64)) * found.bits // 8
    start = driver.memory.range((found.data or 0) + found.byte_offset, size) if size else 0
    if start is None:
        raise ValueError(f"{found.data:#x} is not in device memory: {driver.memory.describe(found.data)}")
    values = driver.memory.data[start : start + size].copy().view("?" if found.code == 6 else name).reshape(shape)
    if found.code == _BFLOAT:
        import ml_dtypes

        values = values.view(ml_dtypes.bfloat16)
    return values
