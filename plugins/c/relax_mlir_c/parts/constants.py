# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a part's large constants to parameters: the C compiler does not read them, and they exist once."""

from __future__ import annotations

from relax_mlir.bindings.ir import Attribute, Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.rewriting import replace_op
from relax_mlir.dialects.core.elements import is_resource
from relax_mlir.passes.graph.params.signature import add_arguments, state_type

#: Narrowest elements that are stored in the form of an argument. Sub-byte elements and bools differ.
_LEAST_BITS = 8


def lift_constants(function: Operation) -> list[Attribute]:
    """Replace a graph function's large constants by parameters after the others, and return their distinct values."""
    uses: dict[Attribute, list[Operation]] = {}
    for op in operations_in(function):
        if op.name == "arith.constant" and _is_large(op.attributes["value"]):
            uses.setdefault(op.attributes["value"], []).append(op)
    names = [f"constant_{number}" for number in range(len(uses))]
    with function.context, function.location:
        parameters = add_arguments(function, names, [ops[0].results[0].type for ops in uses.values()])
        for parameter, ops in zip(parameters, uses.values(), strict=True):
            for op in ops:
                replace_op(op, [parameter])
        state_type(function)
    return list(uses)


def _is_large(value: Attribute) -> bool:
    return is_resource(value) and ir.ShapedType(value.type).element_type.width >= _LEAST_BITS
