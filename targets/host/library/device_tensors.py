# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a program for a device: arguments, results, and functions for the runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ..native.language import (
    I32, I64, NULL, Array, Ptr, Status, Struct, Text, cast, clear, copy, library_function, local_function, place_of,
    require_ok, size_of, stack,
)  # fmt: skip
from .device import (
    ALLOCATE, OUT_OF_MEMORY, DeviceTable, device_answer, device_check, device_copy, device_enter, device_free,
    device_leave, device_take, device_wait, stream_of,
)  # fmt: skip
from .prelude import (
    CPU, INT, OK, TENSOR, TENSOR_POINTER, AnyValue, DLTensor, TVMFFIEnvGetDLPackManagedTensorAllocator,
    TVMFFIEnvTensorAlloc, TVMFFITensorFromDLPackVersioned, count_bytes, free, lay_out, malloc, product,
)  # fmt: skip
from .support import CheckedTensor, ManagedTensor, TensorType, check_tensor, tensor

# ---- arguments ----


@library_function
def device_check_tensor(
    table: DeviceTable, value: AnyValue, where: Text, dtype: Text, shape: Text, expected: TensorType,
    out: CheckedTensor, hint: Text,
) -> Status:  # fmt: skip
    """Do what check_tensor does, for the program's device. `hint` is the advice for a tensor on the CPU."""
    image = stack(DLTensor)[0]
    pointer = stack(AnyValue)[0]
    if ((value.kind == TENSOR) | (value.kind == TENSOR_POINTER)) & (value.address != NULL):
        actual = tensor(value)
        if (actual.device != table.kind) | (actual.number != table.number):
            return device_fail_place(table, where, actual, hint)
        # Check the rest like a tensor in host memory.
        copy(image, actual)
        image.device = CPU
        pointer.whole_kind = TENSOR_POINTER
        pointer.address = image
        value = pointer
    return check_tensor(value, where, dtype, shape, expected, out)


@local_function.cold
def device_fail_place(table: DeviceTable, where: Text, actual: DLTensor, hint: Text) -> Status:
    """Raise the error of a tensor on another device."""
    name, number, kind = table.kind_name, table.number, actual.device
    if kind == CPU:
        text = "%s expected a tensor on %s:%lld, got one on cpu:%lld%s"
        raise ValueError(text, where, name, number, actual.number, hint)
    if kind == table.kind:
        text = "%s expected a tensor on %s:%lld, got one on %s:%lld"
        raise ValueError(text, where, name, number, name, actual.number)
    raise ValueError("%s expected a tensor on %s:%lld, got one on DLPack device type %lld", where, name, number, kind)


# ---- unaligned arguments ----

# Kernels read 16 bytes at once if sizes allow, from aligned memory. A call copies an unaligned tensor, such as a slice.


class ArgumentLayout(Struct):
    """Description of a tensor. `is_written` is 1 if the call writes to the tensor."""

    rank: I64
    element_size: I64
    is_written: I64


class AlignedCopy(Struct):
    """Copy of an unaligned tensor."""

    copy: Ptr
    original: Ptr
    size: I64
    is_written: I64


class AlignedCopies(Struct):
    """Copies of a call."""

    count: I64
    table: DeviceTable
    items: Annotated[Array[AlignedCopy], 0]


@library_function
def device_align(
    table: DeviceTable, count: I64, tensors: Array[Ptr], arguments: Array[ArgumentLayout], copies: AlignedCopies
) -> Status:
    """Replace the addresses of unaligned tensors, which check_tensor stored, by addresses of copies."""
    for i in range(count):
        checked = CheckedTensor(tensors[i])
        original = checked.data
        if I64(original) & 15 != 0:
            argument = arguments[i]
            element = argument.element_size
            size = product(element, I32(argument.rank), checked.shape)
            # A single element is not read as a vector.
            if size > element:
                item = copies.items[copies.count]
                where = "a copy of an argument that begins at no multiple of 16"
                device_answer(table, where, ALLOCATE, device_take(table, size, place_of(item.copy)))
                item.original = original
                item.size = size
                item.is_written = argument.is_written
                copies.table = table
                copies.count += 1
                checked.data = item.copy
                device_copy(table, item.copy, original, size)


@library_function
def device_restore(table: DeviceTable, copies: AlignedCopies) -> Status:
    """Copy written tensors back to their originals."""
    for i in range(copies.count):
        item = copies.items[i]
        if item.is_written != 0:
            device_copy(table, item.original, item.copy, item.size)


@library_function
def device_unalign(copies: AlignedCopies) -> None:
    """Free the copies on the stream of the call."""
    for i in range(copies.count):
        device_free(copies.table, copies.items[i].copy)


