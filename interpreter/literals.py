# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants: numbers, or arrays that nothing writes to."""

from __future__ import annotations

from typing import Any

import numpy

from ..bindings.ir import Attribute, Operation, Type
from ..bindings.mlir import ir
from ..dialects.relax.constants import array_of_attribute
from .held_values import Numbers, stored

_CONSTANTS = frozenset(("arith.constant", "relax.constant", "index.constant", "index.bool.constant"))


def constant_of(operation: Operation, numbers: Numbers) -> Any:
    """What a constant is; None for another operation."""
    return (
        value_of(operation.attributes["value"], operation.result.type, numbers)
        if operation.name in _CONSTANTS
        else None
    )


def value_of(attribute: Attribute, type_: Type, numbers: Numbers) -> Any:
    """What an attribute says as a value of a type."""
    if not isinstance(type_, ir.ShapedType):
        dtype = str(type_)
        return numbers.held(numpy.asarray(attribute.value).astype(stored(dtype)), dtype)[()]
    dtype = str(type_.element_type)
    array = numbers.held(array_of_attribute(attribute, dtype, tuple(type_.shape)), dtype)
    array.flags.writeable = False
    return array
