# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Phi 3 (https://arxiv.org/abs/2404.14219): matrices of several projections in one, a partial rope, a window."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import activation_of, windows_of
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
