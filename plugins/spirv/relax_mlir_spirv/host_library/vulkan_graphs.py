# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of known sizes on Vulkan: the launches of a call are recorded into a secondary command buffer.

Calls with tensors at the same addresses run this buffer: one command, whatever the number of kernels. cuda_graphs.py
does the same with graphs that have tensors of their own.

Recording costs as much as launching, so nothing is copied: commands are kept for fixed addresses, and the second call
with the same addresses records them. Temporaries belong to the recording as long as it is kept: a piece that it gives
back has the row's mark (vulkan.py).
"""

from __future__ import annotations

from typing import Annotated

from relax_mlir.targets.host.library.device import DeviceTable, device_record, device_status, device_stream
from relax_mlir.targets.host.library.prelude import OK, pthread_self

from .device_memory import device_lock, device_unlock
from .vulkan import vulkan_forget

from .vulkan_commands import (  # isort: skip
    KeptRow, VulkanPage, vulkan_finish_locked, vulkan_open, vulkan_recorded, vulkan_row,
)  # fmt: skip
from relax_mlir.targets.host.native.language import (  # isort: skip
    I32, I64, NULL, U64, Array, Ptr, Status, Struct, Text, atomic_load, atomic_store, c_function, library_function,
    local_function, memcpy, place_of, stack,
)  # fmt: skip


class FunctionCommands(Struct):
    """Kept commands of a function (vulkan_runtime/kept_commands.py)."""

    #: 0 if no commands are kept, 1 of calls with noted addresses, 2 of all calls.
    mode: I64
    #: Number of times that other commands may still take the place of kept ones.
    left: I64
    next_kept: I64
    next_noted: I64
    kept: Array[KeptRow]
    noted: Array[KeptRow]
    kept_count: I64
    noted_count: I64


NEVER, ALL_CALLS = 0, 2


class VulkanCall(Struct):
    """State of a call."""

    #: LAUNCHES kernel by kernel, RECORDING, or RECORDED commands.
    mode: I64
    page: VulkanPage
    commands: FunctionCommands
    row: KeptRow
    unused: Annotated[Array[I64], 2]
    #: Whether the kernels are to be launched after all.
    launches: I64


LAUNCHES, RECORDING, RECORDED = 0, 1, 2
#: Words in front of the functions in the table of graphs, in units of a function's words.
HEAD = 2


@c_function
def memcmp(a: Ptr, b: Ptr, count: I64) -> I32: ...


# ---- begin of a call ----


@library_function
def vulkan_graph_begin(
    table: DeviceTable, function: I64, label: Text, times: Array[I64], count: I64, given: Array[Ptr], described: Ptr,
    passed: Array[Ptr], call: VulkanCall,
) -> I32:  # fmt: skip
    """Begin a call of the function at a place with `count` tensors at the addresses `given`.

    Store the addresses for kernels in `passed`. They are the same.
    """
    memcpy(passed, given, count * 8)
    if table.graphs == NULL:
        return OK
    commands = Array[FunctionCommands](table.graphs)[function + HEAD]
    mode = atomic_load(place_of(commands.mode), "monotonic")
    # A profiled call launches kernel by kernel, so that each kernel has a time.
    if mode == NEVER or (times != NULL and atomic_load(times, "monotonic") == pthread_self()):
        return OK
    key = stack(Ptr, count + 1)
    memcpy(key, given, count * 8)
    key[count] = device_record(table)
    page = VulkanPage(device_stream(table))
    device_lock(page.mutex)
    row = find_row(commands.kept, commands.kept_count, key)
    call_mode = RECORDED
    if row == NULL:
        call_mode = RECORDING
        if mode == ALL_CALLS or find_row(commands.noted, commands.noted_count, key) != NULL:
            row = start(page, commands, key)
        else:
            set_key(next_row(commands.noted, commands.noted_count, place_of(commands.next_noted)), key)
    if row == NULL:
        device_unlock(page.mutex)
        return OK
    call.mode = call_mode
    call.page = page
    call.commands = commands
    call.row = row
    return OK


# ---- rows; with the mutex ----


@local_function
def find_row(rows: Array[KeptRow], count: I64, key: Array[Ptr]) -> KeptRow:
    """Return the row for tensors at these addresses, or NULL."""
    for i in range(count):
        row = rows[i]
        if memcmp(row.key, key, row.words * 8) == OK:
            return row
    return NULL


@local_function
def next_row(rows: Array[KeptRow], count: I64, place: Array[I64]) -> KeptRow:
    """Return the next row to replace, in turns."""
    number = place[0]
    place[0] = I64(U64(number + 1) % U64(count))
    return rows[number]


@local_function
def set_key(row: KeptRow, key: Array[Ptr]) -> None:
    """Set the addresses of a row."""
    memcpy(row.key, key, row.words * 8)


# ---- recording; with the mutex ----


@local_function.cold
def start(page: VulkanPage, commands: FunctionCommands, key: Array[Ptr]) -> KeptRow:
    """Return a row into which this thread's commands are recorded from now on, or NULL if that is impossible."""
    row = next_row(commands.kept, commands.kept_count, place_of(commands.next_kept))
    if row.count != 0:
        # A limit, because commands for addresses that do not recur never run again. The new commands get the memory
        # of the replaced ones.
        if commands.left <= 0:
            return NULL
        commands.left -= 1
        device_lock(page)
        status = vulkan_finish_locked(page)
        device_unlock(page)
        if status != OK:
            return NULL
    set_key(row, key)
    device_lock(page)
    status = page.vkBeginCommandBuffer(row.buffer, page.kept_begin_info)
    if status == OK:
        page.kept_row = row
        page.kept_used = U64(0)
        page.kept_count = 0
        atomic_store(place_of(page.thread), pthread_self(), "monotonic")
    device_unlock(page)
    if status == OK:
        return row
    give_up(page, commands, row)
    return NULL


