# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activation functions, softmax and its kin, dropout."""

from __future__ import annotations

import math
from typing import Any

from ....dialects.core.infos import bit_width, is_float, is_unsigned
from ..prelude import Node, Outputs, Tensor, Value, const, register_onnx, relax
from ..shapes import sizes
from .random_numbers import random_state

# What relax.nn.selu multiplies exp(x) - 1 by.
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
# exp(-40) is nothing to 40, in f64 too.
_SOFTPLUS_THRESHOLD = 40.0


def like(node: Node, number: float) -> Tensor:
    """A number in the element type of the first input."""
    return const(number, node.value(0).dtype)


def _is_positive(node: Node) -> Tensor:
    return relax["greater"](node.tensor(0), like(node, 0))


def _exp_minus_one(node: Node, x: Tensor, factor: float) -> Tensor:
    """factor * (exp(x) - 1) for x <= 0: selu keeps the digits that the subtraction loses near 0."""
    return relax["multiply"](relax["nn.selu"](x), like(node, factor / (_SELU_SCALE * _SELU_ALPHA)))


# ---- of one element ----
@register_onnx("", "Relu")
def relu(node: Node) -> Outputs:
    return relax["nn.relu"](node.tensor(0))


@register_onnx("", "LeakyRelu")
def leaky_relu(node: Node) -> Outputs:
    return relax["nn.leakyrelu"](node.tensor(0), alpha=node.float("alpha", 0.01))


@register_onnx("", "PRelu")
def prelu_of_channels(node: Node) -> Outputs:
    """At first slopes were one number, or one for each channel."""
    if node.rank(0) < 2 or node.rank(1) != 1:
        return prelu(node)
    return relax["nn.prelu"](node.tensor(0), node.tensor(1), axis=1)


@register_onnx("", "PRelu", since=7)
def prelu(node: Node) -> Outputs:
    """Slopes are broadcast as operands are."""
    x = node.tensor(0)
    return relax["where"](_is_positive(node), x, relax["multiply"](x, node.tensor(1)))


@register_onnx("", "Elu")
def elu(node: Node) -> Outputs:
    x = node.tensor(0)
    return relax["where"](_is_positive(node), x, _exp_minus_one(node, x, node.float("alpha", 1.0)))


@register_onnx("", "Selu")
def selu_rounded(node: Node) -> Outputs:
    """The first version's numbers have fewer digits."""
    return _selu(node, 1.6732, 1.0507)


@register_onnx("", "Selu", since=6)
def selu(node: Node) -> Outputs:
    if not node.has_attribute("alpha") and not node.has_attribute("gamma"):
        return relax["nn.selu"](node.tensor(0))
    return _selu(node, _SELU_ALPHA, _SELU_SCALE)


def _selu(node: Node, default_alpha: float, default_gamma: float) -> Tensor:
    x, alpha, gamma = node.tensor(0), node.float("alpha", default_alpha), node.float("gamma", default_gamma)
    above = relax["multiply"](x, like(node, gamma))
    return relax["where"](_is_positive(node), above, _exp_minus_one(node, x, alpha * gamma))


@register_onnx("", "Celu")
def celu(node: Node) -> Outputs:
    x, alpha = node.tensor(0), node.float("alpha", 1.0)
    if alpha <= 0:
        raise node.fail(f"attribute 'alpha' must be above 0, got {alpha}", "alpha")
    below = _exp_minus_one(node, relax["divide"](x, like(node, alpha)), alpha)
    return relax["where"](_is_positive(node), x, below)


@register_onnx("", "ThresholdedRelu")
def thresholded_relu(node: Node) -> Outputs:
    x = node.tensor(0)
    return relax["where"](relax["greater"](x, like(node, node.float("alpha", 1.0))), x, like(node, 0))


@register_onnx("", "Softplus")
def softplus(node: Node) -> Outputs:
    return relax["nn.softplus"](node.tensor(0), threshold=_SOFTPLUS_THRESHOLD)


