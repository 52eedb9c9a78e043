# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that code finds by a page of state, and programs with functions of their own in place of the driver's.

host_library/device_memory.py defines the first words of a page.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from relax_mlir.runtime.devices.table_program import OUT_OF_MEMORY, TableProgram

_LEAST_CHUNK, _LARGEST, _TAKEN, _PIECES, _CHUNKS, _GROW, _DROP = range(9, 16)
_CHUNK_BYTES = 1 << 24
FOREIGN = 4
#: Statuses of these functions themselves. All other statuses are the driver's.
OWN_STATUSES: tuple[tuple[int, str, str], ...] = (
    (OUT_OF_MEMORY, "out of memory", "the device has no room for more"),
    (FOREIGN, "foreign memory", "the address is in no memory that programs have taken on this device"),
)


class Page:
    """State of a device, which lives as long as the process: results outlive programs."""

    def __init__(self, words: int, largest: int) -> None:
        """Create the state. `largest` is the driver's maximum allocation in bytes."""
        self.words = (ctypes.c_uint64 * words)()
        self.words[_LEAST_CHUNK], self.words[_LARGEST] = min(_CHUNK_BYTES, largest), largest

    @property
    def address(self) -> int:
        return ctypes.addressof(self.words)

    @property
    def bytes_taken(self) -> int:
        return self.words[_TAKEN]

    @property
    def pieces_taken(self) -> int:
        return self.words[_PIECES]

    @property
    def bytes_of_chunks(self) -> int:
        return self.words[_CHUNKS]

    def set_functions(self, grow: int, drop: int) -> None:
        """Set the functions that allocate and release chunks, which are the same in all programs of a kind."""
        self.words[_GROW], self.words[_DROP] = grow, drop


class PagedProgram(TableProgram):
    """Program on a device with a page."""

    own_functions = 3

    def set_page(self, page: Page) -> None:
        """Let the program use a device through its state."""
        grow, drop, self._forget = self.table_functions[-self.own_functions :]
        page.set_functions(grow, drop)
        self.page, self.stream = page, page.address

    @contextmanager
    def without_room(self) -> Iterator[None]:
        """Allocate all of the device's memory inside of the `with`, to test programs that run out of memory."""
        place, size, taken, largest = ctypes.c_uint64(), _CHUNK_BYTES, list[int](), self.page.words[_LARGEST]
        self.page.words[_LARGEST] = 0
        while size:
            if self.take(ctypes.addressof(place), size, self.stream):
                size //= 2
            else:
                taken.append(place.value)
        try:
            yield
        finally:
            self.page.words[_LARGEST] = largest
            for address in taken:
                self.free(address, self.stream)
