# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phi 3 (https://arxiv.org/abs/2404.14219): matrices of several projections in one, a partial rope, a window.

Phi 1.5 and 2 (https://arxiv.org/abs/2309.05463) have layer norms, biases, and both blocks of a layer side by side.
"""

from __future__ import annotations

from dataclasses import replace

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, activation_of, attention, mlp, norm, windows_of
from ..config import Config, read_config
from ..weights import Source
from . import llama

layer = llama.layer


def configure(source: Source, context: int | None) -> Config:
    config = read_config(source, context)
    return replace(
        config,
        activation=activation_of(source, "silu"),
        windows=windows_of(source, config.layers, [True] * config.layers),
    )


def configure_2(source: Source, context: int | None) -> Config:
    """Return the configuration of Phi 1.5 and 2."""
    config, facts = read_config(source, context), source.facts
    if facts.flag("qk_layernorm"):
        raise rx.RefusalError(f"{source.path}: norms of queries and keys (qk_layernorm) are not supported for Phi")
    return replace(
        config,
        epsilon=facts.positive("norm_epsilon", facts.positive("layer_norm_eps", 1e-5, 1.0), 1.0),
        activation=activation_of(source, "gelu_new"),
        has_layer_norm=True,
        has_gate=False,
        has_qkv_bias=True,
        has_output_bias=True,
        has_mlp_bias=True,
        has_head_bias=True,
    )


def layer_2(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward of the same normalized x."""
    normalized = norm(at, x, "attn_norm")
    return relax.add(relax.add(attention(at, normalized), mlp(at, normalized)), x)
