# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft's fusions of convolutions, products, embeddings and norms, from onnxruntime's tools."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.frontends.core.sizes import size_of, zeros
from relax_mlir.frontends.onnx.operators.activations import activated, scaled_silu
from relax_mlir.frontends.onnx.operators.attention import positions
from relax_mlir.frontends.onnx.operators.norms import normalized_by_squares, normalized_layers, per_channel, wanted
from relax_mlir.frontends.onnx.prelude import (
    OnnxNode,
    Outputs,
    Tensor,
    cast,
    const,
    info_of,
    register_onnx,
    register_rows,
    relax,
)

from .as_onnx import as_onnx, as_onnx_of_images, channels_first, channels_last

_DOMAIN = "com.microsoft"


# ---- convolutions ----


@register_onnx(_DOMAIN, ["FusedConv", "NhwcConv", "NhwcFusedConv"])
def fused_conv(node: OnnxNode) -> Outputs:
    """Convert a convolution with a summand and an activation. Only data may have channels last, not weights."""
    are_last = node.op.startswith("Nhwc")
    result = as_onnx_of_images(node, "Conv", *node.inputs[:3], are_last=are_last)
    return activated(node, _plus(node, result, 3), node.floats("activation_params", []))


# ---- products ----


@register_onnx(_DOMAIN, "FusedGemm")
def fused_gemm(node: OnnxNode) -> Outputs:
    names = ("activation_alpha", "activation_beta")
    parameters = [node.float(name) for name in names if node.has_attribute(name)]
    return activated(node, as_onnx(node, "Gemm", *node.inputs), parameters)


@register_onnx(_DOMAIN, ["FusedMatMul", "TransposeMatMul"])
def fused_matmul(node: OnnxNode) -> Outputs:
    left, right = (_transpose(node, index, letter) for index, letter in enumerate("AB"))
    result, alpha = relax.matmul(left, right), node.float("alpha", 1.0)
    return result if alpha == 1.0 else relax.multiply(result, const(alpha, node.value(0).dtype))


def _transpose(node: OnnxNode, index: int, letter: str) -> Tensor:
    """Return a transposed operand.

    The first batch dimension may come before the last; then the last two may be swapped.
    """
    rank = node.rank(index)
    axes = list(range(rank))
    if node.int(f"transBatch{letter}", 0) and rank > 2:
        axes = [*axes[1:-1], 0, axes[-1]]
    if node.int(f"trans{letter}", 0) and rank > 1:
        axes[-2:] = reversed(axes[-2:])
    tensor = node.tensor(index)
    return tensor if axes == list(range(rank)) else relax.permute_dims(tensor, axes=axes)


# ---- sums and activations ----


def _plus(node: OnnxNode, left: Tensor, index: int) -> Tensor:
    """Add an optional input."""
    return relax.add(left, node.tensor(index)) if node.has(index) else left


def _with_bias(node: OnnxNode) -> Tensor:
    return _plus(node, node.tensor(0), 1)


register_rows(
    _DOMAIN,
    {
        "BiasAdd": lambda node: relax.add(relax.add(*node.tensors(2)), node.tensor(2)),
        "BiasGelu": lambda node: relax.nn.gelu(_with_bias(node)),
        "FastGelu": lambda node: relax.nn.gelu_tanh(_with_bias(node)),
        "Gelu": lambda node: relax.nn.gelu(_with_bias(node)),
        "GemmFastGelu": lambda node: relax.nn.gelu_tanh(_plus(node, relax.matmul(*node.tensors(2)), 2)),
        "NhwcMaxPool": lambda node: as_onnx_of_images(node, "MaxPool", node.value(0), are_last=True),
        "QuickGelu": lambda node: scaled_silu(node, node.float("alpha", 1.702)),
    },
)


@register_onnx(_DOMAIN, "BiasSplitGelu")
def bias_split_gelu(node: OnnxNode) -> Outputs:
    """Multiply the first half of the last dimension by the gelu of the second half."""
    total = relax.add(node.tensor(0), node.tensor(1))
    left, right = relax.split(total, indices_or_sections=2, axis=node.rank(0) - 1)
    return relax.multiply(left, relax.nn.gelu(right))


@register_onnx(_DOMAIN, ["GroupNorm", "SkipGroupNorm"])
def group_norm(node: OnnxNode) -> Outputs:
    """Normalize groups of a sum with a skipped layer and a bias. The activation is silu or none."""
    total = node.tensor(0)
    for index in (3, 4):
        if node.has(index):
            # A summand may have one number for each channel of a sample. Channels are last.
            behind = list(range(1, node.rank(0) - 1)) if index == 3 and node.rank(3) == 2 else []
            skipped = relax.expand_dims(node.tensor(index), axis=behind) if behind else node.tensor(index)
            total = relax.add(total, skipped)
    data = channels_first(node, total) if node.int("channels_last", 1) else total
    scale, bias = (cast(node.tensor(index), info_of(data).dtype) for index in (1, 2))
    result = relax.nn.group_norm(data, scale, bias, num_groups=node.int("groups", 0), **per_channel(node))
    if node.int("activation", 0):
        result = relax.nn.silu(result)
    return [channels_last(node, result) if node.int("channels_last", 1) else result, total][: node.output_count]


# ---- embeddings ----


@register_onnx(_DOMAIN, "EmbedLayerNormalization")
def embed_layer_norm(node: OnnxNode) -> Outputs:
    """Normalize the sum of word, position and segment embeddings.

    Also return the number of words that the mask shows.
    """
    words = node.tensor(0)
    places = node.tensor(8) if node.has(8) else positions(node, words, 1)
    total = relax.add(relax.take(node.tensor(2), words, axis=0), relax.take(node.tensor(3), places, axis=0))
    if node.has(1) and node.has(4):
        total = relax.add(total, relax.take(node.tensor(4), node.tensor(1), axis=0))
    result = normalized_layers(node, total, 5, 6, -1, node.float("epsilon", 1e-12))[0]
    counts = _shown_words(node) if wanted(node, 1) else None
    return [result, counts, total][: node.output_count]


def _shown_words(node: OnnxNode) -> Tensor:
    if node.has(7):
        shown = relax.equal(node.tensor(7), const(1, node.value(7).dtype))
        return relax.sum(relax.astype(shown, dtype="i32"), axis=[1])
    return zeros([size_of(node.tensor(0), 0)], "i32")


# ---- normalizations of a sum ----
@register_onnx(_DOMAIN, ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def skip_norm(node: OnnxNode) -> Outputs:
    """Normalize the sum of the input, a skipped layer and a bias. The fourth output is the sum."""
    epsilon, is_simplified = node.float("epsilon", 1e-12), "Simplified" in node.op
    total = _plus(node, relax.add(*node.tensors(2)), 3 if is_simplified else 4)
    if is_simplified:
        normalized, *inverse = normalized_by_squares(node, total, 2, -1, epsilon, inverse=2)
        outputs: Sequence[Tensor | None] = [normalized, None, *inverse]
    else:
        outputs = normalized_layers(node, total, 2, 3, -1, epsilon)
    return [*outputs, *[None] * (3 - len(outputs)), total] if wanted(node, 3) else outputs
