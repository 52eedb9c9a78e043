# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Active lanes of vector masks."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import NamedTuple

from ..bindings.ir import Value
from ..bindings.mlir import ir
from ..bindings.navigation import made_by
from .arithmetic import result_of
from .numbers import Number, Size, as_index, constant, minimum, number, select


class ActiveLanes(NamedTuple):
    """Range from the first active lane to the last one, or of the indices that the active lanes have."""

    first: Size
    last: Size
    #: Condition under which no lane is active.
    nothing: Number | bool = False


def active_lanes(mask: Value, axis: int, indices: Value | None = None) -> ActiveLanes:
    """Return the active lanes along a dimension of a mask. With `indices`, return the range of the active indices."""
    if (made := made_by(mask, "vector.create_mask")) is not None and indices is None:
        return _first_lanes(as_index(made.operands[axis]), mask.type.shape[axis])
    if (made := made_by(mask, "vector.constant_mask")) is not None and indices is None:
        return _first_lanes(as_index(list(made.attributes["mask_dim_sizes"])[axis]), mask.type.shape[axis])
    along = _reduce_mask(mask, axis)
    type_ = ir.VectorType.get([along.type.shape[0]], ir.IntegerType.get_signless(64))
    if indices is None:
        values = result_of("arith.constant", [], type_, value=_count(type_))
    elif isinstance(indices.type.element_type, ir.IndexType):
        values = result_of("arith.index_cast", [indices], type_)
    else:
        values = indices if indices.type == type_ else result_of("arith.extsi", [indices], type_)
    least, most = -(1 << 62), 1 << 62
    first = _extreme("minsi", select(along, values, constant(most, type_)))
    last = _extreme("maxsi", select(along, values, constant(least, type_)))
    return ActiveLanes(as_index(first), as_index(last), first == most)


def count_lanes(mask: Value) -> ActiveLanes:
    """Return the range from 0 on with as many lanes as the mask has active ones."""
    ones = result_of("arith.extui", [mask], ir.VectorType.get(mask.type.shape, ir.IntegerType.get_signless(64)))
    return _first_lanes(as_index(_extreme("add", ones)), mask.type.shape[0])


def _first_lanes(count: Number, lanes: int) -> ActiveLanes:
    return ActiveLanes(0, minimum(count, as_index(lanes)) - 1, count <= 0)


def _count(type_: ir.Type) -> ir.Attribute:
    numbers = [ir.IntegerAttr.get(type_.element_type, lane) for lane in range(type_.shape[0])]
    return ir.DenseElementsAttr.get(numbers, type_)


def _reduce_mask(mask: Value, axis: int) -> Value:
    """Return a mask of one dimension: a lane is active if any lane at its place of the dimension is active."""
    shape = list(mask.type.shape)
    if len(shape) == 1:
        return mask
    bit = ir.IntegerType.get_signless(1)
    others = [range(size) for place, size in enumerate(shape) if place != axis]
    lanes = []
    for lane in range(shape[axis]):
        positions = [[*place[:axis], lane, *place[axis:]] for place in itertools.product(*others)]
        bits = [
            result_of("vector.extract", [mask], bit, static_position=ir.DenseI64ArrayAttr.get(position))
            for position in positions
        ]
        lanes.append(reduce(lambda one, other: result_of("arith.ori", [one, other], bit), bits))
    return result_of("vector.from_elements", lanes, ir.VectorType.get([shape[axis]], bit))


def _extreme(kind: str, values: Value) -> Number:
    """Return the reduction of a vector of i64."""
    attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
    return number(result_of("vector.reduction", [values], values.type.element_type, kind=attribute))
