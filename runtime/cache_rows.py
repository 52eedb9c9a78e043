# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rows of caches are: arrays of the CPU. Of a device's programs they are there (devices/device_rows.py)."""

from __future__ import annotations

from collections.abc import Sequence

from .arguments import numpy_or_refusal
from .arrays import numpy_type, tensor, to_numpy
from .foreign_types import Array, ArrayOrTensor, Tensor
from .manifest import PassedValue


class CacheRows:
    """Buffers of rows along an axis, of which the first `count` are in use."""

    def empty(self, shape: Sequence[int], described: PassedValue) -> ArrayOrTensor:
        """A buffer for an argument."""
        return numpy_or_refusal("a cache").empty(shape, numpy_type(described.holds or described.dtype))

    def keep(self, buffer: ArrayOrTensor, source: ArrayOrTensor, axis: int, count: int) -> None:
        """Copies the first rows of another buffer, or of what `taken` has given, into one."""
        _first(buffer, axis, count)[...] = _first(source, axis, count)

    def passed(self, buffer: ArrayOrTensor) -> Tensor:
        """What a function takes for a buffer."""
        return tensor(to_numpy(buffer))

    def length(self, count: int) -> ArrayOrTensor:
        """The argument for the number of rows: a tensor of `count` rows without elements."""
        return numpy_or_refusal("a cache").empty((count, 0), "int8")

    def array(self, buffer: ArrayOrTensor, described: PassedValue, axis: int, count: int) -> Array:
        """The rows in use."""
        return _first(buffer, axis, count)

    def taken(self, function: str, described: PassedValue, value: object) -> ArrayOrTensor:
        """An array of what is passed for an argument that grows. Raises TypeError."""
        import numpy

        array = value if isinstance(value, numpy.ndarray) or not hasattr(value, "__dlpack__") else to_numpy(value)
        array = numpy.asarray(
            array, None if hasattr(value, "dtype") else numpy_type(described.holds or described.dtype)
        )
        check_taken(function, described, array, array.dtype.name, numpy_type(described.holds or described.dtype).name)
        return array

    def given(self, buffer: ArrayOrTensor, described: PassedValue, axis: int, count: int, like: object) -> Tensor:
        """A tensor of the rows in use, with memory of its own, where another array is."""
        return tensor(numpy_or_refusal("a cache").ascontiguousarray(self.array(buffer, described, axis, count)))


def check_taken(function: str, described: PassedValue, array: ArrayOrTensor, dtype: str, wanted: str) -> None:
    """Raises TypeError for what cannot stand for an argument that grows."""
    shape = tuple(array.shape)
    if dtype != wanted or len(shape) != len(described.shape):
        raise TypeError(
            f"{function}: argument '{described.name}' expected {wanted} of rank {len(described.shape)}, or a "
            f"cache, got {dtype} of shape {shape}"
        )


def _first(array: ArrayOrTensor, axis: int, count: int) -> Array:
    return to_numpy(array)[(slice(None),) * axis + (slice(0, count),)]
