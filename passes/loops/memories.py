# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memories of devices that schedules stage buffers in: `sch.cache_read(block, 0, "npu.sram")`.

    rx.schedules.register_memory("npu.sram", bytes=256 << 10, alignment=64, copies_only=True, copy=emit_copy)

All buffers that a PrimFunc has in one are parts of one arena, where none that live at the same time overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...bindings.ir import Value
from ...support.argument_types import types_checked
from ...support.blaming import place_of_caller
from ...support.errors import RelaxError
from ...support.registry import Named, NamedRegistry

#: Those that every target has, or a GPU: names of them are no one's own.
COMMON = ("global", "local", "shared")
_MOST_BYTES = 1 << 48


#: `copy(source, target)` emits a copy between memrefs of the same shape, with strides.
EmitCopy = Callable[[Value, Value], object]
#: `wait(pending)` emits that all but the last `pending` of what has been started are done.
EmitWait = Callable[[int], object]


class DeviceMemory(NamedTuple):
    name: str
    bytes: int
    alignment: int
    #: Whether only copies and tensor intrinsics come to it.
    copies_only: bool
    #: How many parts of the same size it has, which are used at the same time.
    banks: int = 1
    #: What emits copies into it and out of it; loops of loads and stores without.
    copy: EmitCopy | None = None
    #: What waits for these copies, in whose order they are done; without, they are done when they are emitted.
    wait: EmitWait | None = None


_MEMORIES = NamedRegistry[DeviceMemory]("a memory")


@types_checked
def register_memory(
    name: str,
    *,
    bytes: int,
    alignment: int = 64,
    copies_only: bool = False,
    banks: int = 1,
    copy: Callable[..., object] | None = None,
    wait: Callable[..., object] | None = None,
) -> None:
    """Makes a memory known, for `cache_read`, `cache_write` and `set_scope`.

    `bytes` is how much of it a PrimFunc may use; buffers begin at multiples of `alignment`, a power of 2. With
    `copies_only` blocks that are neither copies nor tensor intrinsics must not use it. Of `banks`, each of the same
    size, a buffer that fits in one is in one, and those that live at the same time are in different ones if they can.

    `copy(source, target)` emits a copy into this memory, or out of it: two memrefs of one shape, with strides, parts of
    any size. Blocks that only copy become such copies. With `wait` they may still go on when the code behind them runs:
    `wait(pending)` emits that all but the last `pending` copies are done, where a block needs that. What has the same
    `wait` function, of other memories or of intrinsics, is one queue: done one by one, in order. Refuses a name that is
    taken.
    """
    if name in COMMON or not all(part.isidentifier() for part in name.split(".")):
        raise RelaxError(f"register_memory: a name is like 'npu.sram', and none of {', '.join(COMMON)}; got {name!r}")
    if not 0 < bytes < _MOST_BYTES:
        raise RelaxError(f"register_memory: '{name}' has a size in bytes of at least 1, got {bytes}")
    if alignment < 1 or alignment & (alignment - 1):
        raise RelaxError(f"register_memory: an alignment is a power of 2, got {alignment}")
    if banks < 1 or (banks > 1 and bytes % (banks * alignment)):
        problem = f"{bytes} bytes are no {banks} banks of a multiple of {alignment} bytes each"
        raise RelaxError(f"register_memory: '{name}': {problem}")
    if wait is not None and copy is None:
        raise RelaxError(f"register_memory: '{name}' has a function that waits for copies, and none that copies")
    memory = DeviceMemory(name, bytes, alignment, copies_only, banks, copy, wait)
    _MEMORIES.add([Named(name, memory, place_of_caller(2))])


def find_memory(name: str) -> DeviceMemory | None:
    found = _MEMORIES.find(name)
    return None if found is None else found.thing


def all_memories() -> list[Named[DeviceMemory]]:
    """Every one, sorted by name, with its place."""
    return _MEMORIES.all()
