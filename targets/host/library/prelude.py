# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structs, functions of C and tvm-ffi, and local functions that several units use."""

from __future__ import annotations

from typing import Annotated

from ..native.language import F64, I32, I64, U32, Array, Ptr, Struct, c_function, local_function

#: Statuses of functions.
OK, FAILED = I32(0), I32(-1)
#: Kinds of values by their type index. From FIRST_OBJECT on the payload is a counted reference, before it a value.
INT, POINTER, TENSOR_POINTER, FIRST_OBJECT, TENSOR = 1, 4, 7, I32(64), 70
#: Bytes of an object before its text or tensor.
OBJECT_HEADER = 24
#: DLPack's type of a device.
CPU = I32(1)


class AnyValue(Struct):
    """TVMFFIAny."""

    kind: I32
    #: Length of a short text, else 0.
    length: U32
    payload: I64
    #: Kind and length, to store both.
    whole_kind: Annotated[I64, "kind"]
    address: Annotated[Ptr, "payload"]


class DLTensor(Struct):
    """Tensor of DLPack. The data type is an integer here."""

    data: Ptr
    device: I32
    number: I32
    rank: I32
    dtype: I32
    shape: Array[I64]
    strides: Array[I64]
    offset: I64


class ByteArray(Struct):
    """TVMFFIByteArray."""

    data: Ptr
    size: I64


class Object(Struct):
    """Beginning of an object of tvm-ffi."""

    references: I32


class PlaceTimes(Struct):
    """Calls of a kernel at a place of the program, and their nanoseconds."""

    calls: I64
    time: I64


class Profile(Struct):
    """Times of a program: the thread that has enabled them, nanoseconds of all calls of kernels, and of each place."""

    thread: I64
    total: I64
    places: Annotated[Array[PlaceTimes], 0]


@c_function
def aligned_alloc(alignment: I64, size: I64) -> Ptr: ...
@c_function
def clock_gettime(clock: I32, time: Ptr) -> I32: ...


@c_function
def free(block: Ptr) -> None: ...
@c_function
def madvise(address: Ptr, size: I64, advice: I32) -> I32: ...


@c_function
def malloc(size: I64) -> Ptr: ...
@c_function
def pthread_self() -> I64: ...
@c_function
def TVMFFIEnvGetDLPackManagedTensorAllocator() -> Ptr: ...
@c_function
def TVMFFIEnvTensorAlloc(prototype: DLTensor, tensor: Array[Ptr]) -> I32: ...
@c_function
def TVMFFIErrorMoveFromRaised(error: Array[Ptr]) -> None: ...
@c_function
def TVMFFIErrorSetRaised(error: Ptr) -> None: ...
@c_function
def TVMFFIFunctionCall(function: Ptr, arguments: Array[AnyValue], count: I32, result: AnyValue) -> I32: ...
@c_function
def TVMFFIFunctionGetGlobal(name: ByteArray, function: Array[Ptr]) -> I32: ...
@c_function
def TVMFFIObjectDecRef(object: Ptr) -> I32: ...
@c_function
def TVMFFIObjectIncRef(object: Ptr) -> I32: ...
@c_function
def TVMFFITensorFromDLPackVersioned(source: Ptr, alignment: I32, contiguous: I32, tensor: Array[Ptr]) -> I32: ...


@local_function
def product(first: I64, rank: I32, sizes: Array[I64]) -> I64:
    """Return the product of a first number and a number of sizes."""
    total = first
    for axis in range(rank):
        total = total * sizes[axis]
    return total


@local_function
def count_bytes(rank: I32, size: I64, shape: Array[I64]) -> I64:
    """Return the bytes of a new tensor, or -1 if a size is negative or the total is 2^62 bytes or more."""
    # The float does not overflow, and counts a size of 0 as 1.
    upper = F64(size)
    total = size
    is_negative = False
    for axis in range(rank):
        length = shape[axis]
        upper = upper * max(F64(length), 1.0)
        total = total * length
        is_negative = is_negative | (length < 0)
    return total if (upper <= 4.0e18) & (not is_negative) else -1


@local_function
def lay_out(rank: I64, shape: Array[I64], own_shape: Array[I64]) -> None:
    """Copy a shape, and append its row-major strides."""
    stride = 1
    for i in range(rank):
        axis = rank - i - 1
        size = shape[axis]
        own_shape[axis] = size
        own_shape[rank + axis] = stride
        stride = stride * size


@local_function
def add_spent(profile: Profile, place: I64, spent: I64) -> None:
    """Add the time of a call to the total and to its place."""
    profile.total += spent
    times = profile.places[place]
    times.calls += 1
    times.time += spent
