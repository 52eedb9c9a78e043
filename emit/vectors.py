# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits what works on vectors in registers, for bodies that say themselves what one holds."""

from __future__ import annotations

from ..bindings.ir import Type, Value
from ..bindings.mlir import ir
from .arithmetic import result_of
from .numbers import Number, Size, as_index, number


def vector_of(lanes: int, element: Type) -> Type:
    return ir.VectorType.get([lanes], element)


def load(type_: Type, memref: Value, *at: Size) -> Number:
    """Neighbours in a memref from a place on."""
    return number(result_of("vector.load", [memref, *map(as_index, at)], type_))


def store(value: Value, memref: Value, *at: Size) -> None:
    ir.Operation.create("vector.store", operands=[value, memref, *map(as_index, at)])


def spread(type_: Type, scalar: Value) -> Number:
    """A vector of a number in each lane."""
    return number(result_of("vector.broadcast", [scalar], type_))


def multiply_add(x: Number, y: Value | float, z: Value) -> Number:
    """x * y + z, rounded once where the machine can."""
    fast = ir.Attribute.parse("#arith.fastmath<contract>")
    multiplied = result_of("arith.mulf", [x, x.beside(y)], x.type, fastmath=fast)
    return number(result_of("arith.addf", [multiplied, z], x.type, fastmath=fast))
