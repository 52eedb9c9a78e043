# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between arrays of complex numbers and arrays of pairs, as views of the same memory.

Imports no framework.
"""

from __future__ import annotations

from numbers import Number
from typing import Any

from .arrays import CPU, to_numpy

_BY_PART = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}


def in_pairs(value: Any, dtype: str, where: str) -> Any:
    """Return an array of complex numbers as real and imaginary parts in an additional dimension.

    Arrays of torch and NumPy are not copied. Numbers, and lists of them, become an array with parts of `dtype`.
    """
    from .ffi import tvm_ffi

    if isinstance(value, tvm_ffi.Tensor):
        return value  # tvm-ffi has no views: the caller passes pairs
    wanted = _BY_PART[dtype]
    if hasattr(value, "is_conj"):  # torch
        import torch

        _check(value, wanted, where)
        return torch.view_as_real(value.resolve_conj())
    import numpy

    array = numpy.asarray(value, wanted if isinstance(value, (Number, list, tuple)) else None)
    _check(array, wanted, where)
    half = array.dtype.itemsize // 2
    return numpy.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), (*array.strides, half))


def _check(array: Any, wanted: str, where: str) -> None:
    if (name := str(array.dtype).removeprefix("torch.")) != wanted:
        raise TypeError(f"{where} expected dtype {wanted}, got {name}")


def of_pairs(pairs: Any) -> object:
    """Return an array of pairs as complex numbers in the same memory. A tvm-ffi tensor becomes a NumPy array."""
    if hasattr(pairs, "is_conj"):  # torch
        import torch

        return torch.view_as_complex(pairs)
    from .ffi import tvm_ffi

    if isinstance(pairs, tvm_ffi.Tensor):
        if pairs.__dlpack_device__()[0] != CPU:
            return pairs
        pairs = to_numpy(pairs)
    if pairs.dtype.name == "float16":  # NumPy has no complex type of two float16
        pairs = pairs.astype("float32")
    return pairs.view(_BY_PART[pairs.dtype.name])[..., 0]
