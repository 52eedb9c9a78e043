# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Driver functions of programs for OpenCL: the functions that device.py calls, with its signatures, written with cl*.

A stream is the device's page (opencl_runtime/opened.py). The only queue runs commands in order. Memory is shared
virtual memory, and kernels get its addresses unchanged. Statuses are OpenCL's or device_memory.py's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from relax_mlir.targets.host.library.device_functions import device_functions
from relax_mlir.targets.host.library.prelude import OK, free, malloc

from .device_memory import (  # isort: skip
    FULL, Chunk, DevicePage, Piece, add_piece, device_give_piece, device_lock,
    device_take_piece, device_unlock,
)  # fmt: skip

from relax_mlir.targets.host.native.language import (  # isort: skip
    I32, I64, NULL, U32, U64, Array, Ptr, Struct, clear, local_function, size_of,
    stack,
)  # fmt: skip


class OpenclPage(DevicePage):
    """State of a device."""

    context: Ptr
    queue: Ptr
    #: Number of times that chunks have come or gone.
    changes: I64
    count: I64
    chunks: Array[Ptr]
    most_chunks: I64
    unused: Annotated[Array[I64], 2]
    clSVMAlloc: Callable[[Ptr, I64, U64, I32], Ptr]
    clSVMFree: Callable[[Ptr, Ptr], None]
    clEnqueueSVMMemcpy: Callable[[Ptr, I32, Ptr, Ptr, I64, I32, Ptr, Ptr], I32]
    clFinish: Callable[[Ptr], I32]
    clSetKernelArg: Callable[[Ptr, I32, I64, Ptr], I32]
    clSetKernelExecInfo: Callable[[Ptr, I32, I64, Ptr], I32]
    clEnqueueNDRangeKernel: Callable[[Ptr, Ptr, I32, Ptr, Ptr, Ptr, I32, Ptr, Ptr], I32]


class OpenclKernel(Struct):
    """Handle of a kernel."""

    kernel: Ptr
    #: Number of parameters, in words.
    words: I64
    #: The page's number of changes when the kernel was last told of the chunks.
    changes: I64


# ---- chunks; with the lock (device_memory.py calls these) ----

#: CL_MEM_READ_WRITE.
READ_WRITE = 1


@local_function
def grow(page: OpenclPage, size: U64) -> I32:
    """Allocate a chunk with one free piece."""
    if page.count >= page.most_chunks:
        return FULL
    chunk = Chunk(malloc(size_of(Chunk)))
    if chunk == NULL:
        return FULL
    piece = Piece(malloc(size_of(Piece)))
    if piece == NULL:
        free(chunk)
        return FULL
    memory = page.clSVMAlloc(page.context, READ_WRITE, size, I32(0))
    if memory == NULL:
        free(piece)
        free(chunk)
        return FULL
    clear(chunk)
    chunk.host = memory
    chunk.address = U64(memory)
    chunk.size = size
    add_piece(page, piece, chunk)
    page.total += size
    page.chunks[page.count] = memory
    page.count += 1
    page.changes += 1
    return OK


@local_function
def drop(page: OpenclPage, chunk: Chunk) -> None:
    """Free a chunk. The last chunk of the list takes its place there."""
    finish(page)
    memory = chunk.host
    page.total -= chunk.size
    page.count -= 1
    last = page.chunks[page.count]
    for i in range(page.count):
        if page.chunks[i] == memory:
            page.chunks[i] = last
    page.changes += 1
    page.clSVMFree(page.context, memory)
    free(chunk)


# ---- functions that device.py calls ----


@local_function
def finish(page: OpenclPage) -> I32:
    """Wait for all commands."""
    return page.clFinish(page.queue)


@local_function
def launch(
    kernel: OpenclKernel, blocks: U32, y: I32, z: I32, threads: U32, y2: I32, z2: I32, shared: I32, page: OpenclPage,
    params: Array[Ptr], extra: Ptr,
) -> I32:  # fmt: skip
    """Start a kernel. `params` has the addresses of its parameters."""
    whole = stack(U64)
    group = stack(U64)
    whole[0] = U64(blocks) * U64(threads)
    group[0] = U64(threads)
    device_lock(page)
    status = tell(kernel, page)
    for i in range(kernel.words):
        answer = page.clSetKernelArg(kernel.kernel, I32(i), 8, params[i])
        status = answer if status == OK else status
    if status == OK:
        status = page.clEnqueueNDRangeKernel(page.queue, kernel.kernel, I32(1), NULL, whole, group, I32(0), NULL, NULL)
    device_unlock(page)
    return status


#: CL_KERNEL_EXEC_INFO_SVM_PTRS.
POINTERS = I32(0x11B6)


@local_function
def tell(kernel: OpenclKernel, page: OpenclPage) -> I32:
    """Tell a kernel which memory its addresses may be in, if that has changed."""
    if kernel.changes == page.changes:
        return OK
    kernel.changes = page.changes
    return page.clSetKernelExecInfo(kernel.kernel, POINTERS, page.count * 8, page.chunks)


@local_function
def enqueue_copy(to: Ptr, source: Ptr, size: I64, page: OpenclPage, waits: I32) -> I32:
    """Copy in the queue's order, and wait for the copy if `waits` is not 0."""
    return page.clEnqueueSVMMemcpy(page.queue, waits, to, source, size, I32(0), NULL, NULL)


@local_function
def copy_on_device(to: Ptr, source: Ptr, size: I64, page: OpenclPage) -> I32:
    """Copy on the device."""
    return enqueue_copy(to, source, size, page, I32(0))


@local_function
def exchange(to: Ptr, source: Ptr, size: I64, page: OpenclPage) -> I32:
    """Copy to the device, or from it."""
    return enqueue_copy(to, source, size, page, I32(1))


#: Functions of device.py. The functions that grow and drop chunks follow, and none that forgets recorded commands.
opencl_functions = device_functions(
    "opencl", grow, drop, NULL, launch=launch, allocate=device_take_piece, free=device_give_piece, write=exchange,
    read=exchange, copy=copy_on_device, wait=finish,
)  # fmt: skip
