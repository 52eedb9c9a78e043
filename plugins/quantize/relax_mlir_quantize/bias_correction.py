# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bias correction: subtract the mean error that rounded weights cause in each output channel.

Rounding errors of a channel's weights do not cancel out if the channel has few weights, as in depthwise convolutions,
and if the data has a mean other than 0, as behind a relu.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.known_constants import floats_of
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.passes.graph.scales.weights import Weighted

from .layer_products import Bias, Channels, bias_of, channel_shape, name_of, product_of
from .placement import Placement
from .rounded_weights import Operand, Rounded, errors_of_weights
from .smoothing import replace

if TYPE_CHECKING:
    from numpy import ndarray


def corrected_bias(product: Weighted, bias: Bias, error: ndarray, channels: Channels) -> ndarray | None:
    """Return a bias less the mean of the errors, or None if the bias has no known elements.

    error: the rounded weights less the weights. channels: statistics of the product's data.
    """
    if (elements := floats_of(bias.value)) is None or channels.mean is None:
        return None
    correction = mean_error(product, error, channels.mean).reshape(channel_shape(product))
    return (elements - correction).astype(elements.dtype)


def mean_error(product: Weighted, error: ndarray, mean: ndarray) -> ndarray:
    """Return the mean error of each output channel, for data with a mean per input channel."""
    import numpy

    groups, _, inputs, taps = product.by_group(error).shape
    if (shares := _shares_of_taps(product)) is None:
        shares = numpy.ones(taps)
    return numpy.einsum("goit,gi,t->go", product.by_group(error), mean.reshape(groups, inputs), shares).reshape(-1)


def _shares_of_taps(product: Weighted) -> ndarray | None:
    """Return for each tap of a convolution the share of output positions where the tap reads data, not padding."""
    import numpy

    op = product.op
    if "conv" not in op.operation.name or product.is_transposed:
        return None
    rank = product.rank - 2
    data, weights = shape_of(product.data), product.info.shape
    assert weights is not None
    taps = [weights[axis] for axis in product.order[2:]]
    padding = list(op.padding)
    before = padding if len(padding) == rank else padding[:rank] if len(padding) == 2 * rank else padding * rank
    after = padding[rank:] if len(padding) == 2 * rank else before
    shares = numpy.ones(())
    spatial = _spatial_sizes(data, product)
    for axis in range(rank):
        size, tap = spatial[axis], taps[axis]
        if not isinstance(size, int) or not isinstance(tap, int):
            return None
        stride, step = _each(op.strides, axis), _each(op.dilation, axis)
        count = (size + before[axis] + after[axis] - (tap - 1) * step - 1) // stride + 1
        places = numpy.arange(count)[:, None] * stride - before[axis] + numpy.arange(tap) * step
        shares = shares[..., None] * ((places >= 0) & (places < size)).mean(0)
    return shares.reshape(-1)


def _each(numbers: Sequence[int], axis: int) -> int:
    return numbers[axis] if axis < len(numbers) else numbers[0]


def _spatial_sizes(data: object, product: Weighted) -> list[object]:
    """Return the sizes of the data besides batch and channels, in the order of the layout."""
    layout = str(product.op.data_layout)
    sizes = list(data) if isinstance(data, (list, tuple)) else [None] * len(layout)
    return [size for letter, size in zip(layout, sizes, strict=True) if letter not in "NC"]


def corrected_biases(
    placement: Placement, rounded: Mapping[Operand, Rounded], channels: Mapping[Value, Channels]
) -> dict[Operand, ndarray]:
    """Return the corrected biases that layers quantize. Biases that stay real are replaced."""
    made = {}
    for layer, error in errors_of_weights(rounded):
        product = product_of(layer)
        bias = None if product is None else bias_of(layer, product)
        if product is None or bias is None or product.data not in channels:
            continue
        corrected = corrected_bias(product, bias, error, channels[product.data])
        name = name_of(layer, bias.value)
        if corrected is None:
            continue
        if name:
            made[layer, name] = corrected
        else:
            replace(bias.operation, bias.place, corrected)
    return made
