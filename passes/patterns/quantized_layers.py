# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ready patterns of quantized layers, in the form that the stage `partition-input` leaves them in.

Each matches a layer of dequantized operands (QDQ, as torchao, onnxruntime and TFLite give it) and a layer of integers
with one scale behind the sums (ONNX's QOperator). Inner values have one use, so that a match has one result.
"""

from __future__ import annotations

from collections.abc import Callable

from .operator_patterns import Op, is_op
from .tree import GraphPattern, is_const, wildcard

_BYTES = ("int8", "uint8")
_Product = Callable[[GraphPattern, GraphPattern], Op]


def quantized_linear(
    x: GraphPattern | None = None,
    w: GraphPattern | None = None,
    activation: Op | None = None,
    real_results: bool = False,
    product: Op | None = None,
) -> GraphPattern:
    """Return the pattern of a quantized linear layer: a product with a constant matrix, up to the next quantize.

    x, w: patterns of the operands' integers, int8 or uint8 by default. activation: the operators that may follow the
    sums, relu and clip by default. real_results: also match layers without a quantized result. product: the operator
    with conditions on its attributes, `relax.matmul` by default.

    Names: x, x_scale, x_zero_point, w, w_scale, w_zero_point, product, bias, bias_scale, bias_zero_point, activation,
    y_scale, y_zero_point, limited; in a QOperator layer `scale` in place of x_scale and w_scale.
    """
    w = is_const().has_dtype(*_BYTES) if w is None else w
    return _layer(product or is_op("relax.matmul"), x, w.has_rank(2), activation, real_results)


def quantized_conv(
    x: GraphPattern | None = None,
    w: GraphPattern | None = None,
    activation: Op | None = None,
    real_results: bool = False,
    product: Op | None = None,
) -> GraphPattern:
    """Return the pattern of a quantized convolution over 1, 2 or 3 dimensions. Arguments and names: quantized_linear.

    `product` is the convolution, with its strides, padding, groups and layouts. As an argument it states which ones:
    `is_op("relax.nn.conv2d").has_attr(data_layout="NHWC", groups=1)`.
    """
    w = is_const().has_dtype(*_BYTES) if w is None else w
    convolution = product or is_op(*(f"relax.nn.conv{rank}d" for rank in (1, 2, 3)))
    return _layer(convolution, x, w, activation, real_results)


def _layer(
    product: Op, x: GraphPattern | None, w: GraphPattern, activation: Op | None, real_results: bool
) -> GraphPattern:
    x = wildcard().has_dtype(*_BYTES) if x is None else x
    activation = is_op("relax.nn.relu", "relax.clip") if activation is None else activation
    x, w = x.named("x"), w.named("w")
    sums = _make_dequantized_pattern(product, x, w) | _make_integer_pattern(product, x, w)
    real = _make_epilogue_pattern(sums, lambda y: activation(y, ...).named("activation"))
    layer = _make_epilogue_pattern(is_op("relax.quantize")(real.used_once(), *_scales("y")), _make_limits_pattern)
    return layer | real if real_results else layer


def _make_dequantized_pattern(product: Op, x: GraphPattern, w: GraphPattern) -> GraphPattern:
    """Return the pattern of a product of dequantized operands, with a bias of reals or of dequantized integers."""
    sums = product(_make_dequantize_pattern(x, "x"), _make_dequantize_pattern(w, "w")).named("product")
    bias = is_const().named("bias")
    return _make_epilogue_pattern(sums, lambda y: is_op("relax.add")(y, bias | _make_dequantize_pattern(bias, "bias")))


def _make_integer_pattern(product: Op, x: GraphPattern, w: GraphPattern) -> GraphPattern:
    """Return the pattern of a product of integers less their zero points, with a bias of integers, and scaled."""
    zero_point = is_const().named("x_zero_point")
    shifted = is_op("relax.subtract")(is_op("relax.astype")(x).used_once(), zero_point).used_once()
    sums = product.has_attr(out_dtype="int32")(shifted | x, w).named("product")
    biased = _make_epilogue_pattern(sums, lambda y: is_op("relax.add")(y, is_const().named("bias")))
    real = is_op("relax.astype")(biased.used_once()).has_dtype("float32")
    return is_op("relax.multiply")(real.used_once(), is_const().named("scale"))


def _make_dequantize_pattern(numbers: GraphPattern, name: str) -> GraphPattern:
    return is_op("relax.dequantize")(numbers, *_scales(name)).used_once()


def _scales(name: str) -> tuple[GraphPattern, GraphPattern]:
    return is_const().named(f"{name}_scale"), is_const().named(f"{name}_zero_point")


def _make_limits_pattern(y: GraphPattern) -> GraphPattern:
    """Return the pattern of limits on the integers of a result, as an activation behind the quantize leaves them."""
    limits = is_op("relax.maximum", "relax.minimum")(y, is_const()) | is_op("relax.clip")(y, ...)
    return limits.named("limited")


def _make_epilogue_pattern(value: GraphPattern, around: Callable[[GraphPattern], GraphPattern]) -> GraphPattern:
    """Return the pattern of a value that an operator may follow, where that is the only use of the value."""
    return value.optional(lambda y: around(y.used_once()))
