# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of registered functions, the tensors that these take and return, copies, and lists of results."""

from __future__ import annotations

from collections.abc import Callable

from ..native.language import (
    I8, I32, I64, NULL, Array, Ptr, Status, Struct, Text, atomic_load, clear, compare_exchange, copy, library_function,
    local_function, memcpy, memset, place_of, stack, storage,
)  # fmt: skip
from .prelude import (
    FAILED, OK, TENSOR, AnyValue, ByteArray, Object, TVMFFIErrorMoveFromRaised, TVMFFIErrorSetRaised,
    TVMFFIFunctionCall, TVMFFIFunctionGetGlobal, TVMFFIObjectDecRef, aligned_alloc, free, malloc, product,
)  # fmt: skip
from .support import allocate, data, exhausted, release, tensor, wrap


class Kind(Struct):
    """Type index, rank and element type of an argument."""

    kind: I64
    rank: I64
    dtype: I64


#: Creates a tensor of a list with a copy of its elements, for a table of the program.
MakeRow = Callable[[Ptr, Text, I32, I32, I64, Array[I64], Ptr, AnyValue], I32]

# ---- copies ----


@library_function
def give_tensor(
    label: Text, rank: I32, dtype: I32, size: I64, shape: Array[I64], elements: Ptr, value: AnyValue
) -> Status:
    """Create a tensor with a copy of the elements."""
    allocate(label, rank, dtype, size, shape, value)
    total = product(size, rank, shape)
    memcpy(data(value), elements, total)


@library_function
def take_tensor(value: AnyValue, size: I64, out: Array[Ptr]) -> Status:
    """Copy the elements of a checked tensor and store the address of the copy, which the caller passes to `free`."""
    source = tensor(value)
    total = product(size, source.rank, source.shape)
    whole = total + 64 & -64
    elements = aligned_alloc(64, whole)
    if elements == NULL:
        return exhausted("%s, %lld bytes needed", whole)
    memcpy(elements, data(value), total)
    out[0] = elements


# ---- registered functions ----


@local_function.cold
def find_global(slot: Array[Ptr], name: Text, length: I64) -> Ptr:
    """Return a registered function and keep it in the slot. Return NULL with the error set if there is none."""
    text = stack(ByteArray)[0]
    out = stack(Ptr)
    out[0] = NULL
    text.data = Ptr(name)
    text.size = length
    if TVMFFIFunctionGetGlobal(text, out) != OK:
        return NULL
    function = out[0]
    if function == NULL:
        raise ValueError("no global function '%s' is registered (tvm_ffi.register_global_func)", name)
    earlier, is_ours = compare_exchange(slot, NULL, function, "acq_rel", "acquire")
    if is_ours:
        return function
    TVMFFIObjectDecRef(function)
    return earlier


@local_function.cold
def ensure_error(name: Text) -> Status:
    """Fail with the error that a function has set, or with an own error if it has set none."""
    out = stack(Ptr)
    out[0] = NULL
    TVMFFIErrorMoveFromRaised(out)
    error = out[0]
    if error == NULL:
        raise RuntimeError("'%s' has failed with an exception whose text cannot be shown", name)
    TVMFFIErrorSetRaised(error)
    TVMFFIObjectDecRef(error)


@local_function
def call_global(
    slot: Array[Ptr], name: Text, length: I64, arguments: Array[AnyValue], count: I32, result: AnyValue
) -> I32:
    """Call a registered function. The slot keeps the function from the first call on."""
    function = atomic_load(slot, "acquire")
    if function == NULL:
        function = find_global(slot, name, length)
        if function == NULL:
            return FAILED
    status = TVMFFIFunctionCall(function, arguments, count, result)
    if status != OK:
        ensure_error.status(name)
    return status


@library_function
def borrow(rank: I32, dtype: I32, shape: Array[I64], elements: Ptr, value: AnyValue) -> Status:
    """Wrap existing memory in a tensor for the duration of a call."""
    size = I64(rank) * 16 + 80
    block = malloc(size)
    if block == NULL:
        return exhausted("%s: %lld bytes needed", size)
    return wrap(block, elements, rank, dtype, shape, value)


@local_function.apart
def give_back(value: AnyValue) -> I32:
    """End a borrow. Raise RuntimeError if the callee still holds a reference to the tensor."""
    count = atomic_load(place_of(Object(value.address).references), "acquire")
    status = TVMFFIObjectDecRef(value.address)
    if count != 1:
        raise RuntimeError(
            "a function that was called has kept a tensor that lives only during the call: it must copy it"
        )
    return status


