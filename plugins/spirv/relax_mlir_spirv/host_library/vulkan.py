# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver functions of programs for Vulkan: the functions that device.py calls, with its signatures, written with vk*.

A stream is the device's page. vulkan_commands.py records commands in order into a ring of command buffers, each command
followed by a barrier, and submits a buffer when a thread waits or the buffer is full. vulkan_graphs.py records the
commands of a function once. Statuses are Vulkan's or device_memory.py's.
"""

from __future__ import annotations

from relax_mlir.targets.host.library.device_functions import device_functions
from relax_mlir.targets.host.library.prelude import OK, free, malloc

from .device_memory import (  # isort: skip
    FOREIGN, FULL, Chunk, Piece, add_piece, device_give_piece, device_lock,
    device_piece_of, device_take_piece, device_unlock,
)  # fmt: skip
from .vulkan_commands import (  # isort: skip
    VulkanPage, vulkan_finish_locked, vulkan_flush, vulkan_is_kept, vulkan_open, vulkan_recorded, vulkan_room,
    vulkan_row, vulkan_wait_for,
)  # fmt: skip
from relax_mlir.targets.host.native.language import (  # isort: skip
    I32, I64, NULL, U32, U64, Array, Ptr, Struct, clear, library_function, local_function, memcpy,
    place_of, size_of, stack,
)  # fmt: skip


class VulkanKernel(Struct):
    """Handle of a kernel."""

    pipeline: I64
    layout: I64
    #: Words of its parameters. The last is the number of blocks, which are more than one dimension may take.
    words: I64
    #: Whether the parameters are in memory, and it gets their address.
    is_in_memory: I64
    #: Number of its blocks for each block of a launch.
    smaller: U64


# ---- memory; with the lock (device_memory.py calls these) ----


@local_function
def drop(page: VulkanPage, chunk: Chunk) -> None:
    """Free a chunk, or the parts of a chunk that could not be created."""
    vulkan_finish_locked(page)
    page.vkDestroyBuffer(page.device, chunk.buffer, NULL)
    page.vkFreeMemory(page.device, chunk.memory, NULL)
    page.total -= chunk.size
    free(chunk)


@local_function
def grow(page: VulkanPage, size: U64) -> I32:
    """Allocate a chunk, with one free piece before all others."""
    chunk = Chunk(malloc(size_of(Chunk)))
    if chunk == NULL:
        return FULL
    clear(chunk)
    chunk.size = size
    page.total += size
    status = fill(page, chunk)
    if status == OK:
        return OK
    drop(page, chunk)
    # VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY, VK_ERROR_TOO_MANY_OBJECTS.
    return FULL if (status == -1) | (status == -2) | (status == -10) else status


@local_function
def fill(page: VulkanPage, chunk: Chunk) -> I32:
    """Create a chunk's buffer and memory, and its piece."""
    page.buffer_info.size = chunk.size
    status = page.vkCreateBuffer(page.device, page.buffer_info, NULL, place_of(chunk.buffer))
    if status != OK:
        return status
    page.vkGetBufferMemoryRequirements(page.device, chunk.buffer, page.needs)
    page.memory_info.size = page.needs[0]
    status = page.vkAllocateMemory(page.device, page.memory_info, NULL, place_of(chunk.memory))
    if status != OK:
        return status
    status = page.vkBindBufferMemory(page.device, chunk.buffer, chunk.memory, 0)
    if status == OK and page.is_mapped != 0:
        status = page.vkMapMemory(page.device, chunk.memory, 0, -1, I32(0), place_of(chunk.host))
    if status != OK:
        return status
    page.address_info.buffer = chunk.buffer
    chunk.address = page.vkGetBufferDeviceAddress(page.device, page.address_info)
    piece = Piece(malloc(size_of(Piece)))
    if piece == NULL:
        return FULL
    add_piece(page, piece, chunk)
    return OK


@local_function
def take(place: Array[U64], asked: U64, page: VulkanPage) -> I32:
    """Allocate memory. A recording takes what it has given back, if it fits."""
    if vulkan_is_kept(page):
        device_lock(page)
        address = reuse(page, asked)
        device_unlock(page)
        if address != 0:
            place[0] = address
            return OK
    return device_take_piece(place, asked, page)


