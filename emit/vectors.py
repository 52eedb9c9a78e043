# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on vectors in registers, for bodies that manage their own vectors."""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings.ir import Attribute, Type, Value
from ..bindings.mlir import i64_attribute, ir
from . import linalg
from .arithmetic import result_of
from .numbers import Number, Size, as_index, constant, number

#: LLVM supports these only for scalars.
SCALAR_ONLY = frozenset({"math.fpowi", "math.ipowi"})
#: These trap for some numbers, and a masked lane may contain any number.
TRAPPING = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "remsi", "remui", "ceildivsi", "ceildivui", "floordivsi")
)


def vector_of(lanes: int, element: Type) -> Type:
    return ir.VectorType.get([lanes], element)


def load(type_: Type, memref: Value, *at: Size, mask: Value | None = None, alignment: int | None = None) -> Number:
    """Load adjacent elements of a memref from an index on, with zeros in masked lanes.

    `alignment` is a known alignment in bytes.
    """
    indices = list(map(as_index, at))
    if mask is None:
        return number(result_of("vector.load", [memref, *indices], type_, **_align(alignment)))
    nothing = spread(type_, constant(0, type_.element_type))
    return number(result_of("vector.maskedload", [memref, *indices, mask, nothing], type_))


def store(value: Value, memref: Value, *at: Size, mask: Value | None = None, alignment: int | None = None) -> None:
    indices = list(map(as_index, at))
    if mask is None:
        ir.Operation.create("vector.store", operands=[value, memref, *indices], attributes=_align(alignment))
    else:
        ir.Operation.create("vector.maskedstore", operands=[memref, *indices, mask, value])


def _align(alignment: int | None) -> dict[str, Attribute]:
    return {} if alignment is None else {"alignment": i64_attribute(alignment)}


def first_lanes(count: Size, lanes: int, mask: Value | None = None) -> Value:
    """Return a mask of the first `count` lanes, restricted by another mask."""
    type_ = vector_of(lanes, ir.IntegerType.get_signless(1))
    result = result_of("vector.create_mask", [as_index(count)], type_)
    return result if mask is None else result_of("arith.andi", [mask, result], type_)


def from_elements(elements: Sequence[Value]) -> Value:
    return result_of("vector.from_elements", elements, vector_of(len(elements), elements[0].type))


def is_vector(value: Value) -> bool:
    return isinstance(value.type, ir.VectorType)


def repeated(word: Value, lanes: int) -> Value:
    """Return a vector that repeats a 32-bit word of narrow numbers `lanes` times."""
    count, narrow = word.type.shape[0], word.type.element_type
    bits = result_of("vector.bitcast", [word], vector_of(1, ir.IntegerType.get_signless(32)))
    return result_of("vector.bitcast", [in_each_lane(lane_of(bits, 0), lanes)], vector_of(lanes * count, narrow))


def lane_of(vector: Value, lane: int) -> Value:
    position = ir.DenseI64ArrayAttr.get([lane])
    return result_of("vector.extract", [vector], vector.type.element_type, static_position=position)


def shuffle(left: Value, right: Value, picked: Sequence[int]) -> Value:
    """Select lanes of two vectors, which share one numbering."""
    type_ = vector_of(len(picked), left.type.element_type)
    return result_of("vector.shuffle", [left, right], type_, mask=ir.DenseI64ArrayAttr.get(list(picked)))


def transposed(rows: Sequence[Value]) -> list[Value]:
    """Transpose a square of vectors, whose side is a power of two, by swapping blocks of 1, 2, 4... lanes."""
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
    """Return a vector with a number in each lane."""
    return number(result_of("vector.broadcast", [scalar], type_))


def in_each_lane(value: Value, lanes: int) -> Number:
    """Return a number in each lane. A vector is returned unchanged."""
    return number(value) if is_vector(value) else spread(vector_of(lanes, value.type), value)


def read_vector(tensor: Value, at: Sequence[int | Value], lanes: int, zero: Value, mask: Value | None = None) -> Value:
    """Read elements along a tensor's last axis, with `zero` in masked lanes."""
    masks = [] if mask is None else [mask]
    attributes = _transfer_attributes(len(at), 1, len(at), 1, len(masks))
    type_ = vector_of(lanes, tensor.type.element_type)
    return result_of("vector.transfer_read", [tensor, *map(as_index, at), zero, *masks], type_, **attributes)


def write_vector(value: Value, tensor: Value, at: Sequence[int | Value], mask: Value | None = None) -> Value:
    """Return the tensor with a vector's elements written along its last axis."""
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
    """Return x * y + z, rounded once if the machine can."""
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, x.as_operand(y)], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))
