# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors on a device that registered functions take and return, and lists of results."""

from __future__ import annotations

from ..native.language import (
    I8, I32, I64, NULL, Array, Ptr, Status, Text, atomic_load, library_function, local_function, place_of,
    require_ok, stack,
)  # fmt: skip
from .calls import borrow, keep_where, separate_rows
from .device import ALLOCATE, DeviceTable, device_answer, device_copy, device_free, device_read, device_take
from .device_tensors import device_allocate
from .prelude import OK, AnyValue, Object, free, malloc, product
from .support import data, exhausted, tensor

# ---- registered functions ----


@library_function
def device_borrow(
    table: DeviceTable, rank: I32, dtype: I32, shape: Array[I64], elements: Ptr, value: AnyValue
) -> Status:
    """Wrap existing device memory in a tensor for the duration of a call.

    The object has a header of its own, which DLPack exports return.
    """
    borrow(rank, dtype, shape, elements, value)
    header = tensor(value)
    header.device = table.kind
    header.number = table.number


@library_function
def device_end_borrow(name: Text, value: AnyValue) -> Status:
    """Report a callee that still holds a reference to the tensor."""
    if atomic_load(place_of(Object(value.address).references), "acquire") != 1:
        raise RuntimeError(
            "%s: a function that was called has kept a tensor that lives only during the call: it must copy it", name
        )


@library_function
def device_take_tensor(table: DeviceTable, name: Text, value: AnyValue, size: I64, out: Array[Ptr]) -> Status:
    """Copy the elements of a checked tensor and store the address of the copy, which the caller frees."""
    source = tensor(value)
    total = product(size, source.rank, source.shape)
    device_answer(table, name, ALLOCATE, device_take(table, total, out))
    copied = device_copy.status(table, out[0], data(value), total)
    if copied != OK:
        device_free(table, out[0])
    require_ok(copied)


# ---- lists of results ----


@library_function
def device_keep_if(table: DeviceTable, flag: AnyValue, value: AnyValue) -> Status:
    """Set a value to None unless the one bool of the tensor is true."""
    truth = stack(I8)
    device_read(table, truth, data(flag), 1)
    keep_where(truth[0], value)


@library_function
def device_separate(
    table: DeviceTable, label: Text, items: Array[AnyValue], count: I64, rank: I32, dtype: I32, size: I64, out: AnyValue
) -> Status:
    """Do what separate does. One copy reads the rows, with lengths and shapes of the tensors, from the device."""
    source = items[count + 1]
    header = tensor(source)
    total = product(8, header.rank, header.shape)
    rows = Array[I64](malloc(total + 8))
    if rows == NULL:
        return exhausted("%s: %lld bytes needed", total + 8)
    try:
        device_read(table, rows, data(source), total)
        require_ok(separate_rows(table, device_give_row, rows, label, items, count, rank, dtype, size, out))
    finally:
        free(rows)


@local_function
def device_give_row(
    table: Ptr, label: Text, rank: I32, dtype: I32, size: I64, shape: Array[I64], elements: Ptr, value: AnyValue
) -> I32:
    """Create a tensor of a list on the device."""
    device = DeviceTable(table)
    status = device_allocate.status(device, label, rank, dtype, size, shape, value)
    if status == OK:
        status = device_copy.status(device, data(value), elements, product(size, rank, shape))
    return status
