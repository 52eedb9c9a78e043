# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of activation functions, softmax and its variants, clip and dropout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....dialects.core.infos import bit_width, is_float, is_unsigned
from ...core import sizes
from ..prelude import OnnxNode, Outputs, Tensor, Value, const, info_of, like, register_onnx, register_rows, relax
from .random_numbers import uniform

# Constants of relax.nn.selu, which multiplies exp(x) - 1 by their product.
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
# exp(-40) is negligible beside 40, in f64 too.
_SOFTPLUS_THRESHOLD = 40.0


def _is_positive(x: Tensor) -> Tensor:
    return relax.greater(x, like(x, 0))


def _exp_minus_one(x: Tensor, factor: float) -> Tensor:
    """Return factor * (exp(x) - 1) for x <= 0. selu keeps the digits that the subtraction loses near 0."""
    return relax.multiply(relax.nn.selu(x), like(x, factor / (_SELU_SCALE * _SELU_ALPHA)))


# ---- elementwise, also for recurrent and fused operators ----


class Activation(NamedTuple):
    """Activation function of a tensor and two numbers. None marks a number that the function does not use."""

    build: Callable[..., Tensor]
    alpha: float | None = None
    beta: float | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return self.build(x, self.alpha, self.beta)


def _scale(x: Tensor, alpha: float, beta: float) -> Tensor:
    return relax.add(relax.multiply(x, like(x, alpha)), like(x, beta))


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    return relax.multiply(relax.tanh(relax.multiply(x, like(x, beta))), like(x, alpha))


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    return relax.clip(_scale(x, alpha, beta), 0.0, 1.0)


def _softplus(x: Tensor, *_: object) -> Tensor:
    return relax.nn.softplus(x, threshold=_SOFTPLUS_THRESHOLD)


