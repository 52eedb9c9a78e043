# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gemma (https://arxiv.org/abs/2403.08295), Gemma 2 (https://arxiv.org/abs/2408.00118) and Gemma 3 (https://arxiv.org/abs/2503.19786)."""

from __future__ import annotations

from dataclasses import replace

from relax_mlir import relax
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer, activation_of, attention, mlp, norm, windows_of
from ..config import Config, read_config, read_rope
from ..rope import Rope, Scaling, make_rope
from ..weights import Source
from . import llama

#: Layers of the largest models, with another scale of the scores in GGUF's files, which do not state it.
_LARGEST = {"gemma2": 46, "gemma3": 62}
#: Base of the rope in layers with a window.
_LOCAL_BASE = 10000.0


#: Layer of Gemma 1.
layer_1 = llama.layer


def configure_1(source: Source, context: int | None) -> Config:
    """Return the configuration of Gemma 1: GELU by tanh, also where the configuration says "gelu"."""
    return replace(_common(source, context), activation="gelu_pytorch_tanh")


def configure_2(source: Source, context: int | None) -> Config:
    """Return the configuration of Gemma 2: limited scores and logits, a window in every second layer."""
    config, facts = _common(source, context), source.facts
    return replace(
        config,
        attention_scale=_scale(source, config, "gemma2"),
        attention_softcap=facts.optional("attention_softcap"),
        logit_softcap=facts.optional("logit_softcap"),
        windows=windows_of(source, config.layers, [n % 2 == 0 for n in range(config.layers)]),
    )


def configure_3(source: Source, context: int | None) -> Config:
    """Return the configuration of Gemma 3: norms of queries and keys, five layers with a window, then one without."""
    config, facts = _common(source, context), source.facts
    period = facts.count("window_pattern", 6)
    return replace(
        config,
        has_qk_norm=True,
        attention_scale=_scale(source, config, "gemma3"),
        logit_softcap=facts.optional("logit_softcap"),
        windows=windows_of(source, config.layers, [(n + 1) % period != 0 for n in range(config.layers)]),
        rope=read_rope(source, config.head_size, config.context, "full_attention"),
        local_rope=_local_rope(source, config),
    )


def _common(source: Source, context: int | None) -> Config:
    config = read_config(source, context)
    has_bias = source.facts.flag("attention_bias")
    return replace(
        config,
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        activation=activation_of(source, "gelu_pytorch_tanh"),
        embedding_scale=config.width**0.5,
        # GGUF's files have 1 + weight.
        norm_offset=0.0 if source.facts.is_gguf else 1.0,
    )


def _scale(source: Source, config: Config, name: str) -> float:
    if source.facts.is_gguf:
        is_largest = config.layers == _LARGEST[name]
        return float((config.width // config.heads if is_largest else config.head_size) ** -0.5)
    return float(source.facts.number("query_pre_attn_scalar", config.head_size) ** -0.5)


def _local_rope(source: Source, config: Config) -> Rope:
    facts = source.facts
    parameters = facts.part("rope_parameters")
    if "sliding_attention" in parameters.values:
        return read_rope(source, config.head_size, config.context, "sliding_attention")
    base = facts.number("rope.freq_base_swa" if facts.is_gguf else "rope_local_base_freq", _LOCAL_BASE)
    return make_rope(base, config.head_size, Scaling("none", 1.0, config.context, facts))


def layer(at: DecoderLayer, x: Value) -> Value:
    """Return x after one layer: attention and feed-forward, each between two norms."""
    x = relax.add(x, norm(at, attention(at, norm(at, x, "attn_norm")), "post_attention_norm"))
    return relax.add(x, norm(at, mlp(at, norm(at, x, "ffn_norm")), "post_ffw_norm"))
