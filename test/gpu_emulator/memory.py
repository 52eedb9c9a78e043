# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memory: one arena of bytes at an artificial address, and each byte's state: allocated, written, read-only."""

from __future__ import annotations

import bisect
import ctypes
import mmap
from dataclasses import dataclass, field
from typing import Any

import numpy

from .order import Clock, Stamp

ALLOCATED, WRITTEN, READ_ONLY, PENDING, IN_USE = 1, 2, 4, 8, 16
#: Required states for reads and writes: a mask of bits and their values.
READABLE = (ALLOCATED | WRITTEN | PENDING, ALLOCATED | WRITTEN)
WRITABLE = (ALLOCATED | READ_ONLY | PENDING | IN_USE, ALLOCATED)
ADDRESS = 0x0000_7C00_0000_0000  # of the arena, for kernels
ALIGNMENT = 512
RED_ZONE = 512
_POISON = 0xA5  # contents of released memory


class OutOfDeviceMemory(Exception):
    pass


@dataclass
class Allocation:
    start: int  # in the arena
    size: int
    label: str
    is_live: bool = True
    is_managed: bool = False
    #: How the allocation was freed: "by cuMemFreeAsync (call 12), behind sum_1". Memory of a graph is also freed
    #: between launches.
    freed: str = ""
    #: Where stream-ordered memory begins, and the last use on each stream.
    made: Stamp | None = None
    uses: Clock = field(default_factory=dict)

    @property
    def address(self) -> int:
        return ADDRESS + self.start


