# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what works on vectors in registers, for bodies that say themselves what one holds."""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings.ir import Attribute, Type, Value
from ..bindings.mlir import i64_attribute, ir
from . import linalg
from .arithmetic import result_of
from .numbers import Number, Size, as_index, constant, number

#: LLVM has these for scalars only.
SCALAR_ONLY = frozenset({"math.fpowi", "math.ipowi"})
#: They trap for some numbers, and a lane that is masked out may hold any.
TRAPPING = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi")
)


def vector_of(lanes: int, element: Type) -> Type:
    return ir.VectorType.get([lanes], element)


def load(type_: Type, memref: Value, *at: Size, mask: Value | None = None, alignment: int | None = None) -> Number:
    """Neighbours in a memref from a place on; with a mask zeros where a lane has none. `alignment`: of how many bytes
    that is known to be a multiple."""
    indices = list(map(as_index, at))
    if mask is None:
        return number(result_of("vector.load", [memref, *indices], type_, **_aligned(alignment)))
    nothing = spread(type_, constant(0, type_.element_type))
    return number(result_of("vector.maskedload", [memref, *indices, mask, nothing], type_))


def store(value: Value, memref: Value, *at: Size, mask: Value | None = None, alignment: int | None = None) -> None:
    indices = list(map(as_index, at))
    if mask is None:
        ir.Operation.create("vector.store", operands=[value, memref, *indices], attributes=_aligned(alignment))
    else:
        ir.Operation.create("vector.maskedstore", operands=[memref, *indices, mask, value])


def _aligned(alignment: int | None) -> dict[str, Attribute]:
    return {} if alignment is None else {"alignment": i64_attribute(alignment)}


def first_lanes(count: Size, lanes: int, mask: Value | None = None) -> Value:
    """A mask of the first N lanes, of those that a mask has."""
    type_ = vector_of(lanes, ir.IntegerType.get_signless(1))
    made = result_of("vector.create_mask", [as_index(count)], type_)
    return made if mask is None else result_of("arith.andi", [mask, made], type_)


def from_elements(elements: Sequence[Value]) -> Value:
    return result_of("vector.from_elements", elements, vector_of(len(elements), elements[0].type))


def is_vector(value: Value) -> bool:
    return isinstance(value.type, ir.VectorType)


def repeated(word: Value, lanes: int) -> Value:
    """A vector of 32 bits of narrow numbers, so many times one behind the other."""
    count, narrow = word.type.shape[0], word.type.element_type
    bits = result_of("vector.bitcast", [word], vector_of(1, ir.IntegerType.get_signless(32)))
    return result_of("vector.bitcast", [in_each_lane(lane_of(bits, 0), lanes)], vector_of(lanes * count, narrow))


def lane_of(vector: Value, lane: int) -> Value:
    position = ir.DenseI64ArrayAttr.get([lane])
    return result_of("vector.extract", [vector], vector.type.element_type, static_position=position)


def shuffle(left: Value, right: Value, picked: Sequence[int]) -> Value:
    """Lanes of two vectors, numbered through."""
    type_ = vector_of(len(picked), left.type.element_type)
    return result_of("vector.shuffle", [left, right], type_, mask=ir.DenseI64ArrayAttr.get(list(picked)))


def transposed(rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of vectors, whose side is a power of two: blocks change places, of 1, 2, 4... lanes."""
    size, distance = len(rows), 1
    while distance < size:
        upper = [place if not place & distance else size + place - distance for place in range(size)]
        lower = [place + distance if not place & distance else size + place for place in range(size)]
        new = list(rows)
        for first in (place for place in range(size) if not place & distance):
            pair = rows[first], rows[first + distance]
            new[first], new[first + distance] = shuffle(*pair, upper), shuffle(*pair, lower)
        rows, distance = new, distance * 2
    return list(rows)


def spread(type_: Type, scalar: Value) -> Number:
    """A vector of a number in each lane."""
    return number(result_of("vector.broadcast", [scalar], type_))


def in_each_lane(value: Value, lanes: int) -> Number:
    """A number in each of so many lanes; what is a vector has them."""
    return number(value) if is_vector(value) else spread(vector_of(lanes, value.type), value)


def read_vector(tensor: Value, at: Sequence[int | Value], lanes: int, zero: Value, mask: Value | None = None) -> Value:
    """Elements along a tensor's last axis; `zero` where a lane has none by the mask."""
    masks = [] if mask is None else [mask]
    attributes = _transfer_attributes(len(at), 1, len(at), 1, len(masks))
    type_ = vector_of(lanes, tensor.type.element_type)
    return result_of("vector.transfer_read", [tensor, *map(as_index, at), zero, *masks], type_, **attributes)


def write_vector(value: Value, tensor: Value, at: Sequence[int | Value], mask: Value | None = None) -> Value:
    """The tensor with a vector's elements along its last axis."""
    masks = [] if mask is None else [mask]
    attributes = _transfer_attributes(len(at), 1, 1, len(at), len(masks))
    operands = [value, tensor, *map(as_index, at), *masks]
    return result_of("vector.transfer_write", operands, tensor.type, **attributes)


def _transfer_attributes(rank: int, *counts: int) -> dict[str, Attribute]:
    return {
        "permutation_map": ir.AffineMapAttr.get(ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)])),
        "in_bounds": ir.ArrayAttr.get([ir.BoolAttr.get(True)]),
        **linalg.segments(*counts),
    }


def multiply_add(x: Number, y: Value | float, z: Value) -> Number:
    """x * y + z, rounded once where the machine can."""
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, x.as_operand(y)], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))