@local_function
def stop(page: VulkanPage, row: KeptRow) -> I64:
    """End a recording. Return the number of its commands, or 0 if it is of no use."""
    device_lock(page)
    atomic_store(place_of(page.thread), 0, "monotonic")
    status = page.vkEndCommandBuffer(row.buffer)
    count = page.kept_count
    device_unlock(page)
    return max(count, 0) if status == OK else 0


@local_function
def give_up(page: VulkanPage, commands: FunctionCommands, row: KeptRow) -> None:
    """Record no commands of the function any more. Free the memory of a row. Its commands are not under way."""
    atomic_store(place_of(commands.mode), NEVER, "monotonic")
    row.count = 0
    row.key[row.words - 1] = NULL
    vulkan_forget(page, row)


# ---- end of a call ----


@library_function
def vulkan_graph_end(
    table: DeviceTable, label: Text, count: I64, given: Ptr, described: Ptr, call: VulkanCall
) -> Status:  # fmt: skip
    """End a call: run the recorded commands after recording, or in place of the launches."""
    page, row = call.page, call.row
    if call.mode == LAUNCHES:
        return
    if call.mode == RECORDING:
        row.count = stop(page, row)
        if row.count == 0:
            give_up(page, call.commands, row)
            call.launches = 1
            return
    device_lock(page)
    status = run(page, row)
    device_unlock(page)
    device_status(table, label, "vkCmdExecuteCommands", status)


@local_function
def run(page: VulkanPage, row: KeptRow) -> I32:
    """Run recorded commands after all others. The caller holds the lock of the page."""
    status = vulkan_open(page)
    if status != OK:
        return status
    page.vkCmdExecuteCommands(vulkan_row(page).buffer, I32(1), row)
    page.count += row.count - 1
    return vulkan_recorded(page)


@library_function
def vulkan_graph_leave(call: VulkanCall) -> None:
    """End a call, whatever came of it."""
    if call.mode == LAUNCHES:
        return
    page = call.page
    # A launch has failed while it was recorded: none has run.
    if atomic_load(place_of(page.thread), "monotonic") != 0:
        stop(page, call.row)
        give_up(page, call.commands, call.row)
    device_unlock(page.mutex)
