# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Structs, functions of C and tvm-ffi, and local functions that several units use."""

from __future__ import annotations

from typing import Annotated

from ..native.language import I32, I64, U32, Array, Ptr, Struct, c_function, local_function

#: Statuses of functions.
OK, FAILED = I32(0), I32(-1)
#: Kinds of values by their type index. From FIRST_OBJECT on the payload is a counted reference, before it a value.
INT, POINTER, FIRST_OBJECT, TENSOR = 1, 4, I32(64), 70


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


@c_function
def aligned_alloc(alignment: I64, size: I64) -> Ptr: ...


@c_function
def free(block: Ptr) -> None: ...


@c_function
def malloc(size: I64) -> Ptr: ...


@c_function
def pthread_self() -> I64: ...


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


@local_function
def product(first: I64, rank: I32, sizes: Array[I64]) -> I64:
    """Return the product of a first number and a number of sizes."""
    total = first
    for axis in range(rank):
        total = total * sizes[axis]
    return total