_KINDS: dict[str, Activation] = {
    "relu": Activation(lambda x, *_: relax.nn.relu(x)),
    "tanh": Activation(lambda x, *_: relax.tanh(x)),
    "sigmoid": Activation(lambda x, *_: relax.sigmoid(x)),
    "softsign": Activation(lambda x, *_: relax.divide(x, relax.add(relax.abs(x), like(x, 1)))),
    "softplus": Activation(_softplus),
    "affine": Activation(_scale, 1.0, 0.0),
    "leakyrelu": Activation(lambda x, alpha, _: relax.nn.leakyrelu(x, alpha=alpha), 0.01),
    "thresholdedrelu": Activation(
        lambda x, alpha, _: relax.where(relax.greater(x, like(x, alpha)), x, like(x, 0)), 1.0
    ),
    "scaledtanh": Activation(_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": Activation(_hard_sigmoid, 0.2, 0.5),
    "elu": Activation(lambda x, alpha, _: relax.where(_is_positive(x), x, _exp_minus_one(x, alpha)), 1.0),
}


@register_onnx("", ["Elu", "HardSigmoid", "LeakyRelu", "Relu", "Softplus", "Softsign", "ThresholdedRelu"])
def named(node: OnnxNode) -> Outputs:
    build, alpha, beta = _KINDS[node.op.lower()]
    return build(node.tensor(0), node.float("alpha", alpha), node.float("beta", beta))


def activations_of(node: OnnxNode, defaults: Sequence[str], directions: int) -> list[Activation]:
    """Return the activation functions of all directions, one direction after the other."""
    names = node.strings("activations", None) or [*defaults] * directions
    if len(names) != len(defaults) * directions:
        raise node.fail(f"must name {len(defaults) * directions} functions, got {len(names)}", "activations")
    alphas, betas = node.floats("activation_alpha", []), node.floats("activation_beta", [])
    functions = []
    for index, name in enumerate(names):
        if (kind := _KINDS.get(name.lower())) is None:
            raise node.fail(
                f"'{name}' is not an activation function, expected one of {', '.join(sorted(_KINDS))}", "activations"
            )
        alpha = _argument(kind.alpha, alphas, index, len(names))
        beta = _argument(kind.beta, betas, index, len(names))
        functions.append(Activation(kind.build, alpha, beta))
    return functions


def activated(node: OnnxNode, tensor: Tensor, parameters: Sequence[float]) -> Tensor:
    """Apply the activation in com.microsoft's attribute to a result. The parameters are in the function's order."""
    if not (name := node.string("activation", "")):
        return tensor
    if name == "Clip" and len(parameters) == 2:
        return relax.clip(tensor, *parameters)
    if name not in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"):
        raise node.fail(f"the activation '{name}' with {len(parameters)} parameters is not known", "activation")
    kind = _KINDS[name.lower()]
    alpha = parameters[0] if parameters else kind.alpha
    return kind.build(tensor, alpha, parameters[1] if len(parameters) > 1 else kind.beta)


def _argument(default: float | None, given: list[float], index: int, count: int) -> float | None:
    """Return a function's number: by position if each function has one, else the next for functions that use one."""
    if len(given) == count:
        return given[index]
    return default if default is None or not given else given.pop(0)


# ---- elementwise ----


@register_onnx("", "PRelu")
def prelu_of_channels(node: OnnxNode) -> Outputs:
    """Convert PRelu of the first versions, with one slope or one slope for each channel."""
    if node.rank(0) < 2 or node.rank(1) != 1:
        return prelu(node)
    return relax.dialect.ops["nn.prelu"](*node.tensors(2), axis=1)


@register_onnx("", "PRelu", since=7)
def prelu(node: OnnxNode) -> Outputs:
    """Convert PRelu. Slopes are broadcast like operands."""
    x, slopes = node.tensors(2)
    return relax.where(_is_positive(x), x, relax.multiply(x, slopes))


@register_onnx("", "Selu", since=6)
def selu(node: OnnxNode) -> Outputs:
    if not node.has_attribute("alpha") and not node.has_attribute("gamma"):
        return relax.nn.selu(node.tensor(0))
    return _selu(node, _SELU_ALPHA, _SELU_SCALE)


def _selu(node: OnnxNode, default_alpha: float, default_gamma: float) -> Tensor:
    x, alpha, gamma = node.tensor(0), node.float("alpha", default_alpha), node.float("gamma", default_gamma)
    return relax.where(_is_positive(x), relax.multiply(x, like(x, gamma)), _exp_minus_one(x, alpha * gamma))


@register_onnx("", "Celu")
def celu(node: OnnxNode) -> Outputs:
    x, alpha = node.tensor(0), node.float("alpha", 1.0)
    if alpha <= 0:
        raise node.fail(f"attribute 'alpha' must be above 0, got {alpha}", "alpha")
    below = _exp_minus_one(relax.divide(x, like(x, alpha)), alpha)
    return relax.where(_is_positive(x), x, below)


register_rows(
    "",
    {
        "Clip": lambda node: _clip(node, node.float("min"), node.float("max")),
        # Before version 12, an attribute enabled training, and most models left it out.
        "Dropout": lambda node: _keep_all(node, node.value(0).dtype if node.version < 10 else "i1"),
        "HardSwish": lambda node: relax.multiply(node.tensor(0), _hard_sigmoid(node.tensor(0), 1 / 6, 0.5)),
        "Mish": lambda node: relax.multiply(node.tensor(0), relax.tanh(_softplus(node.tensor(0)))),
        # The first version's constants have fewer digits.
        "Selu": lambda node: _selu(node, 1.6732, 1.0507),
        "SwiGLU": lambda node: relax.multiply(scaled_silu(node, node.float("alpha", 1.0)), node.tensor(1)),
        "Swish": lambda node: scaled_silu(node, node.float("alpha", 1.0)),
    },
)


@register_onnx("", "Gelu")
def gelu(node: OnnxNode) -> Outputs:
    name = {"none": "nn.gelu", "tanh": "nn.gelu_tanh"}[node.choice("approximate", "none", ("none", "tanh"))]
    return relax.dialect.ops[name](node.tensor(0))


def scaled_silu(node: OnnxNode, alpha: float) -> Tensor:
    """Return x * sigmoid(alpha * x)."""
    x = node.tensor(0)
    if alpha == 1:
        return relax.nn.silu(x)
    return relax.multiply(x, relax.sigmoid(relax.multiply(x, like(x, alpha))))


@register_onnx("", "Shrink")
def shrink(node: OnnxNode) -> Outputs:
    """Convert Shrink. For integers, both attributes are rounded towards zero."""
    x, dtype = node.tensor(0), node.value(0).dtype
    bias, limit = node.float("bias", 0.0), node.float("lambd", 0.5)
    if not is_float(dtype):
        bias, limit = int(bias), int(limit)
    above = relax.subtract(x, like(x, bias))
    result = relax.where(relax.greater(x, like(x, limit)), above, like(x, 0))
    if is_unsigned(dtype):
        return result  # No element is below -limit.
    return relax.where(relax.less(x, like(x, -limit)), relax.add(x, like(x, bias)), result)


# ---- clip ----
@register_onnx("", "Clip", since=11)
def clip(node: OnnxNode) -> Outputs:
    bounds = [node.scalar(index) if node.has(index) else None for index in (1, 2)]
    if all(bound is not None or not node.has(index) for index, bound in enumerate(bounds, 1)):
        return _clip(node, *bounds)
    x = node.tensor(0)
    for index, name in ((1, "maximum"), (2, "minimum")):
        if node.has(index):
            bound = node.tensor(index) if node.rank(index) == 0 else relax.reshape(node.tensor(index), ())
            x = relax.dialect.ops[name](x, bound)
    return x


def _clip(node: OnnxNode, low: float | None, high: float | None) -> Tensor:
    x = node.tensor(0)
    # An integer operand is a signed number of at most 64 bits.
    if low is not None and high is not None and (high < 2**63 or isinstance(high, float)):
        return relax.clip(x, low, high)
    if low is not None:
        x = relax.maximum(x, like(x, low))
    return x if high is None else relax.minimum(x, like(x, high))


# ---- along an axis ----
def softmax_along(x: Tensor, axis: int) -> Tensor:
    """Return the softmax. For narrow types, each step is rounded as in ONNX's definition, to match the reference."""
    if bit_width(info_of(x).dtype) >= 32:
        return relax.nn.softmax(x, axis=axis)
    powers = relax.exp(relax.subtract(x, relax.max(x, axis=[axis], keepdims=True)))
    return relax.divide(powers, relax.sum(powers, axis=[axis], keepdims=True))


@register_onnx("", ["Softmax", "LogSoftmax", "Hardmax"], since=13)
def softmax(node: OnnxNode) -> Outputs:
    return _convert_along(node, node.tensor(0), node.int("axis", -1))


@register_onnx("", ["Softmax", "LogSoftmax", "Hardmax"])
def softmax_of_matrix(node: OnnxNode) -> Outputs:
    """Convert softmax before version 13, which merges all dimensions from the axis on."""
    rank, axis = node.rank(0), node.int("axis", 1)
    first = axis + rank if axis < 0 else axis
    if first == rank - 1:
        return _convert_along(node, node.tensor(0), first)
    own = sizes.sizes_of(node.value(0))
    matrix = sizes.reshaped(node.tensor(0), [sizes.product(own[:first]), sizes.product(own[first:])])
    return sizes.reshaped(_convert_along(node, matrix, 1), own)


def _convert_along(node: OnnxNode, x: Tensor, axis: int) -> Tensor:
    if node.op == "Softmax":
        return softmax_along(x, axis)
    if node.op == "LogSoftmax":
        return relax.nn.log_softmax(x, axis=axis)
    places = relax.cumsum(relax.ones_like(x, dtype="i64"), axis=axis, exclusive=True)
    is_first = relax.equal(places, relax.argmax(_with_one_more(x, axis), axis=axis, keepdims=True))
    return relax.astype(is_first, dtype=node.value(0).dtype)


def _with_one_more(x: Tensor, axis: int) -> Tensor:
    """Append a smallest element along the axis if the axis may be empty. argmax prefers the existing elements."""
    shape, rank = Value(ssa=x).shape, x.type.rank
    size = None if shape is None else shape[axis]
    if isinstance(size, int) and size > 0:
        return x
    widths = [0] * (2 * rank)
    widths[2 * (axis % rank) + 1] = 1
    return relax.nn.pad(x, pad_width=widths, pad_value=-math.inf)


# ---- dropout ----
@register_onnx("", "Dropout", since=12)
def dropout(node: OnnxNode) -> Outputs:
    training = node.numbers(2) if node.has(2) else (0,)
    ratio = node.scalar(1) if node.has(1) else 0.5
    return _keep_all(node, "i1") if training == (0,) or ratio == 0 else _drop_at_random(node)


def _keep_all(node: OnnxNode, mask_dtype: str) -> list[Tensor | Value]:
    """Return the data unchanged, with a mask of ones on request."""
    outputs: list[Tensor | Value] = [node.value(0)]
    if node.output_count > 1:
        outputs.append(relax.ones_like(node.tensor(0), dtype=mask_dtype))
    return outputs


def _drop_at_random(node: OnnxNode) -> list[Tensor]:
    """Drop elements at random. The training flag may be dynamic."""
    is_training, one = node.tensor(2), const(1, "f64")
    ratio = relax.astype(node.tensor(1), dtype="f64") if node.has(1) else const(0.5, "f64")
    is_kept = relax.greater_equal(uniform(node, sizes.sizes_of(node.value(0)), "f64"), ratio)
    is_kept = relax.logical_or(is_kept, relax.logical_not(is_training))
    scale = relax.where(is_training, relax.divide(one, relax.subtract(one, ratio)), one)
    scaled = relax.multiply(node.tensor(0), relax.astype(scale, dtype=node.value(0).dtype))
    return [relax.where(is_kept, scaled, like(node.tensor(0), 0)), is_kept][: node.output_count]
