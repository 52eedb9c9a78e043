# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host code of programs for a device: the table that describes the device, memory, copies, launches, assertions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from ..native.language import (
    F32, I32, I64, NULL, U64, Array, Ptr, Status, Struct, Text, atomic_load, c_function, compare_exchange,
    library_function, local_function, memcpy, place_of, require_ok, stack, storage,
)  # fmt: skip
from .prelude import INT, OK, POINTER, AnyValue, pthread_self
from .support import fail

# ---- the table ----

#: Copies bytes on a stream: target, source, number.
Copy = Callable[[Ptr, Ptr, I64, Ptr], I32]
#: Stores the driver's text of a status.
AskText = Callable[[I32, Array[Text]], I32]


class FailureText(Struct):
    """Exception and format of an assertion's message."""

    kind: Text
    format: Text


class FailureRecord(Struct):
    """Failed assertion of a kernel, in host memory. A kernel sets `is_set` before the other fields."""

    is_set: I32
    where: Text
    message: FailureText
    numbers: Annotated[Array[I64], 4]
    unused: I64


class FailureFlag(Struct):
    """Flag in device memory for kernels: 1 after a failed assertion, and the address of the record."""

    is_set: I32
    record: Ptr
    unused: Annotated[Array[I64], 6]


class StatusRow(Struct):
    """Name and text of a status. The row behind the last one is zero."""

    number: I32
    name: Text
    text: Text


class GraphState(Struct):
    """Graph of a function. A thread owns the graph while it launches the graph."""

    is_taken: I64
    graph: Ptr
    #: Event behind the last launch.
    event: Ptr
    #: Memory of the graph: the flag for assertions of its kernels, then tensors.
    memory: Ptr
    has_assertions: I64
    #: Number of calls before the recorded call, or -1 if no call is recorded.
    calls_before: I64
    #: Stream of the last launch.
    stream: Ptr
    #: 1 if an estimate chose the graph, 0 if the user asked for it.
    is_estimated: I64


class GraphTable(Struct):
    """Functions of the driver for graphs, and state of the graph in recording (runtime/cuda/graphs.py).

    One function of a program is recorded at a time, on `stream`. Its kernels use the flag `flag` for assertions, and
    `has_assertions` becomes 1 if a kernel has some.
    """

    create_stream: Callable[[Array[Ptr], I32], I32]
    destroy_stream: Callable[[Ptr], I32]
    begin: Callable[[Ptr, I32], I32]
    end: Callable[[Ptr, Array[Ptr]], I32]
    instantiate: Callable[[Array[Ptr], Ptr, I64], I32]
    destroy_graph: Callable[[Ptr], I32]
    launch: Callable[[Ptr, Ptr], I32]
    is_capturing: Callable[[Ptr, Array[I32]], I32]
    wait_for_event: Callable[[Ptr, Ptr, I32], I32]
    allocate: Callable[[Array[Ptr], I64], I32]
    is_recording: I64
    stream: Ptr
    flag: Ptr
    has_assertions: I64
    query_event: Callable[[Ptr], I32]
    exchange_mode: Callable[[Array[I32]], I32]
    functions: Annotated[Array[GraphState], 1]


class DeviceTable(Struct):
    """Table that the runtime fills (DEVICE_SLOTS of support.py, runtime/devices/device_program.py).

    The driver's functions have the signatures of CUDA's functions. For other drivers the program has functions with
    these signatures (device_functions.py). Status 0 is success, 2 is out of memory. Work goes to the caller's
    stream: the device's only stream, or the stream that TVMFFIEnvGetStream returns for the device.
    """

    context: Ptr
    number: I32
    #: For each calling thread.
    flags: Array[FailureFlag]
    records: Array[FailureRecord]
    kernel_names: Array[Text]
    #: Function that frees results. It belongs to the process.
    deleter: Callable[[Ptr], None]
    push_context: Callable[[Ptr], I32]
    pop_context: Callable[[Array[Ptr]], I32]
    launch: Callable[[Ptr, I32, I32, I32, I32, I32, I32, I32, Ptr, Ptr, Ptr], I32]
    allocate: Callable[[Array[Ptr], I64, Ptr], I32]
    free: Callable[[Ptr, Ptr], I32]
    write: Copy
    read: Copy
    copy: Copy
    wait: Callable[[Ptr], I32]
    #: Waits for all streams. CUDA's function has no parameter and ignores the stream.
    wait_for_all: Callable[[Ptr], I32]
    #: Functions for the name and the text of a status. Without them, `statuses` has the names and texts.
    ask_name: AskText
    ask_text: AskText
    #: NULL for all five functions of events: the host's clock measures times, after waits.
    create_event: Callable[[Array[Ptr], I32], I32]
    record_event: Callable[[Ptr, Ptr], I32]
    wait_for_event: Callable[[Ptr], I32]
    #: Stores the milliseconds between two events.
    measure: Callable[[Array[F32], Ptr, Ptr], I32]
    destroy_event: Callable[[Ptr], I32]
    #: NULL without graphs.
    graphs: GraphTable
    #: cuTensorMapEncodeTiled (device_tensor_maps.py), if kernels need it.
    encode_map: Callable[[Ptr, I32, I32, Ptr, Ptr, Ptr, Ptr, Ptr, I32, I32, I32, I32], I32]
    #: DLPack's number of the kind, and the name of the kind: "cuda".
    kind: I32
    kind_name: Text
    #: Names of the functions in this table, by their slots.
    function_names: Array[Text]
    #: Only stream of the device, or NULL if callers have streams.
    stream: Ptr
    statuses: Array[StatusRow]
    kernels: Annotated[Array[Ptr], 1]


