# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants and index tensors."""

from __future__ import annotations

import math
from typing import Any

from relax_mlir.bindings.mlir import ir

from ..hlo_attributes import elements_of
from ..hlo_types import is_complex
from ..prelude import ComplexValue, HloNode, Outputs, Pair, Value, const, known, register_stablehlo, relax, sizes

#: A constant of more equal elements becomes a single number.
_MOST_EQUAL = 1024


@register_stablehlo("stablehlo.constant", "chlo.constant")
def constant(node: HloNode) -> Outputs:
    number = None if is_complex(node.result_types[0]) else _find_splat(node)
    if number is not None:
        return sizes.full(node.static_shape(), const(number, node.dtype))
    parts = [Value(array=element) for element in elements_of(node.operation, node.result_types[0])]
    return parts[0] if len(parts) == 1 else ComplexValue(*parts)


def _find_splat(node: HloNode) -> float | int | bool | None:
    """Return the value of all elements of a large splat constant, or None."""
    value: Any = node.operation.attributes["value"]
    is_splat = isinstance(value, ir.DenseElementsAttr) and value.is_splat
    if not is_splat or math.prod(value.type.shape) <= _MOST_EQUAL:
        return None
    number = value.get_splat_value()
    return number.value if isinstance(number, (ir.FloatAttr, ir.IntegerAttr)) else None


def _count(node: HloNode, shape: list[sizes.Size]) -> Outputs:
    """Return the index along an axis for each element of the result."""
    places = relax.astype(sizes.positions(shape, node.attr("iota_dimension")), dtype=node.dtype)
    whole = sizes.broadcast(places, shape)
    return Pair(whole, None).value() if is_complex(node.result_types[0]) else whole


@register_stablehlo("stablehlo.iota")
def iota(node: HloNode) -> Outputs:
    return _count(node, list(node.static_shape()))


@register_stablehlo("stablehlo.dynamic_iota")
def dynamic_iota(node: HloNode) -> Outputs:
    return _count(node, node.known_sizes(0))


@register_stablehlo("stablehlo.create_token", "stablehlo.after_all")
def token(node: HloNode) -> Outputs:
    """Return a token. The program's own order orders the effects."""
    return nothing()


def nothing() -> Value:
    """Return the value of a token, in the form in which jax passes tokens."""
    import numpy

    return Value(array=numpy.zeros((0,), bool))


@register_stablehlo("stablehlo.get_dimension_size")
def get_dimension_size(node: HloNode) -> Outputs:
    size = node.sizes_of_operand(0)[node.attr("dimension")]
    return known(size, "i32") if sizes.is_known(size) else sizes.as_scalar(size, "i32")
