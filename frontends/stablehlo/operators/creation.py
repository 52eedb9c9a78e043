# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants and counted numbers."""

from __future__ import annotations

import math

from ....bindings.mlir import ir
from ..hlo_attributes import elements_of
from ..hlo_types import is_complex
from ..prelude import ComplexValue, Node, Outputs, Pair, Value, const, known, register_stablehlo, relax, sizes

#: Of more equal elements a constant is one number.
_MOST_EQUAL = 1024


@register_stablehlo("stablehlo.constant", "chlo.constant")
def constant(node: Node) -> Outputs:
    value = node.operation.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat and math.prod(value.type.shape) > _MOST_EQUAL:
        first = value.get_splat_value()
        if isinstance(first, (ir.FloatAttr, ir.IntegerAttr)):
            return sizes.full(node.static_shape(), const(first.value, node.dtype))
    parts = [Value(array=each) for each in elements_of(node.operation, node.result_types[0])]
    return parts[0] if len(parts) == 1 else ComplexValue(*parts)


def _counted(node: Node, shape: list[sizes.Size]) -> Outputs:
    """The place along an axis, at each place of the result."""
    axis = node.attr("iota_dimension")
    places = relax.astype(sizes.positions(shape, axis), dtype=node.dtype)
    whole = sizes.broadcast(places, shape)
    return Pair(whole, None).value() if is_complex(node.result_types[0]) else whole


@register_stablehlo("stablehlo.iota")
def iota(node: Node) -> Outputs:
    return _counted(node, list(node.static_shape()))


@register_stablehlo("stablehlo.dynamic_iota")
def dynamic_iota(node: Node) -> Outputs:
    return _counted(node, node.known_sizes(0))


@register_stablehlo("stablehlo.create_token", "stablehlo.after_all")
def token(node: Node) -> Outputs:
    """What orders effects, which the program's own order does."""
    return nothing()


def nothing() -> Value:
    """What stands for a token: as jax passes them."""
    import numpy

    return Value(array=numpy.zeros((0,), bool))


@register_stablehlo("stablehlo.get_dimension_size")
def get_dimension_size(node: Node) -> Outputs:
    size = node.sizes_of_operand(0)[node.attr("dimension")]
    return known(size, "i32") if sizes.is_known(size) else sizes.as_scalar(size, "i32")
