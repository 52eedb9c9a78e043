# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistral: Llama with a window in all layers. https://arxiv.org/abs/2310.06825. In GGUF these are files of llama."""

from __future__ import annotations

from dataclasses import replace

from ..blocks import windows_of
from ..config import Config
from ..weights import Source
from . import llama

layer = llama.layer


def configure(source: Source, context: int | None) -> Config:
    config = llama.configure(source, context)
    return replace(config, windows=windows_of(source, config.layers, [True] * config.layers))