@local_function
def give(address: Ptr, page: VulkanPage) -> I32:
    """Free memory. Memory that a kept recording gives back stays reserved for the recording."""
    if not vulkan_is_kept(page):
        return device_give_piece(address, page)
    device_lock(page)
    device_piece_of(page, U64(address)).mark = mark_of(vulkan_row(page))
    device_unlock(page)
    return OK


@local_function
def mark_of(row: Ptr) -> U64:
    """Return the mark of pieces that the recording of a row has given back."""
    return U64(row) + 1


@local_function
def reuse(page: VulkanPage, size: U64) -> U64:
    """Take a piece that the current recording has given back. Return its address, or 0."""
    piece = marked_piece(page, mark_of(vulkan_row(page)), size)
    if piece == NULL:
        return U64(0)
    piece.mark = U64(1)
    return piece.address


@local_function
def marked_piece(page: VulkanPage, mark: U64, size: U64) -> Piece:
    """Return the first piece with a mark that is large enough, or NULL."""
    piece = page.first
    while piece != NULL:
        if (piece.mark == mark) & (piece.size >= size):
            return piece
        piece = piece.next
    return NULL


@library_function
def vulkan_forget(page: VulkanPage, row: Ptr) -> None:
    """Free the memory of a row's commands, which are kept no more."""
    while True:
        device_lock(page)
        piece = marked_piece(page, mark_of(row), U64(0))
        device_unlock(page)
        if piece == NULL:
            return
        device_give_piece(Ptr(I64(piece.address)), page)


# ---- functions that device.py calls ----


@local_function
def finish(page: VulkanPage) -> I32:
    """Wait for all that was started before, without keeping others from starting more."""
    device_lock(page)
    status = vulkan_flush(page)
    value = page.value
    device_unlock(page)
    return vulkan_wait_for(page, value) if status == OK else status


@local_function
def launch(
    kernel: VulkanKernel, blocks: U32, y: I32, z: I32, threads: I32, y2: I32, z2: I32, shared: I32, page: VulkanPage,
    params: Array[Ptr], extra: Ptr,
) -> I32:  # fmt: skip
    """Start a kernel. `params` has the addresses of its parameters except the number of blocks."""
    device_lock(page)
    status = record_launch(page, kernel, params, U64(blocks) * kernel.smaller)
    device_unlock(page)
    return status


@local_function
def record_launch(page: VulkanPage, kernel: VulkanKernel, params: Array[Ptr], blocks: U64) -> I32:
    """Record a launch, with its parameters in the command or in the row's memory; with the lock."""
    size = U64(kernel.words * 8)
    if kernel.is_in_memory == 0:
        status = vulkan_open(page)
        if status != OK:
            return status
        words = stack(U64, kernel.words)
        return dispatch(page, kernel, params, blocks, words, words, size)
    while True:
        status = vulkan_open(page)
        if status != OK:
            return status
        used, room = vulkan_room(page)
        before = used[0]
        if before + size <= room:
            used[0] = before + size
            row = vulkan_row(page)
            address = stack(U64)
            address[0] = row.address + before
            return dispatch(page, kernel, params, blocks, Array[U64](row.host + I64(before)), address, U64(8))
        if vulkan_is_kept(page):
            # Commands that cannot be kept are launched later, kernel by kernel.
            page.kept_count = -1
            return OK
        status = vulkan_flush(page)
        if status != OK:
            return status


#: VK_PIPELINE_BIND_POINT_COMPUTE, VK_SHADER_STAGE_COMPUTE_BIT.
COMPUTE, COMPUTE_STAGE = I32(1), I32(0x20)


