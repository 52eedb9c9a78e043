# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that all programs share: errors, checks of arguments, values, tensors and profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from ..native.language import (
    I32, I64, NULL, U32, U64, Array, Ptr, Status, Struct, Text, atomic_load, atomic_store, c_function, clear, copy,
    fetch_add, library_function, likely, local_function, mask_pointer, multiply_checked, place_of, require_ok, size_of,
    stack, storage, unlikely,
)  # fmt: skip
from .prelude import (
    CPU, FAILED, FIRST_OBJECT, INT, OBJECT_HEADER, OK, TENSOR, TENSOR_POINTER, AnyValue, ByteArray, DLTensor, Profile,
    TVMFFIEnvGetDLPackManagedTensorAllocator, TVMFFIEnvTensorAlloc, TVMFFIErrorSetRaised, TVMFFIObjectDecRef,
    TVMFFIObjectIncRef, TVMFFITensorFromDLPackVersioned, add_spent, count_bytes, free, lay_out, malloc, pthread_self,
)  # fmt: skip


class TypeInfo(Struct):
    """Beginning of TVMFFITypeInfo."""

    index: I32
    depth: I32
    name: Annotated[ByteArray, 1]


@c_function
def snprintf(buffer: Ptr, size: I64, format: Text, *values: Any) -> I32: ...
@c_function
def strlen(text: Text) -> I64: ...
@c_function
def clock_gettime(clock: I32, time: Ptr) -> I32: ...
@c_function
def madvise(address: Ptr, size: I64, advice: I32) -> I32: ...
@c_function
def TVMFFIDataTypeToString(dtype: Ptr, text: AnyValue) -> I32: ...
@c_function
def TVMFFIErrorCreate(kind: ByteArray, message: ByteArray, backtrace: ByteArray, error: Array[Ptr]) -> I32: ...
@c_function
def TVMFFIErrorSetRaisedFromCStr(kind: Text, message: Ptr) -> None: ...
@c_function
def TVMFFIGetTypeInfo(kind: I32) -> TypeInfo: ...


# ---- errors, outside of the path of a successful call ----

#: Limit of a message, MESSAGE_BYTES in ../support.py.
MESSAGE_BYTES, SHAPE_BYTES = 2048, 512


