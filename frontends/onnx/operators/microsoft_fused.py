# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, products, embeddings and group norms with what onnxruntime's tools fuse with them, of com.microsoft."""

from __future__ import annotations

from typing import Any

from ..prelude import Node, Outputs, Tensor, cast, const, info_of, register_onnx, relax
from ..shapes.sizes import size_of, zeros
from .activations import activated, scaled_silu
from .as_onnx import as_onnx, channels_first, channels_last
from .attention import positions
from .norms import layer_norm, normalized_by_squares, normalized_layers, rms_norm, wanted

_DOMAIN = "com.microsoft"


# ---- convolutions ----


@register_onnx(_DOMAIN, "FusedConv")
def fused_conv(node: Node) -> Outputs:
    """The convolution, what is added to it, and an activation."""
    result = as_onnx(node, "Conv", *node.inputs[:3])
    if node.has(3):
        result = relax["add"](result, node.tensor(3))
    return activated(node, result, node.floats("activation_params", []))


@register_onnx(_DOMAIN, ["NhwcConv", "NhwcFusedConv"])
def conv_with_channels_last(node: Node) -> Outputs:
    """Only the data has its channels last, not the weights."""
    data = channels_first(node, node.tensor(0))
    result = channels_last(node, as_onnx(node, "Conv", data, *node.inputs[1:3]))
    if node.has(3):
        result = relax["add"](result, node.tensor(3))
    return activated(node, result, node.floats("activation_params", []))


@register_onnx(_DOMAIN, "NhwcMaxPool")
def max_pool_with_channels_last(node: Node) -> Outputs:
    return channels_last(node, as_onnx(node, "MaxPool", channels_first(node, node.tensor(0))))


# ---- products ----


@register_onnx(_DOMAIN, "FusedGemm")
def fused_gemm(node: Node) -> Outputs:
    names = ("activation_alpha", "activation_beta")
    parameters = [node.float(name) for name in names if node.has_attribute(name)]
    return activated(node, as_onnx(node, "Gemm", *node.inputs), parameters)


@register_onnx(_DOMAIN, ["FusedMatMul", "TransposeMatMul"])
def fused_matmul(node: Node) -> Outputs:
    left, right = (_transposed(node, index, letter) for index, letter in enumerate("AB"))
    result, alpha = relax["matmul"](left, right), node.float("alpha", 1.0)
    return result if alpha == 1.0 else relax["multiply"](result, const(alpha, node.value(0).dtype))


def _transposed(node: Node, index: int, letter: str) -> Tensor:
    """The batch's first dimension may stand before the last one; then the last two may be exchanged."""
    rank = node.rank(index)
    axes = list(range(rank))
    if node.int(f"transBatch{letter}", 0) and rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if node.int(f"trans{letter}", 0) and rank > 1:
        axes[-2:] = reversed(axes[-2:])
    tensor = node.tensor(index)
    return tensor if axes == list(range(rank)) else relax["permute_dims"](tensor, axes=axes)


@register_onnx(_DOMAIN, "GemmFastGelu")
def product_with_fast_gelu(node: Node) -> Outputs:
    product = relax["matmul"](node.tensor(0), node.tensor(1))
    return relax["nn.gelu_tanh"](relax["add"](product, node.tensor(2)) if node.has(2) else product)


# ---- sums ----


@register_onnx(_DOMAIN, "BiasAdd")
def bias_add(node: Node) -> Outputs:
    return relax["add"](relax["add"](node.tensor(0), node.tensor(1)), node.tensor(2))


@register_onnx(_DOMAIN, "BiasSplitGelu")
def bias_split_gelu(node: Node) -> Outputs:
    """The first half of the last dimension by the other one's gelu."""
    total = relax["add"](node.tensor(0), node.tensor(1))
    left, right = relax["split"](total, indices_or_sections=2, axis=node.rank(0) - 1)
    return relax["multiply"](left, relax["nn.gelu"](right))


