# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices that code finds by a page of state, and programs with functions of their own in place of the driver's.

host_library/device_memory.py defines the first words of a page.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

from relax_mlir.runtime.devices.device_program import DeviceProgram
from relax_mlir.runtime.errors import DeviceError

_LEAST_CHUNK, _LARGEST, _TAKEN, _PIECES, _CHUNKS, _GROW, _DROP = range(9, 16)
_CHUNK_BYTES = 1 << 24
OUT_OF_MEMORY, FOREIGN = 2, 4
#: Names of the program's functions in messages, in the order of DeviceTable (device.py).
CALLED = (
    "using the device", "leaving the device", "launching", "taking memory", "giving memory back",
    "copying to the device", "copying from the device", "copying on the device", "waiting", "waiting for all work", "",
    "", "making an event", "marking an event", "waiting for an event", "measuring a time", "ending an event",
)  # fmt: skip
_TAKE, _FREE, _WRITE, _READ, _COPY, _WAIT = 3, 4, 5, 6, 7, 8
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


class PagedProgram(DeviceProgram):
    """Program on a device with a page."""

    called = CALLED
    #: Name of the function table in the code.
    table_name: ClassVar[str]

    def set_page(self, page: Page) -> None:
        """Let the program use a device through its state."""
        listed = (ctypes.c_uint64 * (len(CALLED) + 3)).from_address(self._resident.address(self.table_name))
        *self._functions, grow, drop, self._forget = list(listed)
        page.set_functions(grow, drop)
        self.page, self.stream = page, page.address
        place, size, status = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32
        copies = ctypes.CFUNCTYPE(status, place, place, size, place)
        self._copies = {which: copies(self._functions[which]) for which in (_WRITE, _READ, _COPY)}
        self._take = ctypes.CFUNCTYPE(status, place, size, place)(self._functions[_TAKE])
        self._free = ctypes.CFUNCTYPE(status, place, place)(self._functions[_FREE])
        self._wait = ctypes.CFUNCTYPE(status, place)(self._functions[_WAIT])

    @property
    def context(self) -> int:
        return self.stream

    def functions(self) -> Sequence[int]:
        return self._functions

    def allocate(self, size: int) -> int:
        place = ctypes.c_uint64()
        if (status := self._take(ctypes.addressof(place), size, self.stream)) == OUT_OF_MEMORY:
            raise MemoryError(self.status_text(status))
        self._check(_TAKE, status)
        # Without a reference to this object, so that it is freed with its last other reference.
        self._undo.append(partial(self._free, place.value, self.stream))
        return place.value

    def write(self, to: int, source: int, size: int) -> None:
        self._move(_WRITE, to, source, size)

    def read(self, to: int, source: int, size: int) -> None:
        self._move(_READ, to, source, size)

    def copy(self, to: int, source: int, size: int) -> None:
        self._move(_COPY, to, source, size)

    def wait(self) -> None:
        self._check(_WAIT, self._wait(self.stream))

    @contextmanager
    def without_room(self) -> Iterator[None]:
        """Allocate all of the device's memory inside of the `with`, to test programs that run out of memory."""
        place, size, taken, largest = ctypes.c_uint64(), _CHUNK_BYTES, list[int](), self.page.words[_LARGEST]
        self.page.words[_LARGEST] = 0
        while size:
            if self._take(ctypes.addressof(place), size, self.stream):
                size //= 2
            else:
                taken.append(place.value)
        try:
            yield
        finally:
            self.page.words[_LARGEST] = largest
            for each in taken:
                self._free(each, self.stream)

    def status_text(self, status: int) -> str:
        return status_text(self.statuses or (), status)

    def _move(self, which: int, to: int, source: int, size: int) -> None:
        self._check(which, self._copies[which](to, source, size, self.stream))

    def _check(self, which: int, status: int) -> None:
        if status:
            raise DeviceError(f"{self.label}: {CALLED[which]}: {self.status_text(status)}")


def status_text(statuses: Sequence[tuple[int, str, str]], status: int) -> str:
    """Return a status with its name."""
    return {number: f"{name}: {text}" for number, name, text in statuses}.get(status, f"status {status}")
