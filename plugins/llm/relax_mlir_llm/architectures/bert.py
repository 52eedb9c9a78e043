# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""BERT (https://arxiv.org/abs/1810.04805) and Nomic BERT (https://arxiv.org/abs/2402.01613): encoders for embeddings.

Tokens see the whole text. Norms are behind attention and feed-forward blocks. BERT has biases and a vector for each
position, Nomic BERT a rope and a gate.
"""

from __future__ import annotations

from dataclasses import replace

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, activation_of, attention, mlp, norm
from ..config import Config, read_config
from ..weights import Source


def configure(source: Source, context: int | None) -> Config:
    """Return the configuration of BERT."""
    facts = source.facts
    kind = facts.text("position_embedding_type", "absolute")
    if kind != "absolute" or facts.flag("is_decoder"):
        raise rx.RefusalError(
            f"{source.path}: expected an encoder with a vector for each position, not is_decoder or "
            f"position_embedding_type '{kind}'"
        )
    return replace(
        _common(source, context),
        activation=activation_of(source, "gelu"),
        has_rope=False,
        has_gate=False,
        has_qkv_bias=True,
        has_output_bias=True,
        has_mlp_bias=True,
    )


def configure_nomic(source: Source, context: int | None) -> Config:
    """Return the configuration of Nomic BERT."""
    return replace(_common(source, context), activation=activation_of(source, "silu"))


def _common(source: Source, context: int | None) -> Config:
    facts = source.facts
    epsilon = facts.positive("norm_epsilon", facts.positive("layer_norm_eps", 1e-12, 1.0), 1.0)
    return replace(read_config(source, context, is_encoder=True), is_encoder=True, has_layer_norm=True, epsilon=epsilon)


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each with a norm of the sum."""
    x = norm(at, relax.add(x, attention(at, x)), "attn_output_norm")
    return norm(at, relax.add(x, mlp(at, x)), "layer_output_norm")
