# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations and normalizations that onnxruntime's tools put into models, fused from ONNX's own operators."""

from __future__ import annotations

from typing import Any

from ....dialects.relax import dialect
from ..node import Node
from ..registry import register_onnx
from ..values import Outputs
from .activations import scaled_silu
from .norms import layer_norm, normalized_by_squares, normalized_layers, rms_norm, wanted

relax = dialect.ops

_DOMAIN = "com.microsoft"
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


def _sum(node: Node, bias: int) -> Any:
    """The input, what skipped layers and a bias."""
    total = relax["add"](node.tensor(0), node.tensor(1))
    return relax["add"](total, node.tensor(bias)) if node.has(bias) else total


def _with_sum(node: Node, outputs: list[Any], total: Any) -> list[Any]:
    """The fourth output is what was normalized."""
    if not wanted(node, 3):
        return outputs
    return [*outputs, *[None] * (3 - len(outputs)), total]
