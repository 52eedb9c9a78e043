# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of ml_dtypes' floats across DLPack, which numpy refuses to export and to import: as integers, relabelled."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy

# Where DLManagedTensor has the code of its element type, and the codes, as dlpack.h has them.
_CODE_OFFSET = 20
_UNSIGNED = 1
_CODES = {
    "bfloat16": 4, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Relabelled:
    """A tensor to import whose elements have another type of the same width."""

    def __init__(self, tensor: Any, code: int):
        self._tensor, self._code = tensor, code

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._tensor.__dlpack__()
        ctypes.c_uint8.from_address(_pointer(capsule, b"dltensor") + _CODE_OFFSET).value = self._code
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()


def to_dlpack(array: Any) -> Any:
    """What compiled functions take: the array, or a stand-in where numpy does not export its elements."""
    code = _CODES.get(array.dtype.name)
    return array if code is None else _Relabelled(array.view(f"uint{array.dtype.itemsize * 8}"), code)


def from_dlpack(tensor: Any) -> Any:
    """What a compiled function gave as an array."""
    name = str(tensor.dtype)
    if name not in _CODES:
        return numpy.from_dlpack(tensor)
    return numpy.from_dlpack(_Relabelled(tensor, _UNSIGNED)).view(getattr(ml_dtypes, name))