#: Slots of functions in the table, for messages.
PUSH_CONTEXT, LAUNCH, ALLOCATE, WRITE, READ, COPY, WAIT, WAIT_FOR_ALL = 6, 8, 9, 11, 12, 13, 14, 15
ONE, OUT_OF_MEMORY = I32(1), I32(2)


@c_function
def TVMFFIEnvGetStream(kind: I32, number: I32) -> Ptr: ...


# ---- initialization by the loader ----


@library_function
def set_device(table: DeviceTable, wanted: I64, arguments: Array[AnyValue], count: I32) -> Status:
    """Fill the table. The owner of all entries comes with the constants (support.py)."""
    start, total = arguments[0], arguments[1]
    if count != 2 or (start.kind != POINTER) | (total.kind != INT) or total.payload != wanted or table.context != NULL:
        text = "%s: expected, once, a pointer to %lld addresses and their number"
        raise ValueError(text, "__relax_set_device", wanted)
    memcpy(table, start.address, wanted * 8)


# ---- errors ----

DRIVER_ERROR = "%s: %s: %s: %s"


@library_function.cold
def device_fail(table: DeviceTable, where: Text, call: Text, status: I32) -> Status:
    """Raise the error of a driver's function with a status."""
    if table.ask_name != NULL:
        name = driver_text(table.ask_name, status)
        text = driver_text(table.ask_text, status)
    else:
        row = status_row(table.statuses, status)
        name, text = row.name, row.text
    name = "unknown error" if name == NULL else name
    text = "the driver says no more" if text == NULL else text
    if status == OUT_OF_MEMORY:
        raise MemoryError(DRIVER_ERROR, where, call, name, text)
    raise RuntimeError(DRIVER_ERROR, where, call, name, text)


@local_function
def driver_text(ask: AskText, status: I32) -> Text:
    """Return the driver's text for a status, or NULL."""
    text = stack(Text)
    text[0] = NULL
    ask(status, text)
    return text[0]


@local_function
def status_row(rows: Array[StatusRow], status: I32) -> StatusRow:
    """Return the row of a status, or the zero row at the end."""
    place = 0
    while (rows[place].number != status) & (rows[place].number != OK):
        place += 1
    return rows[place]


@library_function
def device_answer(table: DeviceTable, where: Text, slot: I64, status: I32) -> Status:
    """Raise a status other than 0 as an error of the function in a slot of the table."""
    if status != OK:
        device_fail(table, where, table.function_names[slot], status)


@library_function
def device_status(table: DeviceTable, where: Text, call: Text, status: I32) -> Status:
    """Raise a status other than 0."""
    if status != OK:
        device_fail(table, where, call, status)


# ---- the context ----


@local_function
def device_nothing(context: Ptr) -> I32:
    """Enter or leave a device that has no context."""
    return OK


@library_function
def device_enter(table: DeviceTable) -> Status:
    """Make the device's context current in this thread, until device_leave."""
    context = table.context
    if context == NULL:
        raise ValueError("the program's device is not set: call %s first", "__relax_set_device")
    device_answer(table, "the device", PUSH_CONTEXT, table.push_context(context))


@library_function
def device_leave(table: DeviceTable) -> None:
    """End device_enter."""
    table.pop_context(stack(Ptr))


@library_function
def device_stream(table: DeviceTable) -> Ptr:
    """Return the caller's stream."""
    return stream_of(table.stream, table.kind, table.number)


@library_function
def stream_of(only: Ptr, kind: I32, number: I32) -> Ptr:
    """Return the only stream of a device, or the caller's stream if it is NULL."""
    return TVMFFIEnvGetStream(kind, number) if only == NULL else only


# ---- kernels ----


