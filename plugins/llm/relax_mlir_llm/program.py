# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module of a decoder: one function for whole prompts, parts of prompts, and single tokens of many sequences."""

from __future__ import annotations

import relax_mlir as rx

from .architectures import Architecture
from .blocks import Decoder, Layer, embed, logits
from .config import Config
from .page_layout import PageLayout
from .pages import Pages
from .weights import Source

#: Arguments of `Step` with one number for each token.
_PER_TOKEN = ("tokens", "positions", "sequences", "slots")


def build_module(source: Source, architecture: Architecture, config: Config, layout: PageLayout) -> rx.Module:
    """Return a module with the function of `Engine.step`: the arrays of `Step`, then the pages of all layers.

    The function returns logits, and the pages with the rows of this call.
    """
    module = rx.Module()
    module.source_lines = False  # each operator would have a line of this package
    inputs: dict[str, object] = {name: rx.tensor(("tokens",), "int32") for name in _PER_TOKEN}
    inputs["table"] = rx.tensor(("sequences", "most"), "int32")
    inputs["selected"] = rx.tensor(("selected",), "int32")
    inputs.update(layout.inputs())
    with module.function("main", inputs) as f:
        tokens, positions, sequences, slots, table, selected, *rest = f
        pages = Pages(layout, rest)
        decoder = Decoder(config, source, positions, sequences, slots, table, pages)
        x = embed(decoder, tokens)
        for number in range(config.layers):
            x = architecture.layer(Layer(decoder, number), x)
        f.returns(logits(decoder, x, selected), *pages.values)
    return module
