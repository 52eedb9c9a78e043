# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memories of devices that schedules stage buffers in: `sch.cache_read(block, 0, "npu.sram")`.

    rx.schedules.register_memory("npu.sram", bytes=256 << 10, alignment=64, copies_only=True)

All buffers that a PrimFunc has in one are parts of one arena, where none that live at the same time overlap.
"""

from __future__ import annotations

from typing import NamedTuple

from ...support.argument_types import types_checked
from ...support.blaming import place_of_caller
from ...support.errors import RelaxError
from ...support.registry import Named, NamedRegistry

#: Those that every target has, or a GPU: names of them are no one's own.
COMMON = ("global", "local", "shared")
_MOST_BYTES = 1 << 48


class DeviceMemory(NamedTuple):
    name: str
    bytes: int
    alignment: int
    #: Whether only copies and tensor intrinsics come to it.
    copies_only: bool


_MEMORIES = NamedRegistry[DeviceMemory]("a memory")


@types_checked
def register_memory(name: str, *, bytes: int, alignment: int = 64, copies_only: bool = False) -> None:
    """Makes a memory known, for `cache_read`, `cache_write` and `set_scope`.

    `bytes` is how much of it a PrimFunc may use; buffers begin at multiples of `alignment`, a power of 2. With
    `copies_only` blocks that are neither copies nor tensor intrinsics must not use it. Refuses a name that is taken.
    """
    if name in COMMON or not all(part.isidentifier() for part in name.split(".")):
        raise RelaxError(f"register_memory: a name is like 'npu.sram', and none of {', '.join(COMMON)}; got {name!r}")
    if not 0 < bytes < _MOST_BYTES:
        raise RelaxError(f"register_memory: '{name}' has a size in bytes of at least 1, got {bytes}")
    if alignment < 1 or alignment & (alignment - 1):
        raise RelaxError(f"register_memory: an alignment is a power of 2, got {alignment}")
    memory = DeviceMemory(name, bytes, alignment, copies_only)
    _MEMORIES.add([Named(name, memory, place_of_caller(2))])


def find_memory(name: str) -> DeviceMemory | None:
    found = _MEMORIES.find(name)
    return None if found is None else found.thing


def all_memories() -> list[Named[DeviceMemory]]:
    """Every one, sorted by name, with its place."""
    return _MEMORIES.all()
