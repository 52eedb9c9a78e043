# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Granite 3 (https://huggingface.co/ibm-granite): Llama with scales of embeddings, scores, residuals and logits."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, attention, mlp, norm, scaled
from ..config import Config
from ..weights import Source
from . import llama


def configure(source: Source, context: int | None) -> Config:
    config, facts = llama.configure(source, context), source.facts
    return replace(
        config,
        embedding_scale=facts.positive("embedding_scale", 1.0),
        attention_scale=facts.positive("attention_scale", config.attention_scale if facts.is_gguf else 1.0),
        residual_scale=facts.positive("residual_scale", 1.0),
        logit_divisor=facts.positive("logit_divisor", 1.0),
    )


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each after a norm and with a scale."""
    scale = at.config.residual_scale
    x = relax.add(x, scaled(attention(at, norm(at, x, "attn_norm")), scale))
    return relax.add(x, scaled(mlp(at, norm(at, x, "ffn_norm")), scale))