@library_function
def call(
    slot: Array[Ptr], name: Text, length: I64, kinds: Array[Kind], count: I32, words: Array[I64], result: AnyValue
) -> I32:
    """Call a registered function.

    `kinds` describes each argument. `words` has the address and the sizes of a borrowed tensor, and one word of any
    other argument. The word of an object (type index -1) is the address of a value.
    """
    arguments = stack(AnyValue, I64(count))
    status = OK
    passed = I32(0)
    while passed < count and status == OK:
        kind = kinds[passed]
        argument = arguments[passed]
        if kind.kind == TENSOR:
            status = borrow.status(I32(kind.rank), I32(kind.dtype), words + 1, Ptr(words[0]), argument)
            words = words + kind.rank
        elif kind.kind == -1:
            copy(argument, AnyValue(words[0]))
        else:
            argument.whole_kind = kind.kind
            argument.payload = words[0]
        words = words + 1
        if status == OK:
            passed += 1
    if status == OK:
        status = call_global(slot, name, length, arguments, count, result)
    # End the borrowed tensors in reverse order. The error of a failed call stays set.
    while passed > 0:
        passed -= 1
        if kinds[passed].kind == TENSOR:
            if status == OK:
                status = give_back(arguments[passed])
            else:
                release(arguments[passed])
    if status != OK:
        release(result)
        clear(result)
    return status


# ---- lists of results ----

make_array_slot = storage(Ptr)


@library_function
def make_array(items: Array[AnyValue], count: I32, value: AnyValue) -> I32:
    """Create an array of contiguous values with tvm-ffi's own function."""
    return call_global(make_array_slot, "ffi.Array", 9, items, count, value)


@local_function
def first_size(value: AnyValue) -> I64:
    """Return the first size of a tensor."""
    return tensor(value).shape[0]


@library_function
def separate(label: Text, items: Array[AnyValue], count: I64, rank: I32, dtype: I32, size: I64, out: AnyValue) -> I32:
    """Create an array of the first `count` items and of the tensors that the next two items encode.

    The items are the elements of all tensors, and for each tensor a row of integers with its number of elements and its
    shape.
    """
    rows = Array[I64](data(items[count + 1]))
    return separate_rows(NULL, give_row, rows, label, items, count, rank, dtype, size, out)


@local_function
def give_row(
    table: Ptr, label: Text, rank: I32, dtype: I32, size: I64, shape: Array[I64], elements: Ptr, value: AnyValue
) -> I32:
    """Create a tensor of a list."""
    return give_tensor.status(label, rank, dtype, size, shape, elements, value)


@library_function
def separate_rows(
    table: Ptr, make: MakeRow, rows: Array[I64], label: Text, items: Array[AnyValue], count: I64, rank: I32, dtype: I32,
    size: I64, out: AnyValue,
) -> I32:  # fmt: skip
    """Do what separate does, for rows in host memory.

    `make(table, label, rank, dtype, size, sizes, elements, value)` returns a tensor with a copy of the elements.
    """
    elements = data(items[count])
    left = first_size(items[count])
    further = first_size(items[count + 1])
    total = count + further
    if total > 2147483647:
        return exhausted.status("%s: a list of %lld tensors", total)
    block = Array[AnyValue](malloc(count * 16 + further * 16 + 16))
    if block == NULL:
        return exhausted.status("%s: a list of %lld tensors", total)
    memcpy(block, items, count * 16)
    new = block + count
    memset(new, I8(0), further * 16)
    status = OK
    row = rows
    for i in range(further):
        number = row[0]
        if (number > left) | (product(1, rank, row + 1) != number):
            status = wrong_row.status(i)
            break
        status = make(table, label, rank, dtype, size, row + 1, elements, new[i])
        if status != OK:
            break
        elements = elements + number * size
        row = row + (I64(rank) + 1)
        left = left - number
    if status == OK:
        status = make_array(block, I32(total), out)
    for i in range(further):
        release(new[i])
    free(block)
    return status


@local_function.cold
def wrong_row(number: I64) -> Status:
    """Refuse a row."""
    raise ValueError("%s #%lld does not fit its elements", "the shape of a list's tensor", number)


@library_function
def keep_if(flag: AnyValue, value: AnyValue) -> None:
    """Set a value to None unless the one bool of the tensor is true."""
    keep_where(Array[I8](data(flag))[0], value)


@library_function
def keep_where(truth: I8, value: AnyValue) -> None:
    """Set a value to None unless a bool is true."""
    if truth == 0:
        release(value)
        clear(value)
