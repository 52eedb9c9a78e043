# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixtral: Mistral with experts. https://arxiv.org/abs/2401.04088. In GGUF these are files of llama."""

from __future__ import annotations

from ..config import Config, with_experts
from ..weights import Source
from . import llama, mistral

layer = llama.layer


def configure(source: Source, context: int | None) -> Config:
    return with_experts(mistral.configure(source, context), source, is_normalized=True)