@library_function.cold
def fail(kind: Text, format: Text, where: Text, a: I64, b: I64, c: I64, d: I64) -> I32:
    """Raise an exception. The format of printf takes `where`, then up to four numbers or texts; %.0lld drops a zero."""
    buffer = stack(Ptr, MESSAGE_BYTES // 8)
    length = U64(snprintf(buffer, MESSAGE_BYTES, format, where, a, b, c, d))
    name = stack(ByteArray)[0]
    name.data = Ptr(kind)
    name.size = strlen(kind)
    message = stack(ByteArray)[0]
    message.data = buffer
    message.size = I64(min(length, U64(MESSAGE_BYTES - 1)))
    # Without a backtrace: nothing uses the backtrace of compiled code, and tvm-ffi creates it under a lock that another
    # thread may own when a process is forked.
    backtrace = stack(ByteArray)[0]
    clear(backtrace)
    error = stack(Ptr)
    if TVMFFIErrorCreate(name, message, backtrace, error) == OK:
        raised = error[0]
        TVMFFIErrorSetRaised(raised)
        TVMFFIObjectDecRef(raised)
    else:
        TVMFFIErrorSetRaisedFromCStr(kind, buffer)
    return FAILED


@library_function.cold
def exhausted(format: Text, number: I64) -> Status:
    """Raise a MemoryError. The format takes "out of memory" and a number."""
    raise MemoryError(format, "out of memory", number)


@local_function.cold
def fail_dtype(where: Text, expected: Text, actual: DLTensor) -> Status:
    """Raise a TypeError with a tensor's element type."""
    text = stack(AnyValue)[0]
    clear(text)
    TVMFFIDataTypeToString(place_of(actual.dtype), text)
    # A short text is in the payload itself.
    length = I64(text.length)
    data: Ptr = place_of(text.payload)
    if text.kind >= FIRST_OBJECT:
        content = ByteArray(text.address + OBJECT_HEADER)
        length = content.size
        data = content.data
    try:
        raise TypeError("%s expected dtype %s, got %.*s", where, expected, length, data)
    finally:
        release(text)


@local_function.cold
def fail_shape(format: Text, where: Text, a: I64, b: I64, c: I64, actual: DLTensor) -> Status:
    """Raise a ValueError. The format takes `where`, three numbers, and the first 16 sizes of a tensor's shape as %s."""
    raise ValueError(format, where, a, b, c, write_shape(actual, stack(Ptr, SHAPE_BYTES // 8)))


@local_function
def write_shape(actual: DLTensor, buffer: Ptr) -> Ptr:
    """Return a text of a tensor's sizes."""
    rank, shape = actual.rank, actual.shape
    # A rank above 64 comes from a damaged header, and so does its shape.
    if (U32(rank) > 64) | (shape == NULL) & (rank != 0):
        return Ptr("unknown")
    end = buffer + SHAPE_BYTES
    place = append(buffer, end, "(", 0)
    for axis in range(min(rank, I32(16))):
        place = append(place, end, "%lld" if axis == 0 else ", %lld", shape[axis])
    append(place, end, ", ...)" if rank > 16 else ",)" if rank == 1 else ")", 0)
    return buffer


@local_function.cold
def append(place: Ptr, end: Ptr, format: Text, number: I64) -> Ptr:
    """Print a number to a buffer, and return the end of the text."""
    return place + I64(snprintf(place, I64(end) - I64(place), format, number))


# ---- checks of arguments and of results of functions, before memory is accessed ----

#: Addresses are below, even on x86-64 with five levels of page tables.
ADDRESS_SPACE = 1 << 57
#: Size that a dimension need not have.
ANY_SIZE = -1


class TensorType(Struct):
    """Element type, rank, bytes of an element and sizes that a tensor must have."""

    dtype: I32
    rank: I64
    size: I64
    shape: Annotated[Array[I64], 0]


class CheckedTensor(Struct):
    """Address of the elements and sizes of a tensor."""

    data: Ptr
    shape: Annotated[Array[I64], 0]


@library_function
def check_kind(value: AnyValue, where: Text, expected: Text, kinds: I64) -> Status:
    """Check the type index of a value: bit i of `kinds` allows the value type i, bit 32 + i the object type 64 + i."""
    kind = U32(value.kind)
    bit = kind if kind < 32 else kind - 32
    if not likely(((kind < 32) | (kind - 64 < 32)) and U64(kinds) >> U64(bit) & 1 != 0):
        name = TVMFFIGetTypeInfo(value.kind).name
        raise TypeError("%s expected %s, got %.*s", where, expected, name.size, name.data)


@library_function
def tensor(value: AnyValue) -> DLTensor:
    """Return the DLTensor of a tensor value: inside of an object, or the target of a pointer."""
    address = value.address
    return DLTensor(address + OBJECT_HEADER if value.kind >= FIRST_OBJECT else address)


@library_function
def check_tensor(
    value: AnyValue, where: Text, dtype: Text, shape: Text, expected: TensorType, out: CheckedTensor
) -> Status:
    """Check a tensor, and store its address and sizes. `dtype` and `shape` are the texts of the expected ones."""
    if not likely((value.kind == TENSOR) | (value.kind == TENSOR_POINTER)):
        return check_kind(value, where, "a tensor", 0)
    if value.address == NULL:
        raise ValueError("%s expected a tensor, got a null pointer", where)
    actual = tensor(value)
    rank = expected.rank
    if actual.device != CPU:
        raise ValueError("%s expected a tensor on the CPU, got one on DLPack device type %lld", where, actual.device)
    if actual.dtype != expected.dtype:
        return fail_dtype(where, dtype, actual)
    if I64(actual.rank) != rank:
        text = "%s expected rank %lld%s, got rank %lld: shape %s"
        return fail_shape(text, where, rank, I64(shape), I64(actual.rank), actual)
    if (actual.shape == NULL) & (rank != 0):
        raise ValueError("%s expected a tensor with its sizes, got a null pointer for them", where)
    check_sizes(actual, where, expected, out)
    check_memory(actual, where, rank, expected.size, out)


@local_function
def check_sizes(actual: DLTensor, where: Text, expected: TensorType, out: CheckedTensor) -> Status:
    """Check and store the sizes of a tensor of the right rank."""
    sizes = actual.shape
    for axis in range(expected.rank):
        size = sizes[axis]
        expected_size = expected.shape[axis]
        out.shape[axis] = size
        if expected_size == ANY_SIZE:
            if size < 0:
                text = "%s dimension %lld expected a size of at least %lld, got %lld: shape %s"
                return fail_shape(text, where, axis, 0, size, actual)
        elif size != expected_size:
            text = "%s dimension %lld expected size %lld, got %lld: shape %s"
            return fail_shape(text, where, axis, expected_size, size, actual)


@local_function
def check_memory(actual: DLTensor, where: Text, rank: I64, size: I64, out: CheckedTensor) -> Status:
    """Check and store the address of a tensor: row-major, and within memory. Empty tensors may have any strides."""
    count, is_large, is_strided = count_elements(rank, actual.shape, actual.strides)
    _, overflow = multiply_checked(count, size)
    is_large = is_large | overflow
    is_empty = count == 0
    if unlikely(is_large | is_strided):
        # Sizes may overflow before a size of 0.
        is_empty = has_zero(rank, actual.shape)
        if is_large & (not is_empty):
            text = "%s expected sizes that memory can have, with elements of %lld bytes, got rank %lld%.0lld: shape %s"
            return fail_shape(text, where, size, rank, 0, actual)
        if not is_empty:
            raise ValueError(
                "%s expected contiguous (row-major) memory, got strides that skip or permute elements", where
            )
    base, offset = actual.data, actual.offset
    data = base + offset
    out.data = data
    if is_empty:
        return
    if base == NULL:
        raise ValueError("%s expected data, got a null pointer", where)
    if U64(offset) >= ADDRESS_SPACE:
        raise ValueError("%s expected a byte offset within memory, got %llu", where, offset)
    # Loads and stores assume that the address is a multiple of the element size.
    distance = I64(data) & size - 1
    if distance != 0:
        raise ValueError("%s expected data aligned to %lld bytes, got an address %lld bytes off", where, size, distance)


@local_function
def count_elements(rank: I64, sizes: Array[I64], strides: Array[I64]) -> tuple[I64, bool, bool]:
    """Return the product of sizes, and whether it overflows, and strides (of sizes other than 1) are not row-major."""
    has_strides = strides != NULL
    readable = strides if has_strides else sizes
    count, is_large, is_strided = 1, False, False
    for i in range(rank):
        axis = rank - i - 1
        size = sizes[axis]
        is_strided = is_strided | (readable[axis] != count) & (size != 1) & has_strides
        count, overflow = multiply_checked(count, size)
        is_large = is_large | overflow
    return count, is_large, is_strided


@local_function
def has_zero(rank: I64, sizes: Array[I64]) -> bool:
    """Check whether a size is 0."""
    axis = 0
    while axis < rank and sizes[axis] != 0:
        axis += 1
    return axis < rank


@library_function
def check_size(value: AnyValue, format: Text, where: Text, axis: I64, expected: I64, size: I64) -> Status:
    """Compare a size of a checked tensor with that of earlier arguments. The format is that of fail_shape."""
    if size != expected:
        return fail_shape(format, where, axis, expected, size, tensor(value))


# ---- values ----


@library_function
def release(value: AnyValue) -> None:
    """Release the reference of a value."""
    if value.kind >= FIRST_OBJECT:
        TVMFFIObjectDecRef(value.address)


@library_function
def move(source: AnyValue, target: AnyValue) -> None:
    """Move a value to another place and leave None."""
    copy(target, source)
    clear(source)


@library_function
def give_object(value: AnyValue, place: AnyValue) -> I32:
    """Copy a value to a place, with a new reference to an object."""
    copy(place, value)
    if value.kind >= FIRST_OBJECT:
        TVMFFIObjectIncRef(value.address)
    return OK


# ---- tensors ----

#: MADV_HUGEPAGE of Linux.
HUGE_PAGES = I32(14)


class ManagedTensor(Struct):
    """DLManagedTensorVersioned. Its sizes and strides follow it in the same block."""

    version: I64
    context: Ptr
    deleter: Callable[[Ptr], None]
    flags: I64
    tensor: Annotated[DLTensor, 1]
    shape: Annotated[Array[I64], 0]


@library_function
def wrap(block: Ptr, data: Ptr, rank: I32, dtype: I32, shape: Array[I64], value: AnyValue) -> Status:
    """Create a tensor of data, with its header in a block. Its deleter is `free`, as it may outlive the program."""
    managed = ManagedTensor(block)
    clear(managed)
    managed.version = 1
    managed.deleter = free
    managed.tensor.data = data
    managed.tensor.device = CPU
    managed.tensor.rank = rank
    managed.tensor.dtype = dtype
    managed.tensor.shape = managed.shape
    managed.tensor.strides = managed.shape + I64(rank)
    lay_out(I64(rank), shape, managed.shape)
    status = TVMFFITensorFromDLPackVersioned(block, I32(0), I32(0), place_of(value.address))
    if status != OK:
        free(block)
    require_ok(status)
    value.whole_kind = TENSOR


@library_function
def ask_for_large_pages(block: Ptr, size: I64) -> None:
    """Ask for huge pages for a large new block, like numpy: faults of 4 KB pages take longer than writing the block."""
    if U64(size) >= 4 << 20:
        # From the first page on, for any page size. A system without huge pages ignores the call.
        madvise(mask_pointer(block + 65535, -65536), size - 65535, HUGE_PAGES)


@library_function.apart
def allocate(label: Text, rank: I32, dtype: I32, size: I64, shape: Array[I64], value: AnyValue) -> Status:
    """Create the tensor of a result. Messages begin with its label.

    The caller's framework allocates if it offers to (torch). Otherwise the data are in the block of the header. They
    are aligned to 64 bytes by hand: malloc caches small blocks, aligned_alloc searches for them, which cost more than
    half the time of a call.
    """
    prototype = stack(DLTensor)[0]
    clear(prototype)
    prototype.device = CPU
    prototype.rank = rank
    prototype.dtype = dtype
    prototype.shape = shape
    total = count_bytes(rank, size, shape)
    if total < 0:
        text = "%s: a size is negative or all of them are too large, with elements of %lld bytes%.0lld%.0lld: shape %s"
        return fail_shape(text, label, size, 0, 0, prototype)
    if TVMFFIEnvGetDLPackManagedTensorAllocator() != NULL:
        require_ok(TVMFFIEnvTensorAlloc(prototype, place_of(value.address)))
        value.whole_kind = TENSOR
        return
    padded = size_of(ManagedTensor) + I64(rank) * 16 + 63
    block = malloc(padded + total)
    if block == NULL:
        raise MemoryError("%s: out of memory, %lld bytes needed", label, padded + total)
    ask_for_large_pages(block, padded + total)
    return wrap(block, mask_pointer(block + padded, -64), rank, dtype, shape, value)


@library_function
def data(value: AnyValue) -> Ptr:
    """Return the address of a tensor's elements."""
    header = tensor(value)
    return header.data + header.offset


# ---- profiles ----

# The time of a call excludes nested calls: the clock is reduced by the time that is already in the profile. Only one
# thread is timed, so that other threads neither disturb the times nor race. Loads of the thread are atomic, as any
# thread may write it.

#: Kinds of records in the log, with a number from bit 8 on: begin and end of a kernel, the latter with its place. Other
#: units write complete records.
KERNEL_BEGIN, KERNEL_END = 0, 1
#: CLOCK_MONOTONIC of Linux.
MONOTONIC = I32(1)


class Record(Struct):
    """Kind and number, owner (a thread, or a frame of C calls), and times of an event."""

    what: I64
    whose: I64
    begin: I64
    end: I64


class Log(Struct):
    """Events of a profile (runtime/event_log.py): number of records so far, capacity, timed thread, records."""

    count: I64
    capacity: I64
    thread: I64
    reserved: Annotated[Array[I64], 5]
    records: Annotated[Array[Record], 0]


#: Address of the log, or NULL.
active_log = storage(Ptr)


@library_function.cold
def clock(profile: Profile, thread: I64) -> I64:
    """Return the clock of the timed thread and log the begin of a kernel. Return 0 for other threads."""
    if pthread_self() != thread:
        return 0
    time = now()
    start = time - profile.total
    log(KERNEL_BEGIN, start, time, time)
    return start


@library_function.cold
def add_time(profile: Profile, place: I64, start: I64, thread: I64) -> None:
    """Add the time since a clock of this thread to a place, and log the end of the kernel."""
    if (start != 0) & (pthread_self() == thread):
        time = now()
        add_spent(profile, place, time - profile.total - start)
        log(place << 8 | KERNEL_END, start, time, time)


@library_function
def now() -> I64:
    """Return the nanoseconds of the clock."""
    seconds = stack(I64, 2)
    clock_gettime(MONOTONIC, seconds)
    return seconds[0] * 1000000000 + seconds[1]


@library_function.cold
def log(what: I64, whose: I64, begin: I64, end: I64) -> None:
    """Add a record to the log if there is one, and the record fits."""
    events = Log(atomic_load(active_log, "acquire"))
    if events == NULL:
        return
    number = fetch_add(place_of(events.count), 1, "monotonic")
    if U64(number) < U64(events.capacity):
        record = events.records[number]
        record.what = what
        record.whose = whose
        record.begin = begin
        record.end = end


@library_function
def is_logged() -> bool:
    """Check whether the work of this thread is logged."""
    events = Log(atomic_load(active_log, "acquire"))
    return events != NULL and events.thread == pthread_self()


@library_function
def switch_profile(profile: Profile, arguments: Array[AnyValue], count: I32, result: AnyValue) -> Status:
    """Enable (1, or the address of a log) or disable (0) the profile of the calling thread, for the runtime.

    Return the address of the times in the table.
    """
    if count != 1 or arguments[0].whole_kind != INT:
        raise TypeError("%s: expected 1 to switch on or 0 to switch off", "__relax_profile")
    choice = arguments[0].payload
    thread = pthread_self()
    events = Log(choice if U64(choice) > 1 else 0)
    if events != NULL:
        events.thread = thread
    atomic_store(active_log, Ptr(events), "release")
    atomic_store(place_of(profile.thread), thread if choice != 0 else 0, "monotonic")
    result.whole_kind = INT
    result.payload = I64(place_of(profile.total))