@register_onnx(_DOMAIN, ["GroupNorm", "SkipGroupNorm"])
def group_norm(node: Node) -> Outputs:
    """Of a sum with what skipped layers and a bias; its activation is silu or none."""
    total = node.tensor(0)
    for index in (3, 4):
        if node.has(index):
            total = relax["add"](total, _skipped(node, index))
    data = channels_first(node, total) if node.int("channels_last", 1) else total
    result = relax["nn.group_norm"](
        data,
        *(cast(node.tensor(index), info_of(data).dtype) for index in (1, 2)),
        num_groups=node.int("groups", 0),
        channel_axis=1,
        axes=list(range(2, node.rank(0))),
        epsilon=node.float("epsilon", 1e-5),
    )
    if node.int("activation", 0):
        result = relax["nn.silu"](result)
    return [channels_last(node, result) if node.int("channels_last", 1) else result, total][: node.output_count]


def _skipped(node: Node, index: int) -> Any:
    """What is added may be one number for each channel of a sample, which are last."""
    tensor = node.tensor(index)
    if index == 3 and node.rank(index) == 2:
        return relax["expand_dims"](tensor, axis=list(range(1, node.rank(0) - 1)))
    return tensor


# ---- embeddings ----


@register_onnx(_DOMAIN, "EmbedLayerNormalization")
def embed_layer_norm(node: Node) -> Outputs:
    """The sum of a word's, a place's and a segment's embedding, normalized; and how many words the mask shows."""
    words = node.tensor(0)
    total = relax["add"](relax["take"](node.tensor(2), words, axis=0), _embedded_places(node))
    if node.has(1) and node.has(4):
        total = relax["add"](total, relax["take"](node.tensor(4), node.tensor(1), axis=0))
    result = normalized_layers(node, total, 5, 6, -1, node.float("epsilon", 1e-12))[0]
    counts = _shown_words(node) if wanted(node, 1) else None
    return [result, counts, total][: node.output_count]


def _embedded_places(node: Node) -> Tensor:
    places = node.tensor(8) if node.has(8) else positions(node, node.tensor(0), 1)
    return relax["take"](node.tensor(3), places, axis=0)


def _shown_words(node: Node) -> Any:
    if node.has(7):
        shown = relax["equal"](node.tensor(7), const(1, node.value(7).dtype))
        return relax["sum"](relax["astype"](shown, dtype="i32"), axis=[1])
    return zeros([size_of(node.tensor(0), 0)], "i32")


# ---- activations and normalizations ----


register_onnx(_DOMAIN, "LayerNormalization")(layer_norm)
register_onnx(_DOMAIN, "SimplifiedLayerNormalization")(rms_norm)


# ---- activations ----
@register_onnx(_DOMAIN, ["Gelu", "BiasGelu"])
def gelu(node: Node) -> Outputs:
    return relax["nn.gelu"](_with_bias(node))


@register_onnx(_DOMAIN, "FastGelu")
def fast_gelu(node: Node) -> Outputs:
    return relax["nn.gelu_tanh"](_with_bias(node))


def _with_bias(node: Node) -> Any:
    return relax["add"](node.tensor(0), node.tensor(1)) if node.has(1) else node.tensor(0)


@register_onnx(_DOMAIN, "QuickGelu")
def quick_gelu(node: Node) -> Outputs:
    return scaled_silu(node, node.float("alpha", 1.702))


# ---- normalizations of a sum ----
@register_onnx(_DOMAIN, "SkipLayerNormalization")
def skip_layer_norm(node: Node) -> Outputs:
    total = _sum(node, bias=4)
    return _with_sum(node, normalized_layers(node, total, 2, 3, -1, _epsilon(node)), total)


@register_onnx(_DOMAIN, "SkipSimplifiedLayerNormalization")
def skip_simplified_layer_norm(node: Node) -> Outputs:
    total = _sum(node, bias=3)
    normalized, *inverse = normalized_by_squares(node, total, 2, -1, _epsilon(node), inverse=2)
    return _with_sum(node, [normalized, None, *inverse], total)


def _epsilon(node: Node) -> float:
    return node.float("epsilon", 1e-12)


def _sum(node: Node, bias: int) -> Tensor:
    """The input, what skipped layers and a bias."""
    total = relax["add"](node.tensor(0), node.tensor(1))
    return relax["add"](total, node.tensor(bias)) if node.has(bias) else total


def _with_sum(node: Node, outputs: list[Any], total: Any) -> list[Any]:
    """The fourth output is what was normalized."""
    if not wanted(node, 3):
        return outputs
    return [*outputs, *[None] * (3 - len(outputs)), total]
