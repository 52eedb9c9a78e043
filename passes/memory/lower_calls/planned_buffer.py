# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planned memory of a tensor: its live range, size and place."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ....bindings.ir import Block
from ....dialects.core.infos import TensorInfo, bit_width
from ....dialects.core.symbols import Dim, Size, product


@dataclass(eq=False)
class PlannedBuffer:
    """Memory of a tensor and its views."""

    info: TensorInfo
    first: int
    last: int
    #: The enclosing blocks, outermost first.
    path: tuple[Block, ...]
    #: Index of the function result stored in the buffer, or None.
    output: int | None = None
    #: Place in the arena: an offset in bytes, or the index of a slot.
    offset: int | None = None
    slot: int | None = None
    is_on_stack: bool = False
    #: The aliased buffer, if the buffer has no memory of its own, and the offset in bytes there or in the slot.
    within: PlannedBuffer | None = None
    shift: Size = 0
    #: Buffers that may be overlapped although live at the same position: they are read completely before the write.
    covers: set[PlannedBuffer] = field(default_factory=set)
    #: True for a view of existing elements, for which nothing is computed.
    is_view: bool = False
    #: `is_divided`: other buffers alias parts of it, with other types or offsets. `is_written`: changed after creation.
    is_divided: bool = False
    #: True if parts have other element types. C allows arrays of several types only in memory from malloc.
    has_several_types: bool = False
    is_written: bool = False

    @property
    def root(self) -> PlannedBuffer:
        """Return the buffer at the end of the chain of aliases, which has memory of its own."""
        return self if self.within is None else self.within.root

    @property
    def start(self) -> Size:
        """Return the offset in bytes from the root's place in the arena, or from its slot."""
        return self.shift if self.within is None else self.shift + self.within.start

    def __post_init__(self) -> None:
        #: Size in bytes, or None if unknown or too long an expression. `is_fixed`: all sizes are static.
        self.size, self.is_fixed = measure_bytes(self.info)
        #: Upper bound of the size in bytes, or None.
        self.room = self.size if isinstance(self.size, int) else None


def dims_of(info: TensorInfo) -> tuple[Dim, ...]:
    """Return the sizes of a tensor, or a single unknown size for an unknown rank."""
    return (None,) if info.shape is None else tuple(info.shape)


def storage_bytes(dtype: str) -> int:
    """Return the storage size of an element in whole bytes."""
    return -(-bit_width(dtype) // 8)


@lru_cache(maxsize=4096)
def measure_bytes(info: TensorInfo) -> tuple[Dim, bool]:
    """Return the size of a tensor in bytes, and True if all its sizes are static."""
    dims = dims_of(info)
    return product((*dims, storage_bytes(info.dtype))), all(isinstance(dim, int) for dim in dims)
