# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses of operations to memory, as boxes of elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.mlir import DYNAMIC, ir
from ...bindings.navigation import made_by


class Box(NamedTuple):
    """Box of elements of a memref that an operation accesses."""

    memref: Value
    #: First index along each dimension.
    firsts: Sequence[Value | int]
    #: Number of elements along each dimension, or None if unknown. A value is limited by `lanes`.
    counts: Sequence[Value | int | None]
    #: Greatest number of elements that a mask can select.
    lanes: int = 0
    verb: str = "reads"
    #: True if elements that follow each other in memory form the box: rows may be shorter than the box.
    is_run: bool = False


def box_of(op: Operation) -> Box | None:
    """Return the box that an operation accesses, or None if the operation accesses no box of a memref."""
    find = _BOXES.get(op.name)
    return None if find is None else find(op)


def _elements(memref: Value, indices: Sequence[Value], vector: Value) -> Box:
    shape = list(vector.type.shape) if isinstance(vector.type, ir.VectorType) else []
    if isinstance(memref.type.element_type, ir.VectorType):
        shape = shape[: len(shape) - len(memref.type.element_type.shape)]
    return Box(memref, indices, [1] * (len(indices) - len(shape)) + shape, is_run=len(shape) == 1)


def _load(op: Operation) -> Box:
    memref, *indices = op.operands
    return _elements(memref, indices, op.results[0])


def _store(op: Operation) -> Box:
    stored, memref, *indices = op.operands
    return _elements(memref, indices, stored)._replace(verb="writes")


def _masked(op: Operation) -> Box:
    memref, *indices, mask, vector = op.operands
    (lanes,) = vector.type.shape
    counts = [1] * (len(indices) - 1) + [_count(mask)]
    return Box(memref, indices, counts, lanes, "reads" if op.results else "writes", is_run=True)


def _transfer_read(op: Operation) -> Box | None:
    memref, *rest = op.operands
    return _transfer(op, memref, rest, 1, op.results[0])


def _transfer_write(op: Operation) -> Box | None:
    vector, memref, *rest = op.operands
    box = _transfer(op, memref, rest, 0, vector)
    return None if box is None else box._replace(verb="writes")


def _transfer(op: Operation, memref: Value, rest: Sequence[Value], others: int, vector: Value) -> Box | None:
    """Return the box of a transfer. Lanes outside of a dimension without `in_bounds` are not accessed."""
    if not isinstance(memref.type, ir.MemRefType):
        return None
    rank, lengths = memref.type.rank, list(vector.type.shape)
    masks = rest[rank + others :]
    counts: list[Value | int | None] = [1] * rank
    trusted = list(op.attributes["in_bounds"])
    for lane, along in enumerate(op.attributes["permutation_map"].value.results):
        if isinstance(along, ir.AffineDimExpr):
            known = lengths[lane] if not masks else _count(masks[0]) if len(lengths) == 1 else None
            counts[along.position] = known if trusted[lane].value else None
    return Box(memref, rest[:rank], counts, lengths[0] if len(lengths) == 1 else 0)


def _count(mask: Value) -> Value | int | None:
    """Return the number of lanes that a mask of the first lanes selects, or None for other masks."""
    made = made_by(mask, "vector.create_mask")
    if made is not None:
        return made.operands[0]
    made = made_by(mask, "vector.constant_mask")
    return None if made is None else int(next(iter(made.attributes["mask_dim_sizes"])))


def _subview(op: Operation) -> Box:
    dynamic = iter(list(op.operands)[1:])
    names = ("static_offsets", "static_sizes", "static_strides")
    offsets, sizes, strides = ([next(dynamic) if n == DYNAMIC else n for n in op.attributes[name]] for name in names)
    counts = [size if stride == 1 else None for size, stride in zip(sizes, strides, strict=True)]
    return Box(op.operands[0], offsets, counts, verb="takes")


_BOXES: Mapping[str, Callable[[Operation], Box | None]] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.subview": _subview,
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked,
    "vector.maskedstore": _masked,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
}
