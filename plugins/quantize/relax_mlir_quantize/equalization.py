# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cross-layer equalization: give the channels between two layers weights of equal ranges.

A channel between two layers may be multiplied by a positive factor in the first layer's weights and divided in the
second's, through a relu as well. Layers with one scale for all of their weights lose less by rounding if all channels
have the same range. https://arxiv.org/abs/1906.04721
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.bindings.navigation import users_of
from relax_mlir.dialects.relax.known_constants import CONSTANTS, floats_of
from relax_mlir.passes.graph.scales.weights import Weighted

from .layer_products import Bias, bias_of, channel_shape, name_of, product_of
from .placement import Layer, Placement
from .smoothing import replace

if TYPE_CHECKING:
    from numpy import ndarray

#: Activations f with f(s * x) = s * f(x) for positive s.
_HOMOGENEOUS = ("relax.nn.relu", "relax.nn.leakyrelu", "relax.nn.leaky_relu")
#: Rounds over chains of pairs, and the change of factors at which these end.
_ROUNDS, _CHANGE = 20, 1e-3


@dataclass(eq=False)
class _ScaledProduct:
    """Product of a layer, with the factors of its outputs and the divisors of its inputs."""

    layer: Layer
    product: Weighted
    bias: Bias | None
    outputs: ndarray
    inputs: ndarray


def equalize(placement: Placement) -> int:
    """Equalize pairs of layers. Returns the number of pairs."""
    sides = {layer: side for layer in placement.layers if (side := _side(layer)) is not None}
    pairs = [(first, second) for first in sides.values() if (second := _next(first, sides)) is not None]
    if not pairs:
        return 0
    for _ in range(_ROUNDS):
        if max(_equalize(first, second) for first, second in pairs) < _CHANGE:
            break
    for side in dict.fromkeys(side for pair in pairs for side in pair):
        _write(side)
    return len(pairs)


def _side(layer: Layer) -> _ScaledProduct | None:
    import numpy

    if (product := product_of(layer)) is None or product.is_transposed:
        return None
    return _ScaledProduct(
        layer, product, bias_of(layer, product), numpy.ones(product.outputs), numpy.ones(product.inputs)
    )


def _next(first: _ScaledProduct, sides: dict[Layer, _ScaledProduct]) -> _ScaledProduct | None:
    """Return the only layer that reads a layer's result, if the pair can be equalized and gains by it."""
    result = first.layer.result
    readers = list(users_of(result))
    if len(readers) != 1 or not _is_homogeneous(first):
        return None
    second = next((side for side in sides.values() if side.product.op.operation == readers[0]), None)
    if second is None or second.product.data != result or second.product.inputs != first.product.outputs:
        return None
    # Rows of weights with scales of their own are as wide as they like.
    return second if _has_one_scale(first) or _has_one_scale(second) else None


def _has_one_scale(side: _ScaledProduct) -> bool:
    return side.layer.types[name_of(side.layer, side.product.weight)].granularity == "tensor"


def _is_homogeneous(side: _ScaledProduct) -> bool:
    """Check whether a layer is a product, a constant bias and a relu at most."""
    own = {side.product.op.operation, *([] if side.bias is None else [side.bias.operation])}
    others = [operation for operation in side.layer.match.operations if operation not in own]
    return all(each.name in (*_HOMOGENEOUS, *CONSTANTS) for each in others)


def _equalize(first: _ScaledProduct, second: _ScaledProduct) -> float:
    """Multiply the channels between two layers by factors. Returns the largest change."""
    import numpy

    outgoing = abs(first.product.by_group()).max(3)
    incoming = abs(second.product.by_group()).max(3)
    outgoing = outgoing * _group(1 / first.inputs, first.product)[:, None, :]
    incoming = incoming * _group(second.outputs, second.product)[:, :, None]
    own = outgoing.max(2).reshape(-1) * first.outputs
    theirs = incoming.max(1).reshape(-1) / second.inputs
    is_used = (own > 0) & (theirs > 0)
    factors = numpy.ones(len(own))
    factors[is_used] = numpy.sqrt(theirs[is_used] / own[is_used])
    first.outputs *= factors
    second.inputs *= factors
    return float(abs(numpy.log(factors)).max())


def _group(numbers: ndarray, product: Weighted) -> ndarray:
    return numbers.reshape(product.groups, -1)


def _write(side: _ScaledProduct) -> None:
    weights = side.product.scaled_weights(side.outputs, "outputs")
    assert weights is not None
    weights = weights / side.product.spread(side.inputs, "inputs")
    replace(side.product.op.operation, side.product.place, weights)
    if side.bias is not None:
        bias = floats_of(side.bias.value)
        assert bias is not None
        replace(side.bias.operation, side.bias.place, bias * side.outputs.reshape(channel_shape(side.product)))
