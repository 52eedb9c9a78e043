# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors that are copies of others with a border, as `emit.windows.padded` creates them."""

from __future__ import annotations

from dataclasses import dataclass

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, last_of, made_by, operations_of
from ....emit.groups import fill_of, filled_with
from ....emit.tensors import SlicePlace


@dataclass(frozen=True)
class Padding:
    """A tensor with a border of one number."""

    whole: Value
    data: Value
    number: Value
    before: tuple[int, ...]
    after: tuple[int, ...]
    #: Operations that create the tensor, users first.
    makers: tuple[Operation, ...]

    def is_along(self, axis: int) -> bool:
        return bool(self.before[axis] or self.after[axis])


def padding_of(whole: Value) -> Padding | None:
    """Return the padding that creates a tensor, or None."""
    inserted = made_by(whole, "tensor.insert_slice")
    copy = None if inserted is None else made_by(inserted.operands[0], "linalg.generic")
    if inserted is None or copy is None or not _is_copy(copy):
        return None
    data, place = copy.operands[0], SlicePlace.of(inserted)
    makers, number, after = [inserted, copy, *_outs(copy)], None, [0] * len(place.sizes)
    room = inserted.operands[1]
    while (border := made_by(room, "tensor.insert_slice")) is not None:
        fill = fill_of(border.operands[0])
        filled = None if fill is None else filled_with(fill)
        if fill is None or filled is None or (number is not None and not _are_same(number, filled)):
            return None
        number, room = filled, border.operands[1]
        makers += [border, fill, *_outs(fill)]
        if not _add_border(SlicePlace.of(border), place, after):
            return None
    before = tuple(offset for offset in place.offsets if isinstance(offset, int))
    is_dense = all(stride == 1 for stride in place.strides)
    if made_by(room, "tensor.empty") is None or number is None or len(before) < len(place.offsets) or not is_dense:
        return None
    return Padding(whole, data, number, before, tuple(after), tuple(makers))


def _is_copy(generic: Operation) -> bool:
    maps = list(generic.attributes["indexing_maps"])
    if len(maps) != 2 or maps[0] != maps[1] or len(operations_of(body_of(generic))) != 1:
        return False
    return last_of(body_of(generic)).operands[0] == body_of(generic).arguments[0]


def _outs(generic: Operation) -> list[Operation]:
    part = made_by(generic.operands[len(generic.operands) - 1], "tensor.extract_slice")
    return [] if part is None else [part]


def _add_border(border: SlicePlace, data: SlicePlace, after: list[int]) -> bool:
    """Add the width of a border behind the data. Return False if the width is unknown."""
    places = zip(border.offsets, border.sizes, data.offsets, data.sizes, strict=True)
    for axis, (offset, size, own_offset, own_size) in enumerate(places):
        if (offset, size) != (own_offset, own_size):
            if not isinstance(size, int):
                return False
            after[axis] += size if offset != 0 else 0
            return True
    return False


def _are_same(one: Value, other: Value) -> bool:
    return one == other or (_number(one) is not None and _number(one) == _number(other))


def _number(scalar: Value) -> str | None:
    constant = made_by(scalar, "arith.constant")
    return None if constant is None else str(constant.attributes["value"])
