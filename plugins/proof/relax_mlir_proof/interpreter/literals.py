# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants: numbers, and read-only arrays."""

from __future__ import annotations

import numpy
from relax_mlir.bindings.ir import Attribute, Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.relax.constants import array_of_attribute

from .held_values import HeldValue, Numbers, stored

_CONSTANTS = frozenset(("arith.constant", "relax.constant", "index.constant", "index.bool.constant"))


def constant_of(operation: Operation, numbers: Numbers) -> HeldValue | None:
    """Return the value of a constant, or None for other operations."""
    return (
        value_of(operation.attributes["value"], operation.result.type, numbers)
        if operation.name in _CONSTANTS
        else None
    )


def value_of(attribute: Attribute, type_: Type, numbers: Numbers) -> HeldValue:
    """Return an attribute's value as a value of a type."""
    if not isinstance(type_, ir.ShapedType):
        dtype = str(type_)
        return numbers.held(numpy.asarray(attribute.value).astype(stored(dtype)), dtype)[()]
    dtype = str(type_.element_type)
    array = numbers.held(array_of_attribute(attribute, dtype, tuple(type_.shape)), dtype)
    array.flags.writeable = False
    return array
