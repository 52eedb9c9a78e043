# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtures of experts of com.microsoft: each token goes through the experts that a router prefers for the token."""

from __future__ import annotations

from typing import NamedTuple

from relax_mlir.frontends.core.grouped_products import grouped_product
from relax_mlir.frontends.core.sizes import product, reshaped, sizes_of, times
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Tensor, Value, cast, const, like, register_onnx, relax

_DOMAIN = "com.microsoft"
_ACTIVATIONS = {
    "relu": relax.nn.relu, "gelu": relax.nn.gelu_tanh, "silu": relax.nn.silu, "identity": lambda x: x, "swiglu": None,
}  # fmt: skip


class _Routes(NamedTuple):
    """Rows of tokens sorted by expert, the experts of the rows, and the row after each expert's last one.

    `back` has the rows of each token's choices, `shares` their weights.
    """

    rows: Tensor
    experts: Tensor
    ends: Tensor
    back: Tensor
    shares: Tensor


@register_onnx(_DOMAIN, "MoE")
def mixture_of_experts(node: OnnxNode) -> Outputs:
    """Two layers for each expert, and the sum of a token's experts by their shares."""
    if node.has(6):
        raise node.fail("a third layer (fc3_experts_weights) is not supported")
    if node.int("use_sparse_mixer", 0):
        raise node.fail("the sparse mixer is not supported", "use_sparse_mixer")
    own = sizes_of(node.value(0))
    if not isinstance(experts := sizes_of(node.value(2))[0], int):
        raise node.fail("the number of experts must be known before the model runs")
    routes = _routes(node, reshaped(node.tensor(0), [product(own[:-1]), own[-1]]), experts)
    x = _layer(node, routes.rows, 2, 3, routes, experts)
    function = _ACTIVATIONS[node.choice("activation_type", "relu", _ACTIVATIONS)]
    inner = _apply_gates(node, x) if function is None else function(x)
    made = relax.take(_layer(node, inner, 4, 5, routes, experts), routes.back, axis=0)
    return reshaped(relax.sum(relax.multiply(made, relax.expand_dims(routes.shares, axis=[2])), axis=[1]), own)


def _routes(node: OnnxNode, tokens: Tensor, experts: int) -> _Routes:
    count, logits = node.int("k", 1), node.tensor(1)
    if not 1 <= count <= experts:
        raise node.fail(f"must be between 1 and the number of experts, {experts}, got {count}", "k")
    best, chosen = relax.topk(logits, k=count, axis=1, dtype="i64")
    if node.int("normalize_routing_weights", 0):
        shares = relax.nn.softmax(best, axis=1)
    else:
        shares = relax.gather_elements(relax.nn.softmax(logits, axis=1), chosen, axis=1)
    total = sizes_of(Value(ssa=tokens))[0]
    flat = reshaped(chosen, [times(total, count)])
    order = relax.argsort(flat, axis=0, dtype="i64")
    sorted_experts = relax.take(flat, order, axis=0)
    rows = relax.take(tokens, relax.floor_divide(order, const(count, "i64")), axis=0)
    is_own = relax.equal(relax.expand_dims(flat, axis=[1]), relax.arange(0, experts, 1, dtype="i64"))
    ends = relax.cumsum(relax.sum(cast(is_own, "i64"), axis=[0]), axis=0)
    back = reshaped(relax.argsort(order, axis=0, dtype="i64"), [total, count])
    return _Routes(rows, sorted_experts, ends, back, shares)


def _layer(node: OnnxNode, rows: Tensor, weight: int, bias: int, routes: _Routes, experts: int) -> Tensor:
    """Multiply the rows of each expert by the transpose of the expert's matrix, and add the expert's bias."""
    matrices = relax.permute_dims(node.tensor(weight), axes=[0, 2, 1])
    tensor = grouped_product(Value(ssa=rows), matrices, routes.ends, experts)
    return relax.add(tensor, relax.take(node.tensor(bias), routes.experts, axis=0)) if node.has(bias) else tensor


def _apply_gates(node: OnnxNode, x: Tensor) -> Tensor:
    """Multiply a half of the columns by the gates of the other half, both within the limit."""
    layout, limit = node.int("swiglu_fusion", 0), node.float("swiglu_limit")
    if layout not in (1, 2):
        raise node.fail(
            "gates in a layer of their own are not supported: both must be in one (1 or 2)", "swiglu_fusion"
        )
    rows, columns = sizes_of(Value(ssa=x))
    if not isinstance(columns, int) or columns % 2:
        raise node.fail(f"{columns} columns are not pairs of gates and values", "swiglu_fusion")
    pairs = reshaped(x, [rows, columns // 2, 2] if layout == 1 else [rows, 2, columns // 2])
    gate, value = relax.split(pairs, indices_or_sections=2, axis=2 if layout == 1 else 1)
    gate, value = (reshaped(each, [rows, columns // 2]) for each in (gate, value))
    if limit is not None:
        gate, value = relax.minimum(gate, like(gate, limit)), relax.clip(value, -limit, limit)
    alpha, beta = node.float("activation_alpha", 1.0), node.float("activation_beta", 0.0)
    share = relax.sigmoid(relax.multiply(gate, like(gate, alpha)))
    return relax.multiply(relax.multiply(gate, share), relax.add(value, like(value, beta)))
