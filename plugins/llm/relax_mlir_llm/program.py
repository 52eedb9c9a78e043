# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module of a decoder: functions for whole prompts, parts of prompts, and single tokens of many sequences."""

from __future__ import annotations

import relax_mlir as rx
from relax_mlir import relax

from .adapters import Adapters, Changes
from .architectures import Architecture
from .blocks import Decoder, DecoderLayer, embed, hidden, logits
from .config import Config
from .description import ADAPTED, HIDDEN, LOGITS
from .page_layout import PageLayout
from .pages import Pages
from .products import Products
from .weights import Source

#: Arguments of `Step` with one number for each token.
_PER_TOKEN = ("tokens", "positions", "sequences", "slots")


class ModuleBuilder:
    """Module under construction. Its functions have the arguments of `Engine.step`, and share the weights.

    A function has the arrays of `Step` without `adapters`, then the pages of all layers, which it writes to.
    """

    def __init__(
        self,
        source: Source,
        architecture: Architecture,
        config: Config,
        layout: PageLayout,
        activation_bits: int = 0,
        *,
        has_ranks: bool = False,
    ) -> None:
        """`activation_bits` is the attribute of relax.matmul_nbits. `has_ranks`: ranks will divide the functions."""
        self.module = rx.Module()
        self.module.source_lines = False  # each operator would have a line of this package
        self._source, self._architecture, self._config, self._layout = source, architecture, config, layout
        self._products = Products(activation_bits, joins=not has_ranks)
        self._has_ranks = has_ranks

    def add_logits(self) -> None:
        """Add the function `main`, which returns logits."""
        self._add(LOGITS, None)

    def add_hidden(self) -> None:
        """Add the function `hidden`, which returns hidden states instead of logits."""
        self._add(HIDDEN, None)

    def add_adapted(self, adapters: Adapters) -> None:
        """Add the function `adapted`, which returns logits that the adapters of sequences change.

        Behind the other arrays of `Step` it has `adapters`, and then the used numbers in ascending order.
        """
        self._add(ADAPTED, adapters)
        adapters.check_used()

    def _add(self, name: str, adapters: Adapters | None) -> None:
        with self.module.function(name, self._inputs(adapters is not None)) as f:
            tokens, positions, sequences, slots, table, selected, *rest = f
            changes = None
            if adapters is not None:
                numbers, used, *rest = rest
                changes = Changes(adapters, relax.take(numbers, sequences, axis=0), used)
            pages = Pages(self._layout, rest)
            values = (positions, sequences, slots, table, pages)
            decoder = Decoder(self._config, self._source, self._products, *values, changes)
            x = embed(decoder, tokens)
            for number in range(self._config.layers):
                x = self._architecture.layer(DecoderLayer(decoder, number), x)
            result = hidden if name == HIDDEN else logits
            f.returns(result(decoder, x, selected), *pages.values)
        if not self._has_ranks:
            donate_pages(self.module, self._layout, name)

    def _inputs(self, has_adapters: bool) -> dict[str, object]:
        """Return the types of the arguments."""
        inputs: dict[str, object] = {name: rx.tensor(("tokens",), "int32") for name in _PER_TOKEN}
        inputs["table"] = rx.tensor(("sequences", "most"), "int32")
        inputs["selected"] = rx.tensor(("selected",), "int32")
        if has_adapters:
            inputs["adapters"] = rx.tensor(("sequences",), "int32")
            inputs["used"] = rx.tensor(("used",), "int32")
        return {**inputs, **self._layout.inputs()}


def donate_pages(module: rx.Module, layout: PageLayout, function: str) -> None:
    """Let a function write to its pages. The option `donate` of rx.compile is for `main` only."""
    rx.Pipeline(f"relax-donate{{args={','.join(layout.donated())} function={function}}}").run(module)
