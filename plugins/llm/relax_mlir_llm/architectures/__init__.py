# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of decoders, by the names in GGUF's metadata and in config.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import relax_mlir as rx
from relax_mlir.rewriting import Value

from ..blocks import DecoderLayer
from ..config import Config
from ..weights import Source
from . import bert, gemma, gpt_oss, granite, llama, mistral, mixtral, olmo, phi, qwen, starcoder


class Architecture(NamedTuple):
    """Description of an architecture: how to configure a decoder, and one layer of it."""

    configure: Callable[[Source, int | None], Config]
    layer: Callable[[DecoderLayer, Value], Value]


_ARCHITECTURES = {
    "llama": Architecture(llama.configure, llama.layer),
    "mistral": Architecture(mistral.configure, mistral.layer),
    "mixtral": Architecture(mixtral.configure, mixtral.layer),
    "qwen2": Architecture(qwen.configure_2, qwen.layer),
    "qwen3": Architecture(qwen.configure_3, qwen.layer),
    "qwen3moe": Architecture(qwen.configure_3_moe, qwen.layer),
    "qwen3_moe": Architecture(qwen.configure_3_moe, qwen.layer),
    "gemma": Architecture(gemma.configure_1, gemma.layer_1),
    "gemma2": Architecture(gemma.configure_2, gemma.layer),
    "gemma3": Architecture(gemma.configure_3, gemma.layer),
    "gemma3_text": Architecture(gemma.configure_3, gemma.layer),
    "bert": Architecture(bert.configure, bert.layer),
    "nomic-bert": Architecture(bert.configure_nomic, bert.layer),
    "nomic_bert": Architecture(bert.configure_nomic, bert.layer),
    "gpt-oss": Architecture(gpt_oss.configure, gpt_oss.layer),
    "gpt_oss": Architecture(gpt_oss.configure, gpt_oss.layer),
    "granite": Architecture(granite.configure, granite.layer),
    "olmo2": Architecture(olmo.configure, olmo.layer),
    "phi": Architecture(phi.configure_2, phi.layer_2),
    "phi2": Architecture(phi.configure_2, phi.layer_2),
    "phi3": Architecture(phi.configure, phi.layer),
    "starcoder2": Architecture(starcoder.configure, starcoder.layer),
}


def find_architecture(source: Source) -> Architecture:
    """Return the architecture of a file. An unknown one is a RefusalError."""
    if (name := source.facts.architecture) not in _ARCHITECTURES:
        raise rx.RefusalError(
            f"{source.path}: the architecture '{name}' is not supported (supported: {', '.join(_ARCHITECTURES)})"
        )
    return _ARCHITECTURES[name]