# ---- results ----


class ResultBlock(Struct):
    """Block of a result. The fields behind the header free the memory. Shape and strides follow."""

    header: Annotated[ManagedTensor, 1]
    push_context: Callable[[Ptr], I32]
    pop_context: Callable[[Array[Ptr]], I32]
    free: Callable[[Ptr, Ptr], I32]
    context: Ptr
    stream: Ptr
    shape: Annotated[Array[I64], 0]


@local_function
def device_delete(block: ResultBlock) -> None:
    """Free a result on the stream of the caller that drops it.

    The function is code of the process, as results outlive programs (runtime/devices).
    """
    actual = block.header.tensor
    block.push_context(block.context)
    block.free(actual.data, stream_of(block.stream, actual.device, actual.number))
    block.pop_context(stack(Ptr))
    free(block)


@library_function.apart
def device_allocate(
    table: DeviceTable, label: Text, rank: I32, dtype: I32, size: I64, shape: Array[I64], value: AnyValue
) -> Status:
    """Create a tensor on the device, like allocate."""
    total = count_bytes(rank, size, shape)
    if total < 0:
        text = "%s: a size is negative or all of them are too large, with elements of %lld bytes"
        raise ValueError(text, label, size)
    actual = stack(DLTensor)[0]
    clear(actual)
    actual.device = table.kind
    actual.number = table.number
    actual.rank = rank
    actual.dtype = dtype
    actual.shape = shape
    if TVMFFIEnvGetDLPackManagedTensorAllocator() != NULL:
        require_ok(TVMFFIEnvTensorAlloc(actual, place_of(value.address)))
    else:
        device_wrap_new(table, label, total, actual, value)
    value.whole_kind = TENSOR


@local_function
def device_wrap_new(table: DeviceTable, label: Text, total: I64, prototype: DLTensor, value: AnyValue) -> Status:
    """Allocate memory for a tensor, and wrap it in an object."""
    taken = device_take(table, total, place_of(prototype.data))
    if taken == OUT_OF_MEMORY:
        return device_exhausted(label, total)
    device_answer(table, label, ALLOCATE, taken)
    rank = I64(prototype.rank)
    whole = size_of(ResultBlock) + rank * 16
    block = ResultBlock(malloc(whole))
    if block == NULL:
        device_free(table, prototype.data)
        return device_exhausted(label, whole)
    clear(block)
    block.header.version = 1
    block.header.deleter = table.deleter
    actual = block.header.tensor
    copy(actual, prototype)
    lay_out(rank, prototype.shape, block.shape)
    actual.shape = block.shape
    actual.strides = block.shape + rank
    block.push_context = table.push_context
    block.pop_context = table.pop_context
    block.free = table.free
    block.context = table.context
    block.stream = table.stream
    status = TVMFFITensorFromDLPackVersioned(block, OK, OK, place_of(value.address))
    if status != OK:
        device_free(table, prototype.data)
        free(block)
    require_ok(status)


@local_function.cold
def device_exhausted(label: Text, size: I64) -> Status:
    """Raise a MemoryError."""
    raise MemoryError("%s: out of memory of the device, %lld bytes needed", label, size)


# ---- for the runtime: packed functions (DEVICE_FUNCTIONS of support.py) ----


@library_function
def device_deleter(table: DeviceTable, arguments: Array[AnyValue], count: I32, result: AnyValue) -> I32:
    """Return the address of the deleter of results."""
    result.whole_kind = INT
    result.payload = I64(Ptr(device_delete))
    return OK


@library_function
def device_synchronize(table: DeviceTable, arguments: Array[AnyValue], count: I32, result: AnyValue) -> Status:
    """Wait for the caller's stream and raise failed assertions of kernels."""
    device_enter(table)
    try:
        device_wait(table)
        device_check(table)
    finally:
        device_leave(table)


@library_function
def device_empty(table: DeviceTable, arguments: Array[AnyValue], count: I32, result: AnyValue) -> Status:
    """Create a tensor from integers: address of a label, rank, element type, bytes of an element, address of sizes."""
    are_integers = count == 5
    for i in range(5):
        are_integers = are_integers and arguments[i].whole_kind == INT
    if not are_integers:
        raise TypeError("%s: expected a label, rank, element type, bytes and sizes", "__relax_device_empty")
    label = cast("Text", arguments[0].address)
    rank, dtype = I32(arguments[1].payload), I32(arguments[2].payload)
    size, shape = arguments[3].payload, Array[I64](arguments[4].address)
    device_enter(table)
    try:
        device_allocate(table, label, rank, dtype, size, shape, result)
    finally:
        device_leave(table)
