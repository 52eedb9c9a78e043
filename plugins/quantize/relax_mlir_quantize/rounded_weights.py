# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounded constant weights of layers: their scales, or blocks, and the errors of rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.relax.known_constants import floats_of
from relax_mlir.passes.graph.recipes.stated_types import DATA, channel_axis
from relax_mlir.support.errors import RelaxError

from .channels import axis_of_bias
from .layer_products import Channels, bias_of, product_of
from .mx_blocks import MxBlocks, in_mx_blocks, summed_axis
from .placement import Layer, Placement, ScaleGroup
from .scales import Scale, fixed_scale, scale_for_sums, scale_of_weights
from .weight_blocks import Blocks, in_blocks

if TYPE_CHECKING:
    from numpy import ndarray

#: A layer, and the name of an operand.
Operand = tuple[Layer, str]
#: Rounding of a constant operand.
Rounded = Scale | Blocks | MxBlocks
#: Weights of at most so many bits have ranges of the least squared error. More bits gain nothing by a clip.
_MOST_BITS = 4


class Corrections(NamedTuple):
    """Corrections of rounded weights."""

    clip_weights: bool
    biases: bool


def rounded_weights(
    placement: Placement, channels: Mapping[Value, Channels], corrections: Corrections
) -> dict[Operand, Rounded]:
    """Return the scales or blocks of constant operands, without derived scales.

    channels: statistics of the products' data. They weight the errors of each input channel.
    """
    weights_by_operand: dict[Operand, Rounded] = {}
    for layer in placement.layers:
        for name, value in layer.weights():
            if not layer.types[name].derived:
                weights_by_operand[layer, name] = _round(layer, name, value, channels, corrections)
    return weights_by_operand


def _round(
    layer: Layer, name: str, value: Value, channels: Mapping[Value, Channels], corrections: Corrections
) -> Rounded:
    type_, elements = layer.types[name], floats_of(value)
    assert elements is not None
    product = product_of(layer)
    found = channels.get(product.data) if product is not None and product.weight == value else None
    if type_.granularity == "mx":
        reader = _reader(layer, value)
        axis = summed_axis(reader, list(reader.operands).index(value), value)
        assert axis is not None, "placement refuses others"
        return in_mx_blocks(elements, type_, axis)
    is_weight = product is None or product.weight == value
    axis = (
        channel_axis(_reader(layer, value), elements.ndim) if is_weight else axis_of_bias(layer.op, layer.match, name)
    )
    if name in layer.fixed:
        return _read_scale(layer, name, elements, axis or 0)
    if type_.granularity == "block":
        if found is None or product is None:
            return in_blocks(elements, type_)
        is_corrected = corrections.biases and bias_of(layer, product) is not None
        return in_blocks(elements, type_, found.variance, None if is_corrected else found.mean)
    importance, spread = None if found is None else found.mean_square, None
    if importance is not None and product is not None:
        spread = product.spread(importance + 1e-6 * (importance.mean() or 1.0), "inputs")
    is_searched = corrections.clip_weights and type_.bits <= _MOST_BITS
    return scale_of_weights(elements, type_, axis or 0, spread, is_searched)


def _read_scale(layer: Layer, name: str, elements: ndarray, axis: int) -> Scale:
    """Return the scale that the recipe states for a constant."""
    type_, entry = layer.types[name], layer.fixed[name]
    scale = fixed_scale(entry, type_, axis)
    count = elements.shape[axis] if type_.granularity == "channel" else 1
    if type_.granularity == "block" or scale.scale.size != count or scale.scale.shape != scale.zero_point.shape:
        raise RelaxError(
            f"recipe: {entry!r}: the constant '{name}' of {layer.node} has the type '{type_}', so scale=, zero= or "
            f"range= has to be for {count}, got {scale.scale.size}"
        )
    return scale


def with_room_for_biases(
    placement: Placement, scales: Mapping[ScaleGroup, Scale], rounded: Mapping[Operand, Rounded]
) -> dict[Operand, Rounded]:
    """Return larger scales for weights so small that a bias with the derived scale would not fit its integers."""
    made = dict(rounded)
    for layer in placement.layers:
        data = next((value for name, value in layer.activations() if name == DATA), None)
        key = next((key for key, how in rounded.items() if key[0] is layer and isinstance(how, Scale)), None)
        for name, value in layer.weights():
            elements, axis = floats_of(value), axis_of_bias(layer.op, layer.match, name)
            if not layer.types[name].derived or data is None or key is None or elements is None or axis is None:
                continue
            x, w = scales[placement.groups[data, layer.types[DATA]]], made[key]
            assert isinstance(w, Scale)
            made[key] = scale_for_sums(x, w, elements, layer.types[name], axis)
    return made


def _reader(layer: Layer, value: Value) -> Operation:
    return next(operation for operation in layer.match.operations if value in list(operation.operands))


def errors_of_weights(rounded: Mapping[Operand, Rounded]) -> Iterator[tuple[Layer, ndarray]]:
    """Yield each layer with the rounded weights of its product, less the weights."""
    for (layer, name), how in rounded.items():
        product = product_of(layer)
        if product is None or layer.match[name] != product.weight:
            continue
        elements = floats_of(product.weight)
        assert elements is not None
        yield layer, (how.rounded(elements) if isinstance(how, Scale) else how.rounded()) - elements
