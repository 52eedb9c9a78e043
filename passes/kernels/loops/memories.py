# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device memories in which schedules stage buffers: `sch.cache_read(block, 0, "npu.sram")`.

    rx.schedules.register_memory("npu.sram", bytes=256 << 10, alignment=64, copies_only=True, copy=emit_copy)

All buffers of a PrimFunc in one memory are parts of one arena. Buffers that live at the same time do not overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....bindings.ir import Value
from ....support.argument_types import types_checked
from ....support.blaming import place_of_caller
from ....support.errors import RelaxError
from ....support.registry import Named, NamedRegistry

#: Memory names that every target or a GPU has. Device memories cannot use them.
COMMON = ("global", "local", "shared")
_MOST_BYTES = 1 << 48


#: `copy(source, target)` emits a copy between memrefs of the same shape, with strides.
EmitCopy = Callable[[Value, Value], object]
#: `wait(pending)` emits a wait until all started operations but the last `pending` ones are done.
EmitWait = Callable[[int], object]


class DeviceMemory(NamedTuple):
    name: str
    bytes: int
    alignment: int
    #: True if only copies and tensor intrinsics access the memory.
    copies_only: bool
    #: Number of banks of equal size, which can be accessed at the same time.
    banks: int = 1
    #: Function that emits copies into and out of the memory. Without it, loops of loads and stores copy.
    copy: EmitCopy | None = None
    #: Function that emits waits for these copies, which finish in order. Without it, copies are synchronous.
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
    """Register a memory for `cache_read`, `cache_write` and `set_scope`.

    `bytes` is the part of the memory that a PrimFunc may use. Buffers begin at multiples of `alignment`, a power of 2.
    With `copies_only`, only copies and tensor intrinsics may use the memory. The memory has `banks` parts of the same
    size. A buffer that fits in a bank is in one bank, and buffers that live at the same time are in different banks if
    possible.

    `copy(source, target)` emits a copy into or out of this memory, between two memrefs of one shape, of any size, with
    strides. Blocks that only copy become such copies. With `wait`, a copy may still run while the code behind it runs.
    `wait(pending)` emits a wait until all but the last `pending` copies are done, where a block needs one. Memories and
    intrinsics with the same `wait` function share one queue, which finishes its operations in order. Refuses a name
    that is taken.
    """
    if name in COMMON or not all(part.isidentifier() for part in name.split(".")):
        raise RelaxError(f"register_memory: a name is like 'npu.sram', and none of {', '.join(COMMON)}; got {name!r}")
    if not 0 < bytes < _MOST_BYTES:
        raise RelaxError(f"register_memory: the size of '{name}' must be at least 1 byte, got {bytes}")
    if alignment < 1 or alignment & (alignment - 1):
        raise RelaxError(f"register_memory: the alignment must be a power of 2, got {alignment}")
    if banks < 1 or (banks > 1 and bytes % (banks * alignment)):
        problem = f"{bytes} bytes cannot form {banks} banks of a multiple of {alignment} bytes each"
        raise RelaxError(f"register_memory: '{name}': {problem}")
    if wait is not None and copy is None:
        raise RelaxError(f"register_memory: '{name}' has a wait= function for copies, but no copy= function")
    memory = DeviceMemory(name, bytes, alignment, copies_only, banks, copy, wait)
    _MEMORIES.add([Named(name, memory, place_of_caller(2))])


def find_memory(name: str) -> DeviceMemory | None:
    found = _MEMORIES.find(name)
    return None if found is None else found.thing


def all_memories() -> list[Named[DeviceMemory]]:
    """Return all memories, sorted by name, with the places of their registration."""
    return _MEMORIES.all()