@register_onnx("", "Softsign")
def softsign(node: Node) -> Outputs:
    x = node.tensor(0)
    return relax["divide"](x, relax["add"](relax["abs"](x), like(node, 1)))


@register_onnx("", "HardSigmoid")
def hard_sigmoid(node: Node) -> Outputs:
    return _line_to_one(node, node.float("alpha", 0.2), node.float("beta", 0.5))


@register_onnx("", "HardSwish")
def hard_swish(node: Node) -> Outputs:
    return relax["multiply"](node.tensor(0), _line_to_one(node, 1 / 6, 0.5))


def _line_to_one(node: Node, slope: float, offset: float) -> Tensor:
    """slope * x + offset, from 0 to 1."""
    line = relax["add"](relax["multiply"](node.tensor(0), like(node, slope)), like(node, offset))
    return relax["clip"](line, 0.0, 1.0)


@register_onnx("", "Mish")
def mish(node: Node) -> Outputs:
    return relax["multiply"](node.tensor(0), relax["tanh"](softplus(node)))


@register_onnx("", "Gelu")
def gelu(node: Node) -> Outputs:
    name = {"none": "nn.gelu", "tanh": "nn.gelu_tanh"}[node.choice("approximate", "none", ("none", "tanh"))]
    return relax[name](node.tensor(0))


@register_onnx("", "Swish")
def swish(node: Node) -> Outputs:
    return scaled_silu(node, node.float("alpha", 1.0))


@register_onnx("", "SwiGLU")
def swiglu(node: Node) -> Outputs:
    return relax["multiply"](scaled_silu(node, node.float("alpha", 1.0)), node.tensor(1))


def scaled_silu(node: Node, alpha: float) -> Tensor:
    """x * sigmoid(alpha * x)."""
    x = node.tensor(0)
    if alpha == 1:
        return relax["nn.silu"](x)
    return relax["multiply"](x, relax["sigmoid"](relax["multiply"](x, like(node, alpha))))


@register_onnx("", "Shrink")
def shrink(node: Node) -> Outputs:
    """Both attributes are rounded towards zero for integers."""
    x, dtype = node.tensor(0), node.value(0).dtype
    bias, limit = node.float("bias", 0.0), node.float("lambd", 0.5)
    if not is_float(dtype):
        bias, limit = int(bias), int(limit)
    above = relax["subtract"](x, like(node, bias))
    result = relax["where"](relax["greater"](x, like(node, limit)), above, like(node, 0))
    if is_unsigned(dtype):
        return result  # nothing is below -limit
    return relax["where"](relax["less"](x, like(node, -limit)), relax["add"](x, like(node, bias)), result)


# ---- clip ----
@register_onnx("", "Clip")
def clip_by_attributes(node: Node) -> Outputs:
    return _clipped(node, *(node.float(name) for name in ("min", "max")))


@register_onnx("", "Clip", since=11)
def clip(node: Node) -> Outputs:
    bounds = [node.scalar(index) if node.has(index) else None for index in (1, 2)]
    if all(bound is not None or not node.has(index) for index, bound in enumerate(bounds, 1)):
        return _clipped(node, *bounds)
    x = node.tensor(0)
    for index, name in ((1, "maximum"), (2, "minimum")):
        if node.has(index):
            bound = node.tensor(index) if node.rank(index) == 0 else relax["reshape"](node.tensor(index), ())
            x = relax[name](x, bound)
    return x


def _clipped(node: Node, low: float | None, high: float | None) -> Tensor:
    x = node.tensor(0)
    # An integer operand is a signed number of 64 bits at most.
    if low is not None and high is not None and (high < 2**63 or isinstance(high, float)):
        return relax["clip"](x, low, high)
    if low is not None:
        x = relax["maximum"](x, like(node, low))
    return x if high is None else relax["minimum"](x, like(node, high))


