# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses of operations to memory as boxes of elements, and boxes that leave their buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import made_by
from .corner_iterations import Corners

if TYPE_CHECKING:
    from .corner_iterations import Values


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


def _masked_box(op: Operation) -> Box:
    memref, *indices, mask, vector = op.operands
    (lanes,) = vector.type.shape
    counts = [1] * (len(indices) - 1) + [_selected_lanes(mask)]
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
            known = lengths[lane] if not masks else _selected_lanes(masks[0]) if len(lengths) == 1 else None
            counts[along.position] = known if trusted[lane].value else None
    return Box(memref, rest[:rank], counts, lengths[0] if len(lengths) == 1 else 0)


def _selected_lanes(mask: Value) -> Value | int | None:
    """Return the number of lanes that a mask of the first lanes selects, or None for other masks."""
    if (made := made_by(mask, "vector.create_mask")) is not None:
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
    "vector.maskedload": _masked_box,
    "vector.maskedstore": _masked_box,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
}


# ---- boxes that leave their buffer ----


class _Range(NamedTuple):
    """Range of elements: the buffer's size, the number of accessed elements, the first of them, and a description."""

    size: int
    reach: Values
    first: Values
    where: str


def excesses(function: Operation) -> Iterator[tuple[Operation, str]]:
    """Yield the accesses of a function that leave their buffer, each with a description."""
    corners = Corners(function)
    for op, runs in corners.operations():
        box = box_of(op)
        text = None if box is None else _describe(op, box, corners, runs)
        if text is not None:
            yield op, text


def _describe(op: Operation, box: Box, corners: Corners, runs: Values) -> str | None:
    """Return a description of the elements outside of the buffer, or None if there are none."""
    import numpy

    counts = [_count(box, each, corners) for each in box.counts]
    for condition in (each > 0 for each in counts if each is not None):
        runs = runs & condition
    for size, count, first, where in _runs(box, counts, corners) if box.is_run else _axes(box, counts, corners):
        fails, first, count = numpy.broadcast_arrays(runs & ((first < 0) | (first + count > size)), first, count)
        if fails.any():
            place = numpy.unravel_index(int(fails.argmax()), fails.shape)
            elements = f"elements {first[place]} to {first[place] + count[place] - 1} of the {size}"
            return f"'{op.name}' op {box.verb} {elements} {where}{_memref_text(box.memref)}"
    return None


def _axes(box: Box, counts: Sequence[Values | None], corners: Corners) -> Iterator[_Range]:
    """Yield the elements along each dimension of known size."""
    for axis, (size, count) in enumerate(zip(box.memref.type.shape, counts, strict=True)):
        if size != DYNAMIC and count is not None:
            yield _Range(size, count, _first(box, axis, corners), f"along dimension {axis} of ")


def _runs(box: Box, counts: Sequence[Values | None], corners: Corners) -> Iterator[_Range]:
    """Yield the elements that follow each other in a memref of known sizes."""
    import numpy

    shape, count = list(box.memref.type.shape), counts[-1]
    strides, _ = box.memref.type.get_strides_and_offset()
    if DYNAMIC in shape or DYNAMIC in strides or count is None:
        return
    first: Values = numpy.asarray(0)
    for axis, stride in enumerate(strides):
        first = first + _first(box, axis, corners) * stride
    size = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    yield _Range(size, count, first, "of ")


def _first(box: Box, axis: int, corners: Corners) -> Values:
    """Return the first index along a dimension. An unknown index is at least 0."""
    import numpy

    first = _values(box.firsts[axis], corners)
    return numpy.asarray(0) if first is None else first


def _values(number: Value | int, corners: Corners) -> Values | None:
    import numpy

    return numpy.asarray(number) if isinstance(number, int) else corners.of(number)


def _count(box: Box, number: Value | int | None, corners: Corners) -> Values | None:
    """Return how many elements the box has along a dimension, or None if the number is unknown."""
    import numpy

    known = None if number is None else _values(number, corners)
    return known if known is None or not box.lanes else numpy.minimum(known, box.lanes)


def _memref_text(memref: Value) -> str:
    held = made_by(memref, "memref.get_global")
    name = "" if held is None else f"constant {held.attributes['name'].value!s} "
    return f"{name}{memref.type}"
