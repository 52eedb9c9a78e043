# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands of programs for Vulkan: recording into the ring of command buffers or into kept ones (vulkan_graphs.py),
submission and waiting. Callers hold the lock of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from relax_mlir.targets.host.library.prelude import OK, pthread_self

from .device_memory import DevicePage

from relax_mlir.targets.host.native.language import (  # isort: skip
    I32, I64, NULL, U64, Array, Ptr, Struct, atomic_load, clear, library_function, local_function, place_of, stack,
)  # fmt: skip


class CommandRow(Struct):
    """Row of the ring."""

    buffer: Ptr
    #: Value of the timeline when the device is through with the commands.
    value: I64
    #: Parameters of launches as the host and as the device sees them.
    host: Ptr
    address: U64


class KeptRow(CommandRow):
    """Row of kept commands, or of noted addresses."""

    #: Number of commands, 0 if there are none.
    count: Annotated[I64, "value"]
    #: Bytes of parameters of launches.
    room: U64
    #: Addresses of the tensors, and last of the thread's flag of failed assertions, which is 0 in a row of nothing.
    key: Array[Ptr]
    words: I64
    unused: I64


class BufferInfo(Struct):
    """VkBufferCreateInfo."""

    head: Annotated[Array[I64], 3]
    size: U64


class MemoryInfo(Struct):
    """VkMemoryAllocateInfo."""

    head: Annotated[Array[I64], 2]
    size: U64


class AddressInfo(Struct):
    """VkBufferDeviceAddressInfo."""

    head: Annotated[Array[I64], 2]
    buffer: I64


class CopyRegion(Struct):
    """VkBufferCopy."""

    source: I64
    target: I64
    size: I64


class VulkanPage(DevicePage):
    """State of a device (vulkan_runtime/opened.py)."""

    device: Ptr
    queue: Ptr
    #: Timeline, and its value once the device has done all that was submitted.
    semaphore: I64
    value: I64
    #: Number of recorded commands.
    count: I64
    place: I64
    rows: U64
    ring: Array[CommandRow]
    #: Bytes of parameters in each row, and bytes in use.
    room: U64
    used: U64
    #: Most commands of a buffer.
    most_commands: I64
    #: Whether memory is mapped. If not, copies use staging memory.
    is_mapped: I64
    staging: Ptr
    staging_buffer: I64
    staging_size: I64
    buffer_info: BufferInfo
    memory_info: MemoryInfo
    address_info: AddressInfo
    begin_info: Ptr
    barrier: Ptr
    submit_info: Ptr
    region: CopyRegion
    #: VkMemoryRequirements, which begins with the size.
    needs: Array[U64]
    #: Most blocks of a dimension.
    most_blocks: U64
    #: Command buffer in use.
    buffer: Ptr
    #: Thread that records a function's commands, or 0. Its row, and the bytes of parameters in use there.
    thread: I64
    kept_row: KeptRow
    kept_used: U64
    #: Number of commands there, or -1 if they cannot be kept.
    kept_count: I64
    kept_begin_info: Ptr
    unused: Annotated[Array[I64], 2]
    vkCreateBuffer: Callable[[Ptr, Ptr, Ptr, Ptr], I32]
    vkDestroyBuffer: Callable[[Ptr, I64, Ptr], None]
    vkGetBufferMemoryRequirements: Callable[[Ptr, I64, Ptr], None]
    vkAllocateMemory: Callable[[Ptr, Ptr, Ptr, Ptr], I32]
    vkFreeMemory: Callable[[Ptr, I64, Ptr], None]
    vkBindBufferMemory: Callable[[Ptr, I64, I64, I64], I32]
    vkMapMemory: Callable[[Ptr, I64, I64, I64, I32, Ptr], I32]
    vkGetBufferDeviceAddress: Callable[[Ptr, Ptr], U64]
    vkBeginCommandBuffer: Callable[[Ptr, Ptr], I32]
    vkEndCommandBuffer: Callable[[Ptr], I32]
    vkCmdPipelineBarrier: Callable[[Ptr, I32, I32, I32, I32, Ptr, I32, Ptr, I32, Ptr], None]
    vkCmdBindPipeline: Callable[[Ptr, I32, I64], None]
    vkCmdPushConstants: Callable[[Ptr, I64, I32, I32, I32, Ptr], None]
    vkCmdDispatch: Callable[[Ptr, I32, I32, I32], None]
    vkCmdCopyBuffer: Callable[[Ptr, I64, I64, I32, Ptr], None]
    vkQueueSubmit: Callable[[Ptr, I32, Ptr, Ptr], I32]
    vkWaitSemaphores: Callable[[Ptr, Ptr, I64], I32]
    vkCmdExecuteCommands: Callable[[Ptr, I32, Ptr], None]
    also_unused: Annotated[Array[I64], 6]
    #: Mutex of the thread that looks for kept commands, or records some.
    mutex: Annotated[Array[I64], 8]


