# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Qwen 2 (https://arxiv.org/abs/2407.10671) and Qwen 3 (https://arxiv.org/abs/2505.09388)."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import activation_of, windows_of
from ..config import Config, read_config, with_experts
from ..weights import Source
from . import llama

layer = llama.layer


def configure_2(source: Source, context: int | None) -> Config:
    """Return the configuration of Qwen 2: queries, keys and values have biases."""
    return replace(_common(source, context), has_qkv_bias=True)


def configure_3(source: Source, context: int | None) -> Config:
    """Return the configuration of Qwen 3: queries and keys of each head have norms."""
    has_bias = source.facts.flag("attention_bias")
    return replace(_common(source, context), has_qk_norm=True, has_qkv_bias=has_bias, has_output_bias=has_bias)


def configure_3_moe(source: Source, context: int | None) -> Config:
    """Return the configuration of Qwen 3 with experts. Files of GGUF do not state that their factors have the sum 1."""
    facts = source.facts
    is_normalized = facts.is_gguf or facts.flag("norm_topk_prob")
    return with_experts(configure_3(source, context), source, is_normalized=is_normalized)


def _common(source: Source, context: int | None) -> Config:
    config = replace(read_config(source, context), activation=activation_of(source, "silu"))
    facts = source.facts
    if not facts.flag("use_sliding_window"):
        return config
    first = int(facts.number("max_window_layers", config.layers))
    return replace(config, windows=windows_of(source, config.layers, [n >= first for n in range(config.layers)]))
