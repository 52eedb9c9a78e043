# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of decoders, by the names in GGUF's metadata and in config.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import relax_mlir as rx
from relax_mlir.rewriting import Value

from ..blocks import Layer
from ..config import Config
from ..weights import Source
from . import gemma, llama, mistral, phi, qwen


class Architecture(NamedTuple):
    """Description of an architecture: how to configure a decoder, and one layer of it."""

    configure: Callable[[Source, int | None], Config]
    layer: Callable[[Layer, Value], Value]


_ARCHITECTURES = {
    "llama": Architecture(llama.configure, llama.layer),
    "mistral": Architecture(mistral.configure, mistral.layer),
    "qwen2": Architecture(qwen.configure_2, qwen.layer),
    "qwen3": Architecture(qwen.configure_3, qwen.layer),
    "gemma2": Architecture(gemma.configure_2, gemma.layer),
    "gemma3": Architecture(gemma.configure_3, gemma.layer),
    "gemma3_text": Architecture(gemma.configure_3, gemma.layer),
    "phi3": Architecture(phi.configure, phi.layer),
}


def find_architecture(source: Source) -> Architecture:
    """Return the architecture of a file. An unknown one is a RefusalError."""
    name = source.facts.architecture
    if name not in _ARCHITECTURES:
        raise rx.RefusalError(
            f"{source.path}: the architecture '{name}' is not supported (supported: {', '.join(_ARCHITECTURES)})"
        )
    return _ARCHITECTURES[name]