@local_function
def dispatch(
    page: VulkanPage, kernel: VulkanKernel, params: Array[Ptr], blocks: U64, words: Array[U64], pushed: Array[U64],
    size: U64,
) -> I32:  # fmt: skip
    """Store the parameters in words, push some bytes, and dispatch as many rows of blocks as it takes."""
    last = kernel.words - 1
    for i in range(last):
        words[i] = Array[U64](params[i])[0]
    words[last] = blocks
    buffer = vulkan_row(page).buffer
    page.vkCmdBindPipeline(buffer, COMPUTE, kernel.pipeline)
    page.vkCmdPushConstants(buffer, kernel.layout, COMPUTE_STAGE, I32(0), I32(size), pushed)
    columns = min(blocks, page.most_blocks)
    rows = (blocks - 1) // columns + 1
    page.vkCmdDispatch(buffer, I32(columns), I32(rows), I32(1))
    return vulkan_recorded(page)


@local_function
def record_copy(page: VulkanPage, source: I64, source_offset: I64, target: I64, target_offset: I64, size: I64) -> I32:
    """Record a copy from one buffer to another; with the lock."""
    status = vulkan_open(page)
    if status != OK:
        return status
    region = page.region
    region.source = source_offset
    region.target = target_offset
    region.size = size
    page.vkCmdCopyBuffer(vulkan_row(page).buffer, source, target, I32(1), region)
    return vulkan_recorded(page)


@local_function
def chunk_of(page: VulkanPage, address: Ptr) -> Chunk:
    """Return the chunk that an address is in, or NULL; with the lock."""
    piece = device_piece_of(page, U64(address))
    return piece.chunk if piece != NULL else NULL


@local_function
def offset_in(chunk: Chunk, address: Ptr) -> I64:
    """Return the offset of an address in its chunk."""
    return I64(U64(address) - chunk.address)


@local_function
def copy_on_device(to: Ptr, source: Ptr, size: I64, page: VulkanPage) -> I32:
    """Copy on the device."""
    device_lock(page)
    target, origin = chunk_of(page, to), chunk_of(page, source)
    status = FOREIGN
    if (target != NULL) & (origin != NULL):
        status = record_copy(
            page, origin.buffer, offset_in(origin, source), target.buffer, offset_in(target, to), size
        )  # fmt: skip
    device_unlock(page)
    return status


@local_function
def write(to: Ptr, source: Ptr, size: I64, page: VulkanPage) -> I32:
    """Copy to the device."""
    return exchange(to, source, size, page, True)


@local_function
def read(to: Ptr, source: Ptr, size: I64, page: VulkanPage) -> I32:
    """Copy from the device."""
    return exchange(source, to, size, page, False)


@local_function
def exchange(device: Ptr, host: Ptr, size: I64, page: VulkanPage, writes: bool) -> I32:
    """Copy between the device's memory and the host's, after what was started before. Return when it is done."""
    status = finish(page)
    if status != OK:
        return status
    device_lock(page)
    chunk = chunk_of(page, device)
    if chunk == NULL:
        device_unlock(page)
        return FOREIGN
    offset = offset_in(chunk, device)
    if page.is_mapped == 0:
        status = exchange_staged(page, chunk.buffer, offset, host, size, writes)
        device_unlock(page)
        return status
    mapped = chunk.host + offset
    device_unlock(page)
    if writes:
        memcpy(mapped, host, size)
    else:
        memcpy(host, mapped, size)
    return OK


@local_function
def exchange_staged(page: VulkanPage, buffer: I64, offset: I64, host: Ptr, size: I64, writes: bool) -> I32:
    """Copy between a buffer and the host's memory by way of the staging memory; with the lock."""
    done = 0
    while done < size:
        part = min(size - done, page.staging_size)
        if writes:
            memcpy(page.staging, host + done, part)
            status = record_copy(page, page.staging_buffer, 0, buffer, offset + done, part)
        else:
            status = record_copy(page, buffer, offset + done, page.staging_buffer, 0, part)
        if status == OK:
            status = vulkan_finish_locked(page)
        if status != OK:
            return status
        if not writes:
            memcpy(host + done, page.staging, part)
        done += part
    return OK


#: Functions of device.py. The functions that grow and drop chunks, and that forget recorded commands, follow.
vulkan_functions = device_functions(
    "vulkan", grow, drop, vulkan_forget, launch=launch, allocate=take, free=give, write=write, read=read,
    copy=copy_on_device, wait=finish,
)  # fmt: skip
