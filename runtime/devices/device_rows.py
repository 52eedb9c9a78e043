# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of caches on a device: calls write them there, and growing a buffer copies them there."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..arrays import CPU, empty_on_host, share, tensor, to_numpy
from ..cache_rows import CacheRows, check_taken
from ..errors import UnsupportedArray
from ..foreign_types import Array, Tensor
from ..manifest import PassedValue
from .copies import Copies, element_bytes


class DeviceRows(CacheRows):
    """Rows in tensors of the device, copied on the caller's stream."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def empty(self, shape: Sequence[int], described: PassedValue) -> Tensor:
        from ..ffi import tvm_ffi

        return self._copies.empty(shape, tvm_ffi.dtype(described.dtype))

    def keep(self, buffer: Any, source: Any, axis: int, count: int) -> None:
        self._copy(buffer, source, axis, count)

    def passed(self, buffer: Any) -> Tensor:
        return buffer

    def length(self, count: int) -> Tensor:
        from ..ffi import tvm_ffi

        return self._copies.empty((count, 0), tvm_ffi.dtype("int8"))

    def array(self, buffer: Any, described: PassedValue, axis: int, count: int) -> Array:
        """Return a copy on the CPU."""
        rows = self._tensor_of(buffer, axis, count)
        host = empty_on_host(rows)
        self._copy(host, rows, 0, rows.shape[0])
        return to_numpy(host, described.holds or None)

    def taken(self, function: str, described: PassedValue, value: Any) -> Tensor:
        if _is_on_host(value):
            import numpy

            return tensor(numpy.array(super().taken(function, described, value), order="C"))
        given = share(value)
        check_taken(function, described, given, str(given.dtype), described.dtype)
        if not given.is_contiguous():
            raise UnsupportedArray(f"{function}: argument '{described.name}' is not contiguous: pass a copy")
        return given

    def given(self, buffer: Any, described: PassedValue, axis: int, count: int, like: object) -> Tensor:
        if _is_on_host(like):
            return tensor(self.array(buffer, described, axis, count))
        return self._tensor_of(buffer, axis, count)

    def _tensor_of(self, buffer: Tensor, axis: int, count: int) -> Tensor:
        shape = list(buffer.shape)
        shape[axis] = count
        made = self._copies.empty(shape, buffer.dtype)
        self._copy(made, buffer, axis, count)
        return made

    def _copy(self, to: Tensor, source: Tensor, axis: int, count: int) -> None:
        """Copy the first rows for each index of the leading axes."""
        row = prod(to.shape[axis + 1 :]) * element_bytes(to.dtype)
        height = prod(to.shape[:axis])
        if not row * count * height:
            return
        to_pitch, pitch = (row * each.shape[axis] for each in (to, source))
        self._copies.copy_rows(to, to_pitch, source, pitch, row * count, height)


def _is_on_host(value: object) -> bool:
    return not hasattr(value, "__dlpack_device__") or value.__dlpack_device__()[0] == CPU
