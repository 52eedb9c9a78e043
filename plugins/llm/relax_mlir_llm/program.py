# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module of a decoder: one function for whole prompts, parts of prompts, and single tokens of many sequences."""

from __future__ import annotations

import relax_mlir as rx

from .architectures import Architecture
from .blocks import Decoder, Layer, embed, logits
from .config import Config
from .description import KINDS
from .weights import Source


def build_module(source: Source, architecture: Architecture, config: Config, page_size: int, kv: str) -> rx.Module:
    """Return a module with `step`, the function of `Engine.step`, and the pages of each layer as arguments."""
    module = rx.Module()
    module.source_lines = False  # a line for each operator would be a line of this package
    tokens = rx.tensor(("tokens",), "int32")
    pages = rx.tensor(("pages", page_size, config.kv_heads, config.head_size), KINDS[kv])
    inputs = {name: tokens for name in ("tokens", "positions", "sequences", "slots")}
    inputs["table"] = rx.tensor(("sequences", "most"), "int32")
    inputs["selected"] = rx.tensor(("selected",), "int32")
    inputs.update((name, pages) for name in page_names(config.layers))
    with module.function("step", inputs) as f:
        ids, positions, sequences, slots, table, selected, *rest = f
        decoder = Decoder(
            config, source, positions, sequences, slots, table, rest[: config.layers], rest[config.layers :]
        )
        x = embed(decoder, ids)
        for number in range(config.layers):
            x = architecture.layer(Layer(decoder, number), x)
        f.returns(logits(decoder, x, selected), *decoder.k_pages, *decoder.v_pages)
    return module


def page_names(layers: int) -> list[str]:
    """Return the names of the arguments with pages, in order."""
    return [f"{name}_pages.{number}" for name in ("k", "v") for number in range(layers)]
