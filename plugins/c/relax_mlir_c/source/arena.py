# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static arena: offsets of all functions' memory in one array, disjoint for buffers that are alive at the same time.

A function's memory begins behind that of its callers. There is no stack of frames, so all offsets are constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.navigation import ancestors, callee_of, operations_in, users_of
from relax_mlir.dialects.core.ir_attributes import DEVICE_MEMORY
from relax_mlir.emit.memrefs import ALIGNMENT

from .size_bounds import SizeBounds
from .types import BYTES, memory_type

#: Most elements of an array on the stack.
_MOST_ON_STACK = 1 << 14


@dataclass(frozen=True)
class Arena:
    """Offsets of allocations. An allocation without a known upper bound on its size is not in the arena."""

    offsets: Mapping[Value, int]
    size: int


def plan_arena(functions: Mapping[str, Operation], order: Iterable[str], bounds: SizeBounds) -> Arena:
    """Assign offsets to the allocations of all functions. In `order`, callers precede their callees."""
    offsets: dict[Value, int] = {}
    starts: dict[str, int] = {}
    end = 0
    for name in order:
        start = starts.get(name, 0)
        inside = operations_in(functions[name])
        height = _place(inside, start, offsets, bounds)
        end = max(end, height)
        for op in inside:
            if op.name == "func.call":
                starts[callee_of(op)] = max(starts.get(callee_of(op), 0), height)
    return Arena(offsets, end)


@dataclass(frozen=True)
class _Piece:
    offset: int
    size: int
    last: int


def _place(inside: list[Operation], start: int, offsets: dict[Value, int], bounds: SizeBounds) -> int:
    """Give each allocation of a function the lowest offset that is free during its lifetime. Return the end of all."""
    ends = _ends(inside)
    height, alive = start, list[_Piece]()
    for position, op in enumerate(inside):
        if op.name not in ("memref.alloc", "memref.alloca") or is_on_stack(op) or DEVICE_MEMORY in op.attributes:
            continue
        memref = op.results[0]
        if (size := bytes_of(memref, bounds)) is None:
            continue
        alive = [piece for piece in alive if piece.last > position]
        last = ends.get(memref, len(inside))
        offset = _free(alive, _round_up(size), start)
        alive = sorted([*alive, _Piece(offset, _round_up(size), last)], key=lambda piece: piece.offset)
        offsets[memref] = offset
        height = max(height, offset + _round_up(size))
    return height


def _ends(inside: list[Operation]) -> dict[Value, int]:
    """Return the position of each deallocation."""
    return {op.operands[0]: position for position, op in enumerate(inside) if op.name == "memref.dealloc"}


def _free(alive: list[_Piece], size: int, start: int) -> int:
    at = start
    for piece in alive:
        if at + size <= piece.offset:
            break
        at = max(at, piece.offset + piece.size)
    return at


def _round_up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def bytes_of(memref: Value, bounds: SizeBounds) -> int | None:
    """Return the maximum bytes of a memref, or None without a bound."""
    sizes = [bounds.size(memref, axis)[1] for axis in range(memref.type.rank)]
    if None in sizes:
        return None
    each = BYTES[memory_type(memref.type.element_type)]
    return max(math.prod(size for size in sizes if size is not None) * each, 1)


def is_on_stack(op: Operation) -> bool:
    """Check whether an allocation becomes a C variable or array."""
    type_ = op.results[0].type
    return op.name == "memref.alloca" and type_.has_static_shape and math.prod(type_.shape) <= _MOST_ON_STACK


def is_handed_on(op: Operation) -> bool:
    """Check whether the memory of an allocation is freed elsewhere: in a loop that receives it, or later."""
    users = users_of(op.results[0])
    return op.name == "memref.alloc" and not any(user.name == "memref.dealloc" for user in users)


def is_in_loop(op: Operation) -> bool:
    return any(around.name in ("scf.for", "scf.while", "scf.parallel") for around in ancestors(op))
