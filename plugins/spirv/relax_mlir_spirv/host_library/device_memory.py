# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory pool for drivers without stream-ordered allocation.

Programs for such devices use these functions instead of the driver's (vulkan.py, opencl.py). Large chunks of the
driver's memory are split into pieces, each free or taken. All work of a device runs in order, so a freed piece may be
reused at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from relax_mlir.targets.host.library.prelude import OK, free, malloc

from relax_mlir.targets.host.native.language import (  # isort: skip
    I32, I64, NULL, U64, Array, Ptr, Struct, c_function, copy, library_function, local_function, place_of,
    size_of,
)  # fmt: skip

#: Statuses: out of memory, an address in no piece.
FULL, FOREIGN = I32(2), I32(4)


class Chunk(Struct):
    """Memory of the driver, with its handles."""

    buffer: I64
    memory: I64
    host: Ptr
    address: U64
    size: U64


class Piece(Struct):
    """Piece of a chunk. The pieces of a chunk are in order of addresses."""

    next: Piece
    chunk: Chunk
    address: U64
    size: U64
    #: 0 if free, else 1, or the mark of recorded commands that it belongs to.
    mark: U64


class DevicePage(Struct):
    """State of a device, one for all programs of a process (paged.py)."""

    lock: Annotated[Array[I64], 8]
    first: Piece
    #: Bytes of a new chunk at least, and of a chunk at most.
    least: U64
    most: U64
    #: Bytes and number of taken pieces, and bytes of all chunks.
    taken: U64
    pieces: I64
    total: U64
    #: Functions that allocate and free a chunk. Both run with the lock.
    grow: Callable[[DevicePage, U64], I32]
    drop: Callable[[DevicePage, Chunk], None]


@c_function
def pthread_mutex_lock(mutex: Ptr) -> I32: ...
@c_function
def pthread_mutex_unlock(mutex: Ptr) -> I32: ...


@library_function
def device_lock(mutex: Ptr) -> None:
    """Take the lock of a page, or another mutex."""
    pthread_mutex_lock(mutex)


@library_function
def device_unlock(mutex: Ptr) -> None:
    """Release a lock."""
    pthread_mutex_unlock(mutex)


# ---- pieces; with the lock ----


@library_function
def device_piece_of(page: DevicePage, address: U64) -> Piece:
    """Return the taken piece that contains an address, or NULL."""
    piece = page.first
    while piece != NULL:
        if (address - piece.address < piece.size) & (piece.mark != 0):
            return piece
        piece = piece.next
    return NULL


@local_function
def add_piece(page: DevicePage, piece: Piece, chunk: Chunk) -> None:
    """Add a new chunk's only piece to the page."""
    piece.next = page.first
    piece.chunk = chunk
    piece.address = chunk.address
    piece.size = chunk.size
    piece.mark = U64(0)
    page.first = piece


@local_function
def fit(page: DevicePage, size: U64) -> Piece:
    """Take the first free piece that is large enough and split off the rest. Return NULL if there is none."""
    piece = page.first
    while piece != NULL:
        if (piece.mark == 0) & (piece.size >= size):
            return take_front(piece, size)
        piece = piece.next
    return NULL


@local_function
def take_front(piece: Piece, size: U64) -> Piece:
    """Take a piece and split off the bytes behind a size. Return NULL without memory for the rest."""
    if piece.size > size:
        rest = Piece(malloc(size_of(Piece)))
        if rest == NULL:
            return NULL
        copy(rest, piece)
        rest.address = piece.address + size
        rest.size = piece.size - size
        piece.next = rest
        piece.size = size
    piece.mark = U64(1)
    return piece


@local_function
def join(page: DevicePage, gives_back: bool) -> None:
    """Join adjacent free pieces. If asked, free the chunks without taken pieces."""
    link = Array[Ptr](place_of(page.first))
    while link[0] != NULL:
        piece = Piece(link[0])
        following, chunk = piece.next, piece.chunk
        if piece.mark != 0:
            link = Array[Ptr](place_of(piece.next))
        elif following != NULL and (following.mark == 0) & (following.chunk == chunk):
            piece.size += following.size
            piece.next = following.next
            free(following)
        elif gives_back & (piece.size == chunk.size):
            link[0] = following
            free(piece)
            page.drop(page, chunk)
        else:
            link = Array[Ptr](place_of(piece.next))


@local_function
def grow(page: DevicePage, size: U64) -> I32:
    """Allocate a chunk of a size, with one free piece."""
    return page.grow(page, size) if size <= page.most else FULL


# ---- functions of the table (device.py) ----


@library_function
def device_take_piece(place: Array[U64], asked: U64, page: DevicePage) -> I32:
    """Allocate memory and store its address at a place."""
    size = asked + 255 & -256
    device_lock(page)
    piece = fit(page, size)
    status = OK
    if piece == NULL:
        status = grow(page, max(page.least, size))
        if status != OK:
            # Try again after freeing unused chunks, with exactly the needed bytes.
            join(page, True)
            status = grow(page, size)
        if status == OK:
            piece = fit(page, size)
            status = OK if piece != NULL else FULL
    if status == OK:
        place[0] = piece.address
        page.taken += size
        page.pieces += 1
    device_unlock(page)
    return status


@library_function
def device_give_piece(address: Ptr, page: DevicePage) -> I32:
    """Free memory. Work that is under way may still use the piece: later work runs after it."""
    device_lock(page)
    piece = device_piece_of(page, U64(address))
    status = FOREIGN
    if piece != NULL:
        piece.mark = U64(0)
        page.taken -= piece.size
        page.pieces -= 1
        join(page, False)
        status = OK
    device_unlock(page)
    return status
