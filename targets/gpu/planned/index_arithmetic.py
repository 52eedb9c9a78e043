# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Index arithmetic: loop indices from the indices of collapsed chains, and operand indices from loop indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from ....bindings.affine import Linear
from ....bindings.ir import Value
from ....bindings.mlir import ir
from ....emit.arithmetic import convert
from ....emit.memrefs import is_dense
from ....emit.numbers import Number, Size, as_index, minimum
from ....emit.structured import StructuredOp
from ...core.machine import Machine

#: Index of each loop of an operation.
Indices = Mapping[int, Number]
#: The longest vector that a thread loads or stores at once, in bytes.
_VECTOR_BYTES = Machine.thread_bytes
#: 32-bit divisions are cheaper than 64-bit divisions.
_NARROW = 1 << 31


class Loops:
    """Loops of an operation, grouped in chains."""

    def __init__(self, op: StructuredOp, chains: Sequence[Sequence[int]]):
        self.op = op
        self.chains = chains
        self.sizes = {dim: op.size(dim) for dim in op.dims}

    def size(self, chain: int | None) -> Size:
        """Return the number of points of a chain, or 1 for None."""
        return math.prod(self.sizes[dim] for dim in (() if chain is None else self.chains[chain]))

    def taken_apart(self, chain: int | None, index: Number) -> dict[int, Number]:
        """Return the index of each loop of a chain (delinearization)."""
        dims = [] if chain is None else [dim for dim in self.chains[chain] if self.op.sizes[dim] != 1]
        units = () if chain is None else self.chains[chain]
        alone = [dim for dim in units if dim not in dims]
        found = dict.fromkeys(alone, as_index(0)) if alone else {}
        total = self.size(chain)
        narrow = isinstance(total, int) and total < _NARROW and len(dims) > 1
        rest = convert("arith.index_cast", index, ir.IntegerType.get_signless(int("i32"[1:]))) if narrow else index
        for dim in reversed(dims[1:]):
            size = self.sizes[dim]
            found[dim] = as_index(rest % size)
            rest = rest // size
        return {**found, **({dims[0]: as_index(rest)} if dims else {})}


def index_of(steps: Indices) -> Callable[[int], Value]:
    """Return the index lookup for a body. Rules never plan bodies that use the index of a result."""
    return lambda dim: steps[dim]


def place(access: Sequence[Linear], indices: Indices) -> list[Number]:
    """Return the indices of an operand's element."""
    return [_sum(index, indices) for index in access]


def _sum(index: Linear, indices: Indices) -> Number:
    return as_index(sum(indices[dim] * factor for dim, factor in index.factors) + index.constant)


def lanes_along(op: StructuredOp, access: Sequence[Linear], memref: Value, chain: Sequence[int]) -> int:
    """Return how many adjacent elements along a chain fit one aligned vector access.

    MLIR's memrefs are aligned to a vector's bytes, or their types state their layout.
    """
    dims = [dim for dim in chain if op.sizes[dim] != 1]
    bits = getattr(memref.type.element_type, "width", 64)
    if not dims or not access or bits < 8:
        return 1
    last, (size, joined) = access[-1], _length(op, access, memref, dims)
    in_others = any(index.factor(dims[-1]) for index in access[:-1])
    if last.factor(dims[-1]) != 1 or in_others or size is None:
        return 1
    others = [factor for each, factor in last.factors if each != dims[-1]]
    lanes = _VECTOR_BYTES * 8 // bits
    while lanes > 1 and any(each % lanes for each in (size, last.constant, *others, *_strides(memref, access, joined))):
        lanes //= 2
    return lanes


def _length(
    op: StructuredOp, access: Sequence[Linear], memref: Value, dims: Sequence[int]
) -> tuple[int | None, set[int]]:
    """Return the number of contiguous steps of a chain's last loops, and the outer axes that these steps cover."""
    total, joined = op.sizes[dims[-1]], set[int]()
    axes = [place for place, size in enumerate(memref.type.shape) if size != 1]
    for outer_axis, axis, dim, outer in zip(axes[-2::-1], axes[::-1], dims[::-1], dims[-2::-1], strict=False):
        before, index, size = access[outer_axis], access[axis], memref.type.shape[axis]
        whole = index.is_all_of(dim) and op.sizes[dim] == size and is_dense(memref.type)
        more = op.sizes[outer]
        if not whole or before.dim != outer or before.is_partial or total is None or more is None:
            break
        total *= more
        joined.add(outer_axis)
    return total, joined


def _strides(memref: Value, access: Sequence[Linear], joined: Collection[int]) -> list[int]:
    """Return the strides of the axes that vary independently, and the offset, in elements. Unknown values are 1."""
    strides, offset = memref.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    if strides[-1] != 1:
        return [1]
    moving = [
        stride
        for axis, (stride, index) in enumerate(zip(strides[:-1], access, strict=False))
        if axis not in joined and (index.factors or index.constant)
    ]
    return [1 if each == unknown else each for each in (*moving, offset)]


def clamped(index: Number, size: Size, extent: int, lanes: int = 1) -> Number:
    """Clamp an index to the valid range, since points out of range have no result. `extent` is the size of a block."""
    return index if is_multiple(size, extent) else minimum(index, size - lanes)


def is_multiple(size: Size, extent: int) -> bool:
    return isinstance(size, int) and size % extent == 0
