# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what works on vectors in registers, for bodies that say themselves what one holds."""

from __future__ import annotations

from collections.abc import Sequence

from ..bindings.ir import Attribute, Type, Value
from ..bindings.mlir import ir
from .arithmetic import result_of
from .numbers import Number, Size, as_index, constant, number


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
    return {} if alignment is None else {"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), alignment)}


def first_lanes(count: Size, lanes: int, mask: Value | None = None) -> Value:
    """A mask of the first so many lanes, of those that a mask has."""
    type_ = vector_of(lanes, ir.IntegerType.get_signless(1))
    made = result_of("vector.create_mask", [as_index(count)], type_)
    return made if mask is None else result_of("arith.andi", [mask, made], type_)


def of_elements(elements: Sequence[Value]) -> Number:
    return number(result_of("vector.from_elements", list(elements), vector_of(len(elements), elements[0].type)))


def element(vector: Value, lane: int) -> Number:
    position = ir.DenseI64ArrayAttr.get([lane])
    return number(result_of("vector.extract", [vector], vector.type.element_type, static_position=position))


def spread(type_: Type, scalar: Value) -> Number:
    """A vector of a number in each lane."""
    return number(result_of("vector.broadcast", [scalar], type_))


def multiply_add(x: Number, y: Value | float, z: Value) -> Number:
    """x * y + z, rounded once where the machine can."""
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, x.beside(y)], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))