@library_function
def device_launch(table: DeviceTable, kernel: I64, blocks: I64, threads: I64, shared: I64, parameters: Ptr) -> Status:
    """Launch a kernel by its place, with the addresses of its parameters. Skip 0 blocks."""
    if blocks <= 0:
        return
    where = table.kernel_names[kernel]
    if blocks > 2147483647:
        raise ValueError("%s: %lld blocks were asked for, a launch takes 2147483647", where, blocks)
    handle = table.kernels[kernel]
    launch = table.launch
    stream = device_stream(table)
    status = launch(handle, I32(blocks), ONE, ONE, I32(threads), ONE, ONE, I32(shared), stream, parameters, NULL)
    device_answer(table, where, LAUNCH, status)


#: Each calling thread has a record of its own: a failed assertion is reported only to the thread that launched the
#: kernel, and stops only its kernels. The threads after the 63rd share the last record.
LAST_CALLER = 63
callers = storage(I64, LAST_CALLER)


@local_function
def device_caller() -> I64:
    """Return the number of this thread's record."""
    own = pthread_self()
    for i in range(LAST_CALLER):
        known = atomic_load(place_of(callers[i]), "monotonic")
        if known == own:
            return i
        if known == 0:
            _, is_mine = compare_exchange(place_of(callers[i]), 0, own, "monotonic", "monotonic")
            if is_mine:
                return i
    return LAST_CALLER


@library_function
def device_record(table: DeviceTable) -> Ptr:
    """Return the assertion flag of the kernels that this thread launches. A graph in recording has its own flag."""
    graphs = table.graphs
    if graphs != NULL:
        recorded = atomic_load(place_of(graphs.stream), "monotonic")
        if (recorded == device_stream(table)) & (recorded != NULL):
            graphs.has_assertions = 1
            return graphs.flag
    return table.flags[device_caller()]


@library_function
def device_check(table: DeviceTable) -> Status:
    """Raise a failed assertion of a kernel that this thread launched."""
    record = table.records[device_caller()]
    if atomic_load(place_of(record.is_set), "acquire") != 0:
        device_raise(table, record)


@local_function.cold
def device_raise(table: DeviceTable, record: FailureRecord) -> Status:
    """Raise the failed assertion of a record, once. The kernel may still write the record."""
    status = table.wait_for_all(device_stream(table))
    device_answer(table, "the device", WAIT_FOR_ALL, status)
    where, message, numbers = record.where, record.message, record.numbers
    a, b, c, d = numbers[0], numbers[1], numbers[2], numbers[3]
    # Only one of several threads that share the record raises the error.
    _, is_mine = compare_exchange(place_of(record.is_set), ONE, OK, "acq_rel", "monotonic")
    if is_mine:
        # Later kernels do their work again, on any stream.
        zero = stack(I32)
        zero[0] = OK
        device_write(table, device_record(table), zero, 4)
        require_ok(fail(message.kind, message.format, where, a, b, c, d))


# ---- memory ----


@library_function
def device_take(table: DeviceTable, size: I64, place: Array[Ptr]) -> I32:
    """Allocate device memory and store its address. 0 bytes get an address, too. Return the driver's status."""
    allocate = table.allocate
    stream = device_stream(table)
    place[0] = NULL
    return allocate(place, I64(max(U64(size), U64(1))), stream)


@library_function
def device_alloc(table: DeviceTable, size: I64) -> Ptr:
    """Allocate device memory. Return its address, or NULL."""
    place = stack(Ptr)
    status = device_take(table, size, place)
    return place[0] if status == OK else NULL


@library_function
def device_free(table: DeviceTable, address: Ptr) -> None:
    """Free device memory."""
    if address != NULL:
        free = table.free
        free(address, device_stream(table))


@local_function
def device_move(table: DeviceTable, slot: I64, to: Ptr, source: Ptr, size: I64) -> Status:
    """Copy with the driver's function in a slot of the table."""
    if size != 0:
        function = Array[Copy](table)[slot]
        status = function(to, source, size, device_stream(table))
        device_answer(table, "copying memory", slot, status)


@library_function
def device_wait(table: DeviceTable) -> Status:
    """Wait for the caller's stream."""
    function = table.wait
    device_answer(table, "the device", WAIT, function(device_stream(table)))


@library_function
def device_read(table: DeviceTable, host: Ptr, device: Ptr, size: I64) -> Status:
    """Copy to the host and wait. Raise failed assertions of kernels."""
    device_wait(table)
    # A kernel with a failed assertion has not written its results.
    device_check(table)
    device_move(table, READ, host, device, size)
    device_wait(table)


@library_function
def device_write(table: DeviceTable, device: Ptr, host: Ptr, size: I64) -> Status:
    """Copy to the device and wait, as the host's memory may be freed after the call."""
    device_move(table, WRITE, device, host, size)
    device_wait(table)


@library_function
def device_copy(table: DeviceTable, to: Ptr, source: Ptr, size: I64) -> Status:
    """Copy on the device."""
    device_move(table, COPY, to, source, size)
