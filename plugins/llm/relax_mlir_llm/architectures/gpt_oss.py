# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpt-oss (https://arxiv.org/abs/2508.10925): experts with limited gates, sinks of attention, a window in turns."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, attention, norm, windows_of
from ..config import Config, read_config, with_experts
from ..experts import feed_forward
from ..weights import Source


def configure(source: Source, context: int | None) -> Config:
    facts = source.facts
    config = with_experts(read_config(source, context), source, is_normalized=True)
    return replace(
        config,
        windows=windows_of(source, config.layers, [number % 2 == 0 for number in range(config.layers)]),
        has_qkv_bias=True,
        has_output_bias=True,
        has_sinks=True,
        has_expert_bias=True,
        expert_limit=facts.positive("swiglu_limit", 7.0),
        expert_steepness=facts.positive("swiglu_alpha", 1.702),
    )


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and experts, each after a norm."""
    x = relax.add(x, attention(at, norm(at, x, "attn_norm")))
    return relax.add(x, feed_forward(at, norm(at, x, "post_attention_norm")))
