# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays that stay where a program computes, from call to call. devices/device_memory.py has arrays of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import numpy_or_refusal
from .arrays import CPU, numpy_type, to_numpy
from .errors import UnsupportedArray
from .foreign_types import Array, ArrayOrTensor, Exporter

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Memory:
    """Memory of a program: `executable.memory`.

    Functions of `executable.copying()` take its arrays without a copy, and write to donated arguments in place. Arrays
    of a device are tensors. Arrays of the CPU are NumPy's.
    """

    def zeros(self, shape: Sequence[int], dtype: DTypeLike) -> ArrayOrTensor:
        """Return a new array of zeros. Raises MemoryError if there is no room."""
        return numpy_or_refusal("an array of zeros").zeros(shape, numpy_type(dtype))

    def upload(self, array: Exporter) -> ArrayOrTensor:
        """Return a copy of a CPU array of any framework."""
        return numpy_or_refusal("an array").array(on_host(array, "upload"), order="C")

    def download(self, array: Exporter) -> Array:
        """Return the elements of an array of this memory as a new NumPy array."""
        return numpy_or_refusal("an array").array(on_host(array, "download"), order="C")

    def copy_rows(self, to: ArrayOrTensor, at: int, source: ArrayOrTensor, first: int, count: int) -> None:
        """Copy `count` rows of an array of this memory, from row `first` on, to another one's rows from `at` on.

        Rows are along the first axis. Both arrays may be the same.
        """
        _check_alike(to, source)
        _check_rows("to", to, at, count)
        _check_rows("source", source, first, count)
        if count:
            self._copy(to, at, source, first, count)

    def _copy(self, to: ArrayOrTensor, at: int, source: ArrayOrTensor, first: int, count: int) -> None:
        on_host(to, "copy_rows")[at : at + count] = on_host(source, "copy_rows")[first : first + count]


def on_host(array: Exporter, what: str) -> Array:
    """Return a NumPy array that shares the memory of a CPU array. Raises UnsupportedArray for other objects."""
    device = dlpack_device(array, what)
    if device[0] != CPU:
        raise UnsupportedArray(f"{what}: expected an array on the CPU, got one on {device_text(device)}")
    return to_numpy(array)


def dlpack_device(array: Exporter, what: str) -> tuple[int, int]:
    """Return DLPack's kind and number of the device of an array."""
    if not hasattr(array, "__dlpack_device__"):
        raise UnsupportedArray(f"{what}: expected an array, got an object of type {type(array).__name__}")
    kind, number = array.__dlpack_device__()
    return int(kind), int(number)


def device_text(device: tuple[int, int]) -> str:
    """Return a device for messages."""
    kind, number = device
    return "the CPU" if kind == CPU else f"device {number} of DLPack's kind {kind}"


def _check_alike(to: ArrayOrTensor, source: ArrayOrTensor) -> None:
    """Raise UnsupportedArray unless arrays have rows of equal types and sizes."""
    kinds = [(str(tensor.dtype), tuple(tensor.shape)) for tensor in (to, source)]
    if kinds[0][0] != kinds[1][0] or not all(shape for _, shape in kinds) or kinds[0][1][1:] != kinds[1][1][1:]:
        to_text, source_text = (f"{dtype}{list(shape)}" for dtype, shape in kinds)
        raise UnsupportedArray(f"copy_rows: expected arrays with equal rows, got {source_text} to copy to {to_text}")


def _check_rows(name: str, array: ArrayOrTensor, first: int, count: int) -> None:
    if min(first, count) < 0 or first + count > array.shape[0]:
        raise IndexError(f"copy_rows: {name} has {array.shape[0]} rows, expected rows {first} to {first + count}")
