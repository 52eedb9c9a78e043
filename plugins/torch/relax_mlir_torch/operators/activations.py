# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of activation functions and softmax."""

from __future__ import annotations

import math

from relax_mlir.dialects.core.infos import is_float

from ..prelude import Outputs, Tensor, TorchNode, cast, const, like, register_rows, register_torch, relax, sizes

# Constants of relax.nn.selu, which multiplies exp(x) - 1 by their product.
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _is_positive(x: Tensor) -> Tensor:
    return relax.greater(x, like(x, 0))


def _exp_minus_one(x: Tensor, factor: float) -> Tensor:
    """Return factor * (exp(x) - 1) for x <= 0. selu keeps the digits that the subtraction loses near 0."""
    return relax.multiply(relax.nn.selu(x), like(x, factor / (_SELU_SCALE * _SELU_ALPHA)))


def _hard_sigmoid(x: Tensor) -> Tensor:
    return relax.clip(relax.divide(relax.add(x, like(x, 3)), like(x, 6)), 0.0, 1.0)


register_rows(
    {
        "aten::relu": lambda node: relax.nn.relu(node.tensor(0)),
        "aten::relu6": lambda node: relax.clip(node.tensor(0), 0, 6),
        "aten::silu": lambda node: relax.nn.silu(node.tensor(0)),
        "aten::selu": lambda node: relax.nn.selu(node.tensor(0)),
        "aten::leaky_relu": lambda node: relax.nn.leakyrelu(node.tensor(0), alpha=node.float("negative_slope")),
        "aten::hardtanh": lambda node: relax.clip(node.tensor(0), node.get("min_val"), node.get("max_val")),
        "aten::hardsigmoid": lambda node: _hard_sigmoid(node.tensor(0)),
        "aten::hardswish": lambda node: relax.multiply(node.tensor(0), _hard_sigmoid(node.tensor(0))),
        "aten::mish": lambda node: relax.multiply(
            node.tensor(0), relax.tanh(relax.nn.softplus(node.tensor(0), threshold=40.0))
        ),
        "aten::softsign": lambda node: relax.divide(
            node.tensor(0), relax.add(relax.abs(node.tensor(0)), like(node.tensor(0), 1))
        ),
        "aten::log_sigmoid": lambda node: _log_sigmoid(node.tensor(0)),
        "aten::log_sigmoid_forward": lambda node: [_log_sigmoid(node.tensor(0)), _compute_log_sigmoid_buffer(node)],
    }
)


def _log_sigmoid(x: Tensor) -> Tensor:
    return relax.negative(relax.nn.softplus(relax.negative(x), threshold=40.0))


def _compute_log_sigmoid_buffer(node: TorchNode) -> Tensor:
    """Return the value that the gradient reads on CPUs. On other devices it is empty."""
    if node.result_sizes(1) == [0]:
        return sizes.zeros([0], node.dtype)
    return relax.exp(relax.negative(relax.abs(node.tensor(0))))


@register_torch("aten::softplus")
def softplus(node: TorchNode) -> Outputs:
    beta, threshold = node.float("beta", 1.0), node.float("threshold", 20.0)
    return relax.nn.softplus(node.tensor(0), beta=beta, threshold=threshold)


@register_torch("aten::gelu")
def gelu(node: TorchNode) -> Outputs:
    name = "nn.gelu_tanh" if node.string("approximate", "none") == "tanh" else "nn.gelu"
    return relax.dialect.ops[name](node.tensor(0))


@register_torch("aten::elu", "aten::celu")
def elu(node: TorchNode) -> Outputs:
    """Convert elu and celu. celu divides the argument of the exponential by alpha."""
    x, alpha = node.tensor(0), node.float("alpha", 1.0)
    scale, inner = node.float("scale", 1.0), node.float("input_scale", 1.0)
    if node.op.startswith("aten::celu"):
        inner = 1 / alpha
    scaled = x if inner == 1 else relax.multiply(x, like(x, inner))
    above = x if scale == 1 else relax.multiply(x, like(x, scale))
    return relax.where(_is_positive(x), above, _exp_minus_one(scaled, alpha * scale))


@register_torch("aten::prelu", "aten::_prelu_kernel")
def prelu(node: TorchNode) -> Outputs:
    """Convert prelu. Slopes are one number, or one per channel; torch's inner operator has them broadcast."""
    x, slopes = node.value(0), node.tensor(1)
    if node.op.startswith("aten::prelu") and (x.rank or 0) > 1 and node.value(1).shape != (1,):
        slopes = relax.expand_dims(slopes, axis=list(range(1, (x.rank or 0) - 1))) if (x.rank or 0) > 2 else slopes
    slopes = relax.reshape(slopes, ()) if x.rank == 0 else slopes
    return relax.where(_is_positive(x.ssa), x.ssa, relax.multiply(x.ssa, slopes))


@register_torch("aten::threshold")
def threshold(node: TorchNode) -> Outputs:
    """Convert threshold. NaN stays unchanged."""
    x = node.tensor(0)
    is_below = relax.less_equal(x, node.operand("threshold", node.dtype))
    return relax.where(is_below, node.operand("value", node.dtype), x)


@register_torch("aten::hardshrink", "aten::softshrink")
def shrink(node: TorchNode) -> Outputs:
    x = node.tensor(0)
    limit = like(x, node.float("lambd", 0.5))
    is_outside = relax.greater(relax.abs(x), limit)
    moved = relax.subtract(x, relax.multiply(relax.sign(x), limit)) if "soft" in node.op else x
    return relax.where(relax.logical_or(is_outside, relax.isnan(x)), moved, like(x, 0))


@register_torch("aten::glu")
def glu(node: TorchNode) -> Outputs:
    first, second = relax.split(node.tensor(0), 2, axis=node.axis("dim", node.rank(0)))
    return relax.multiply(first, relax.sigmoid(second))


@register_torch("aten::softmax", "aten::_softmax", "aten::log_softmax", "aten::_log_softmax",
                "aten::special_log_softmax", "aten::special_softmax")  # fmt: skip
def softmax_of(node: TorchNode) -> Tensor:
    """Return the softmax in the type of the result. A 0-D tensor is a row of one element."""
    name = "nn.log_softmax" if "log" in node.op else "nn.softmax"
    x, rank = node.tensor(0, node.dtype if is_float(node.dtype) else ""), node.rank(0)
    if rank == 0:
        return relax.reshape(relax.dialect.ops[name](relax.reshape(x, (1,)), axis=0), ())
    return relax.dialect.ops[name](x, axis=node.axis("dim", rank))


@register_torch("aten::_safe_softmax")
def safe_softmax(node: TorchNode) -> Outputs:
    """Convert softmax with 0 for rows of minus infinity only."""
    x = node.tensor(0, "f64" if node.value(0).dtype == "f64" else "f32")
    axes = [node.axis("dim", node.rank(0))] if node.rank(0) else []
    is_least = cast(relax.equal(x, like(x, -math.inf)), "f32")
    softmax = softmax_of(node)
    none = relax.equal(relax.min(is_least, axis=axes, keepdims=True), const(1, "f32"))
    return relax.where(none, like(softmax, 0), softmax)
