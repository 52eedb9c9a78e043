# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StarCoder 2 (https://arxiv.org/abs/2402.19173): layer norms, biases, and feed-forward blocks without a gate."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import activation_of, windows_of
from ..config import Config, read_config
from ..weights import Source
from . import llama

layer = llama.layer


def configure(source: Source, context: int | None) -> Config:
    config = read_config(source, context)
    has_bias = source.shape("blk.0.attn_output.bias") is not None
    return replace(
        config,
        epsilon=source.facts.positive("norm_epsilon", 1e-5, 1.0),
        activation=activation_of(source, "gelu_pytorch_tanh"),
        windows=windows_of(source, config.layers, [True] * config.layers),
        has_layer_norm=True,
        has_gate=False,
        has_qkv_bias=has_bias,
        has_output_bias=has_bias,
        has_mlp_bias=has_bias,
    )