class WaitInfo(Struct):
    """VkSemaphoreWaitInfo."""

    type: I32
    next: Ptr
    flags: I32
    count: I32
    semaphores: Array[I64]
    values: Array[I64]


#: VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO.
WAIT_INFO = I32(1000207004)
#: Stages of compute shaders and transfers, and also of the host.
STAGES, STAGES_AND_HOST = I32(0x1800), I32(0x5800)


@library_function
def vulkan_wait_for(page: VulkanPage, value: I64) -> I32:
    """Wait until the device has done what was submitted up to a value of the timeline."""
    info = stack(WaitInfo)[0]
    values = stack(I64)
    values[0] = value
    clear(info)
    info.type = WAIT_INFO
    info.count = I32(1)
    info.semaphores = place_of(page.semaphore)
    info.values = values
    return page.vkWaitSemaphores(page.device, info, -1)


@library_function
def vulkan_is_kept(page: VulkanPage) -> bool:
    """Check whether this thread records commands that will be kept."""
    return atomic_load(place_of(page.thread), "monotonic") == pthread_self()


@library_function
def vulkan_row(page: VulkanPage) -> CommandRow:
    """Return the row that this thread records into: of the ring, or one that is kept."""
    return page.kept_row if vulkan_is_kept(page) else ring_row(page)


@local_function
def ring_row(page: VulkanPage) -> CommandRow:
    """Return the current row of the ring."""
    return page.ring[page.place]


@library_function
def vulkan_room(page: VulkanPage) -> tuple[Array[U64], U64]:
    """Return the address of the row's count of used parameter bytes, and the number of all its parameter bytes."""
    if vulkan_is_kept(page):
        return place_of(page.kept_used), page.kept_row.room
    return place_of(page.used), page.room


@library_function
def vulkan_open(page: VulkanPage) -> I32:
    """Begin a command buffer if none is begun, once the device is through with it."""
    if page.count != 0 or vulkan_is_kept(page):
        return OK
    row = ring_row(page)
    status = vulkan_wait_for(page, row.value)
    if status != OK:
        return status
    page.buffer = row.buffer
    page.used = U64(0)
    return page.vkBeginCommandBuffer(row.buffer, page.begin_info)


@library_function
def vulkan_recorded(page: VulkanPage) -> I32:
    """Let the commands behind a new command see what it has written, and count it. Submit the ring's full buffer."""
    buffer = vulkan_row(page).buffer
    page.vkCmdPipelineBarrier(
        buffer, STAGES, STAGES_AND_HOST, I32(0), I32(1), page.barrier, I32(0), NULL, I32(0), NULL
    )  # fmt: skip
    if vulkan_is_kept(page):
        if page.kept_count >= 0:
            page.kept_count += 1
        return OK
    page.count += 1
    return vulkan_flush(page) if page.count >= page.most_commands else OK


@library_function
def vulkan_flush(page: VulkanPage) -> I32:
    """Submit the recorded commands."""
    if page.count == 0:
        return OK
    page.count = 0
    status = page.vkEndCommandBuffer(page.buffer)
    if status != OK:
        return status
    # The submission sets the timeline to this value when its commands end.
    page.value += 1
    status = page.vkQueueSubmit(page.queue, I32(1), page.submit_info, NULL)
    if status != OK:
        page.value -= 1
        return status
    ring_row(page).value = page.value
    page.place = I64(U64(page.place + 1) % page.rows)
    return OK


@library_function
def vulkan_finish_locked(page: VulkanPage) -> I32:
    """Submit the recorded commands and wait for all commands."""
    status = vulkan_flush(page)
    return vulkan_wait_for(page, page.value) if status == OK else status