# ---- along an axis ----
def softmax_along(x: Tensor, axis: int) -> Tensor:
    """Of a narrow type each step is rounded to it, as ONNX defines the operator: the result is the reference's."""
    if bit_width(Value(ssa=x).dtype) >= 32:
        return relax["nn.softmax"](x, axis=axis)
    powers = relax["exp"](relax["subtract"](x, relax["max"](x, axis=[axis], keepdims=True)))
    return relax["divide"](powers, relax["sum"](powers, axis=[axis], keepdims=True))


@register_onnx("", ["Softmax", "LogSoftmax", "Hardmax"], since=13)
def softmax(node: Node) -> Outputs:
    return _along(node, node.tensor(0), node.int("axis", -1))


@register_onnx("", ["Softmax", "LogSoftmax", "Hardmax"])
def softmax_of_matrix(node: Node) -> Outputs:
    """Before version 13 all dimensions from the axis on were one."""
    rank, axis = node.rank(0), node.int("axis", 1)
    first = axis + rank if axis < 0 else axis
    if first == rank - 1:
        return _along(node, node.tensor(0), first)
    own = sizes.sizes_of(node.value(0))
    matrix = sizes.reshaped(node.tensor(0), [sizes.product(own[:first]), sizes.product(own[first:])])
    return sizes.reshaped(_along(node, matrix, 1), own)


def _along(node: Node, x: Tensor, axis: int) -> Tensor:
    if node.op == "Softmax":
        return softmax_along(x, axis)
    if node.op == "LogSoftmax":
        return relax["nn.log_softmax"](x, axis=axis)
    places = relax["cumsum"](relax["ones_like"](x, dtype="i64"), axis=axis, exclusive=True)
    is_first = relax["equal"](places, relax["argmax"](_with_one_more(x, axis), axis=axis, keepdims=True))
    return relax["astype"](is_first, dtype=node.value(0).dtype)


def _with_one_more(x: Tensor, axis: int) -> Any:
    """With a smallest element behind the others where there may be none: what is found is one of them if there are."""
    shape, rank = Value(ssa=x).shape, x.type.rank
    size = None if shape is None else shape[axis]
    if isinstance(size, int) and size > 0:
        return x
    widths = [0] * (2 * rank)
    widths[2 * (axis % rank) + 1] = 1
    return relax["nn.pad"](x, pad_width=widths, pad_value=-math.inf)


# ---- dropout ----
@register_onnx("", "Dropout")
def dropout_without_training(node: Node) -> Outputs:
    """Before version 12 nobody could say that it trains, but for an attribute that was mostly left out."""
    return _kept(node, node.value(0).dtype if node.version < 10 else "i1")


@register_onnx("", "Dropout", since=12)
def dropout(node: Node) -> Outputs:
    training = node.numbers(2) if node.has(2) else (0,)
    ratio = node.scalar(1) if node.has(1) else 0.5
    if training == (0,) or ratio == 0:
        return _kept(node, "i1")
    return _dropped(node)


def _kept(node: Node, mask_dtype: str) -> list[Any]:
    """Nothing is dropped."""
    outputs: list[Any] = [node.value(0)]
    if node.output_count > 1:
        outputs.append(relax["ones_like"](node.tensor(0), dtype=mask_dtype))
    return outputs


def _dropped(node: Node) -> list[Any]:
    """Whether it trains may be known at run time only."""
    state, shape = random_state(node, node.value(0).shape)
    is_training, one = node.tensor(2), const(1, "f64")
    ratio = relax["astype"](node.tensor(1), dtype="f64") if node.has(1) else const(0.5, "f64")
    is_kept = relax["greater_equal"](const(state.uniform(0.0, 1.0, shape), "f64"), ratio)
    is_kept = relax["logical_or"](is_kept, relax["logical_not"](is_training))
    scale = relax["where"](is_training, relax["divide"](one, relax["subtract"](one, ratio)), one)
    scaled = relax["multiply"](node.tensor(0), relax["astype"](scale, dtype=node.value(0).dtype))
    return [relax["where"](is_kept, scaled, like(node, 0)), is_kept][: node.output_count]
