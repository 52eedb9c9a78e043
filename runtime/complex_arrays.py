# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of complex numbers, which programs have as arrays of pairs: views of the same memory. Imports no framework."""

from __future__ import annotations

from numbers import Number
from typing import Any

from .arrays import CPU, to_numpy

_BY_PART = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}


def in_pairs(value: Any, dtype: str, where: str) -> object:
    """An array of complex numbers as one of their real and imaginary parts, which a further dimension has: no copy of
    torch's and numpy's. Numbers, and lists of them, become an array with parts of `dtype`.
    """
    from .ffi import tvm_ffi

    if isinstance(value, tvm_ffi.Tensor):
        return value  # it has no views: pairs are passed
    wanted = _BY_PART[dtype]
    if hasattr(value, "is_conj"):  # torch's
        import torch

        _check(value, wanted, where)
        return torch.view_as_real(value.resolve_conj())
    import numpy

    array = numpy.asarray(value, wanted if isinstance(value, (Number, list, tuple)) else None)
    _check(array, wanted, where)
    half = array.dtype.itemsize // 2
    return numpy.lib.stride_tricks.as_strided(array.real, (*array.shape, 2), (*array.strides, half))


def _check(array: Any, wanted: str, where: str) -> None:
    name = str(array.dtype).removeprefix("torch.")
    if name != wanted:
        raise TypeError(f"{where} expected dtype {wanted}, got {name}")


def of_pairs(pairs: Any) -> object:
    """An array of pairs as one of complex numbers, in the same memory; of tvm-ffi's one of numpy, which has such."""
    if hasattr(pairs, "is_conj"):  # torch's
        import torch

        return torch.view_as_complex(pairs)
    from .ffi import tvm_ffi

    if isinstance(pairs, tvm_ffi.Tensor):
        if pairs.__dlpack_device__()[0] != CPU:
            return pairs
        pairs = to_numpy(pairs)
    if pairs.dtype.name == "float16":  # numpy has no complex numbers of two such
        pairs = pairs.astype("float32")
    return pairs.view(_BY_PART[pairs.dtype.name])[..., 0]
