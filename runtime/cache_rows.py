# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Storage of caches' rows: arrays of the CPU. A device's program stores rows on the device (devices/device_rows.py)."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import numpy_or_refusal
from .arrays import numpy_type, tensor, to_numpy
from .foreign_types import Array, ArrayOrTensor, Tensor
from .manifest import PassedValue


class CacheRows:
    """Buffers of rows along an axis. The first `count` rows are in use."""

    def empty(self, shape: Sequence[int], described: PassedValue) -> ArrayOrTensor:
        """Return a buffer for an argument."""
        return numpy_or_refusal("a cache").empty(shape, numpy_type(described.holds or described.dtype))

    def keep(self, buffer: ArrayOrTensor, source: ArrayOrTensor, axis: int, count: int) -> None:
        """Copy the first rows of another buffer, or of a result of `taken`, into a buffer."""
        _first(buffer, axis, count)[...] = _first(source, axis, count)

    def passed(self, buffer: ArrayOrTensor) -> Tensor:
        """Return a function's argument for a buffer."""
        return tensor(to_numpy(buffer))

    def length(self, count: int) -> ArrayOrTensor:
        """Return the argument for the number of rows: a tensor of `count` rows without elements."""
        return numpy_or_refusal("a cache").empty((count, 0), "int8")

    def array(self, buffer: ArrayOrTensor, described: PassedValue, axis: int, count: int) -> Array:
        """Return the rows in use."""
        return _first(buffer, axis, count)

    def taken(self, function: str, described: PassedValue, value: object) -> ArrayOrTensor:
        """Return an array of the value passed for a growing argument. Raises TypeError."""
        import numpy

        array = value if isinstance(value, numpy.ndarray) or not hasattr(value, "__dlpack__") else to_numpy(value)
        array = numpy.asarray(
            array, None if hasattr(value, "dtype") else numpy_type(described.holds or described.dtype)
        )
        check_taken(function, described, array, array.dtype.name, numpy_type(described.holds or described.dtype).name)
        return array

    def given(self, buffer: ArrayOrTensor, described: PassedValue, axis: int, count: int, like: object) -> Tensor:
        """Return a copy of the rows in use on the device of another array."""
        return tensor(numpy_or_refusal("a cache").ascontiguousarray(self.array(buffer, described, axis, count)))


def check_taken(function: str, described: PassedValue, array: ArrayOrTensor, dtype: str, wanted: str) -> None:
    """Raise TypeError for a value that is not valid for a growing argument."""
    shape = tuple(array.shape)
    if dtype != wanted or len(shape) != len(described.shape):
        raise TypeError(
            f"{function}: argument '{described.name}' expected {wanted} of rank {len(described.shape)}, or a "
            f"cache, got {dtype} of shape {shape}"
        )


def _first(array: ArrayOrTensor, axis: int, count: int) -> Array:
    return to_numpy(array)[(slice(None),) * axis + (slice(0, count),)]
