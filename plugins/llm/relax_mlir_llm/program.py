# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module of a decoder: functions for whole prompts, parts of prompts, and single tokens of many sequences."""

from __future__ import annotations

import relax_mlir as rx
from relax_mlir.rewriting import Value

from .architectures import Architecture
from .blocks import Decoder, Layer, embed, hidden, logits
from .config import Config
from .description import HIDDEN, LOGITS
from .page_layout import PageLayout
from .pages import Pages
from .weights import Source

#: Arguments of `Step` with one number for each token.
_PER_TOKEN = ("tokens", "positions", "sequences", "slots")


def build_module(
    source: Source, architecture: Architecture, config: Config, layout: PageLayout, *, has_hidden: bool = False
) -> rx.Module:
    """Return a module with the function of `Engine.step`: the arrays of `Step`, then the pages of all layers.

    The function `main` returns logits, and the pages with the rows of this call. With `has_hidden`, the function
    `hidden` returns hidden states instead of logits. Both functions have the same weights, which the program has once.
    """
    module = rx.Module()
    module.source_lines = False  # each operator would have a line of this package
    results = {LOGITS: logits, HIDDEN: hidden} if has_hidden else {LOGITS: logits}
    for name, result in results.items():
        with module.function(name, _inputs(layout)) as f:
            tokens, positions, sequences, slots, table, selected, *rest = f
            pages = Pages(layout, rest)
            decoder = Decoder(config, source, positions, sequences, slots, table, pages)
            x = _layers(decoder, architecture, tokens)
            f.returns(result(decoder, x, selected), *pages.values)
    return module


def _inputs(layout: PageLayout) -> dict[str, object]:
    """Return the types of the arguments."""
    inputs: dict[str, object] = {name: rx.tensor(("tokens",), "int32") for name in _PER_TOKEN}
    inputs["table"] = rx.tensor(("sequences", "most"), "int32")
    inputs["selected"] = rx.tensor(("selected",), "int32")
    return {**inputs, **layout.inputs()}


def _layers(decoder: Decoder, architecture: Architecture, tokens: Value) -> Value:
    """Return the values [tokens, width] after the last layer."""
    x = embed(decoder, tokens)
    for number in range(decoder.config.layers):
        x = architecture.layer(Layer(decoder, number), x)
    return x