def lazy_bytes(size: int) -> Any:
    """Return zeros that use memory only when touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    return numpy.frombuffer(mmap.mmap(-1, max(size, mmap.PAGESIZE), flags=flags), numpy.uint8)


class Region:
    """Bytes that kernels read and write, and the state of each byte."""

    def __init__(self, data: Any, state: Any) -> None:
        self.data, self.state = data, state
        self._views: dict[Any, Any] = {}

    def view(self, dtype: Any) -> Any:
        found = self._views.get(dtype)
        if found is None:
            width = numpy.dtype(dtype).itemsize
            found = self._views[dtype] = self.data[: len(self.data) // width * width].view(dtype)
        return found

    def states(self, width: int) -> Any:
        """Return the bytes' states, `width` of them as one integer."""
        found = self._views.get(width)
        if found is None:
            found = self._views[width] = self.state[: len(self.state) // width * width].view(f"u{width}")
        return found

    def are(self, places: Any, width: int, wanted: tuple[int, int]) -> Any:
        """Return for each word, at places counted in words, whether its state matches `wanted`."""
        mask, value = (repeated(each, width) for each in wanted)
        return (self.states(width)[places] & mask) == value


def repeated(byte: int, width: int) -> Any:
    return numpy.array([byte] * width, numpy.uint8).view(f"u{width}")


class Memory(Region):
    def __init__(self, size: int) -> None:
        self.size = size
        self.reserved = -(-max(4 * size, 1 << 24) // 4096) * 4096
        super().__init__(lazy_bytes(self.reserved), lazy_bytes(self.reserved))
        self.used = 0
        self.allocations: list[Allocation] = []  # by address, including freed ones
        self._end = RED_ZONE
        self._reused = 0

    @property
    def host_address(self) -> int:
        """Return the arena's address in this process."""
        return int(self.data.ctypes.data)

    def allocate(self, size: int, label: str = "", is_managed: bool = False) -> Allocation:
        if self.used + size > self.size:
            raise OutOfDeviceMemory(f"{size} bytes of {self.size - self.used} that are free")
        start = -(-self._end // ALIGNMENT) * ALIGNMENT
        if start + size + RED_ZONE > self.reserved:
            start = self._reuse(size)
        else:
            self._end = start + size + RED_ZONE
        found = Allocation(start, size, label or f"allocation {len(self.allocations)}", True, is_managed)
        bisect.insort(self.allocations, found, key=lambda each: each.start)
        self.state[start : start + size] = ALLOCATED
        self.used += size
        return found

    def _reuse(self, size: int) -> int:
        """Reuse the place of the memory that was freed the longest ago, after the last reused place."""
        live = self.live()
        for first in (self._reused, 0):
            end = first
            for each in [*(each for each in live if each.start + each.size > first), Allocation(self.reserved, 0, "")]:
                start = -(-(end + RED_ZONE) // ALIGNMENT) * ALIGNMENT
                if each.start - RED_ZONE >= start + size:
                    self._reused = start + size
                    self._forget(start, start + size + RED_ZONE)
                    return start
                end = max(end, each.start + each.size)
        raise OutOfDeviceMemory(f"{size} bytes: memory is fragmented")

    def _forget(self, start: int, end: int) -> None:
        """Remove freed allocations in a range."""
        gone = (
            each for each in self.allocations if each.is_live or each.start + each.size <= start or each.start >= end
        )
        self.allocations = list(gone)

    def free(self, allocation: Allocation, how: str) -> None:
        self.take_away(allocation, how)
        allocation.is_live = False
        self.used -= allocation.size

    def take_away(self, allocation: Allocation, how: str) -> None:
        """Invalidate an allocation and its contents. Its place stays reserved."""
        place = slice(allocation.start, allocation.start + allocation.size)
        self.state[place], self.data[place] = 0, _POISON
        allocation.freed = how

    def give(self, allocation: Allocation) -> None:
        """Restore an invalidated allocation, with new contents."""
        place = slice(allocation.start, allocation.start + allocation.size)
        self.state[place], self.data[place] = ALLOCATED, _POISON
        allocation.freed = ""

    def live(self) -> list[Allocation]:
        return [each for each in self.allocations if each.is_live]

    def at(self, address: int) -> Allocation | None:
        """Return the live allocation that begins at an address."""
        found = self.around(address)
        return found if found and found.is_live and address in (found.address, self.host_alias(found)) else None

    def host_alias(self, allocation: Allocation) -> int | None:
        return self.host_address + allocation.start if allocation.is_managed else None

    def offset(self, address: int) -> int:
        """Return the offset in the arena of a kernel's address. Managed memory also has the host's address."""
        if 0 <= address - self.host_address < self.reserved:
            return address - self.host_address
        return address - ADDRESS

    def around(self, address: int) -> Allocation | None:
        """Return the last allocation that begins at or before an address."""
        at = bisect.bisect_right(self.allocations, self.offset(address), key=lambda each: each.start)
        return self.allocations[at - 1] if at else None

    def range(self, address: int, size: int) -> int | None:
        """Return the offset of bytes in one live allocation, or None."""
        start, found = self.offset(address), self.around(address)
        if found is None or not found.is_live or start < found.start or start + size > found.start + found.size:
            return None
        if 0 <= address - self.host_address < self.reserved and not found.is_managed:
            return None
        return start

    def places(self, addresses: Any) -> Any:
        """Return the offsets in the arena of addresses.

        Addresses outside of allocations stay out of bounds or unallocated.
        """
        found = addresses - ADDRESS
        outside = (found < 0) | (found >= self.reserved)
        if not outside.any():
            return found
        aliases = addresses - self.host_address
        managed = [each for each in self.live() if each.is_managed]
        for each in managed:
            inside = (aliases >= each.start) & (aliases < each.start + each.size)
            found = numpy.where(inside, aliases, found)
        return found

    def is_freed(self, address: int) -> bool:
        """Check whether an address is in freed memory."""
        found = self.around(address)
        return found is not None and bool(found.freed) and self.offset(address) < found.start + found.size

    def describe(self, address: int) -> str:
        """Describe the allocation that contains an address, or the nearest ones."""
        offset, found = self.offset(address), self.around(address)
        later = next((each for each in self.allocations if each.start > offset), None)
        if found is not None and offset < found.start + found.size:
            place = f"byte {offset - found.start} of {found.label} ({found.size} bytes)"
            return f"{place}, which was freed {found.freed}" if found.freed else place
        near = []
        if found is not None and offset - found.start - found.size < 1 << 20:
            near.append(f"{offset - found.start - found.size} bytes behind {_named(found)}")
        if later is not None and later.start - offset < 1 << 20:
            near.append(f"{later.start - offset} bytes before {_named(later)}")
        return ", ".join(near) or "near to no allocation"

    def host_pointer(self, offset: int) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.host_address + offset)


def _named(allocation: Allocation) -> str:
    return f"{allocation.label} ({allocation.size} bytes{', freed ' + allocation.freed if allocation.freed else ''})"
