# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX arrays on the platform: tensors that programs take without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from relax_mlir.runtime.arrays import numpy_type, tensor
from relax_mlir.runtime.foreign_types import Array, Tensor

from ..jax_arrays import PARTS
from .api import NAMES_OF_TYPES, TYPES
from .c_handles import Held, clear, hold, memory
from .call_queue import HAPPENED, QueuedCall
from .client import device, space
from .entries import NotHere, entry, gives, gives_list

if TYPE_CHECKING:
    import numpy

_NONE = memory.array(ctypes.c_size_t, [])
_ROW_MAJOR = {rank: memory.array(ctypes.c_int64, list(reversed(range(rank)))) for rank in range(65)}
_TILED = 0


def type_in_numpy(dtype: str) -> numpy.dtype:
    import numpy

    return numpy.dtype(dtype) if dtype in PARTS else numpy_type(dtype)


class Shape:
    """Sizes and type of arrays in C form, shared by arrays of equal shape."""

    def __init__(self, dtype: str, sizes: tuple[int, ...]) -> None:
        if dtype not in TYPES:
            raise NotHere(f"the platform relax has no arrays of {dtype}")
        self.dtype, self.sizes, self.type = dtype, sizes, TYPES[dtype]
        self.dimensions = memory.array(ctypes.c_int64, sizes) if sizes else (0, 0)
        self.bytes = prod(sizes) * type_in_numpy(dtype).itemsize


_shapes: dict[tuple[str, tuple[int, ...]], Shape] = {}


def shape_of(dtype: str, sizes: tuple[int, ...]) -> Shape:
    return _shapes.get((dtype, sizes)) or _shapes.setdefault((dtype, sizes), Shape(dtype, sizes))


class PlatformArray(Held):
    """Array of the platform: a tensor, or the result of a queued call. Complex numbers are a tensor of pairs."""

    def __init__(self, held: Tensor | None, shape: Shape, call: QueuedCall | None = None, index: int = 0) -> None:
        super().__init__(device.handle, space.handle)
        self.tensor = held
        self.shape = shape
        #: Queued call with the array as its result #`index`, or a failed one.
        self.call, self._index = call, index

    def take_result(self, tensor: Tensor) -> None:
        if not self.is_deleted:
            self.tensor = tensor
        self.call = None

    def source(self) -> Callable[[], Tensor]:
        """Return a function that waits for the tensor, even if the array is deleted meanwhile."""
        call, index = self.call, self._index
        if call is not None:
            return lambda: call.results()[index]
        if (tensor := self.tensor) is None:
            raise ValueError("the array is deleted")
        return lambda: tensor

    def wait(self) -> Tensor:
        """Return the tensor. Wait for a queued call, and raise its error."""
        return self.source()()

    @property
    def address(self) -> int:
        return int(self.wait().data_ptr())

    def event(self) -> int:
        """Return the event of the array being ready."""
        call = self.call
        return HAPPENED if call is None else call.event()

    def delete(self) -> None:
        """Mark the array as deleted. Its memory is released once no NumPy array refers to it."""
        self.is_deleted = True
        if not self.node[1]:
            self.tensor = self.call = None

    is_deleted = False


@entry("Client_BufferFromHostBuffer")
def _from_host(arguments: ctypes.Structure, client: object) -> None:
    import numpy

    clear()
    sizes = _integers(arguments.sizes, arguments.rank)
    if arguments.type not in NAMES_OF_TYPES:
        raise NotHere(f"the platform relax has no arrays of PJRT's type {arguments.type}")
    shape = shape_of(NAMES_OF_TYPES[arguments.type], sizes)
    dtype = type_in_numpy(shape.dtype)
    strides = _integers(arguments.strides, arguments.strides_count) or None
    made = numpy.empty(sizes, dtype)
    if made.size:
        made[...] = numpy.ndarray(sizes, dtype, *_bytes_of(arguments.data, sizes, strides, dtype.itemsize), strides)
    arguments.buffer, arguments.done = hold(PlatformArray(tensor(_pairs(made, shape)), shape)), HAPPENED


def _bytes_of(data: int, sizes: tuple[int, ...], strides: tuple[int, ...] | None, width: int) -> tuple[Any, int]:
    """Return the memory that contains an array, and the offset of its first element. Strides can be negative."""
    if strides is None:
        return (ctypes.c_char * (prod(sizes) * width)).from_address(data), 0
    steps = [stride * (size - 1) for stride, size in zip(strides, sizes, strict=True)]
    before, behind = -sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)
    return (ctypes.c_char * (before + behind + width)).from_address(data - before), before


def _pairs(array: Array, shape: Shape) -> Array:
    part = PARTS.get(shape.dtype)
    return array if part is None else array.reshape(-1).view(part).reshape(*shape.sizes, 2)


def _integers(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address)) if count else ()


@entry("Buffer_ToHostBuffer")
def _to_host(arguments: ctypes.Structure, buffer: PlatformArray) -> None:
    size = buffer.shape.bytes
    if not arguments.data:
        arguments.size = size
        return
    if arguments.size < size:
        raise ValueError(f"the array has {size} bytes, and there is room for {arguments.size}")
    tensor = buffer.wait()
    if size:
        ctypes.memmove(arguments.data, tensor.data_ptr(), size)
    arguments.event = HAPPENED


@entry("Buffer_CopyToDevice", "Buffer_CopyToMemory")
def _copy(arguments: ctypes.Structure, buffer: PlatformArray) -> None:
    arguments.value = hold(PlatformArray(buffer.wait(), buffer.shape))  # the only device; arrays are immutable


@entry("Buffer_GetMemoryLayout")
def _layout(arguments: ctypes.Structure, buffer: PlatformArray) -> None:
    arguments.order, arguments.order_size = _ROW_MAJOR[len(buffer.shape.sizes)]
    arguments.tile_count, arguments.kind = 0, _TILED


@entry("Buffer_Delete")
def _delete(arguments: ctypes.Structure, buffer: PlatformArray) -> None:
    buffer.delete()


gives("Buffer_IsDeleted", value=lambda buffer: buffer.is_deleted)
gives("Buffer_ElementType", value=lambda buffer: buffer.shape.type)
for _name in ("Buffer_Dimensions", "Buffer_UnpaddedDimensions"):
    gives_list(_name, lambda buffer: buffer.shape.dimensions)
gives_list("Buffer_DynamicDimensionIndices", lambda buffer: (_NONE[0], 0))
gives("Buffer_OnDeviceSizeInBytes", value=lambda buffer: buffer.shape.bytes)
gives("Buffer_IsOnCpu", value=True)
gives("Buffer_ReadyEvent", value=lambda buffer: buffer.event())
for _name in ("Buffer_UnsafePointer", "Buffer_OpaqueDeviceMemoryDataPointer"):
    gives(_name, value=lambda buffer: buffer.address)
