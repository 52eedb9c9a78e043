# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of keys and values of all layers, as arguments of a program that writes to them."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import relax
from relax_mlir.rewriting import Value

from .page_layout import QUANTIZED, PageLayout


class Pages:
    """Values of the pages in a program under construction."""

    def __init__(self, layout: PageLayout, values: Sequence[Value]) -> None:
        self._layout = layout
        self._values = dict(zip(layout.arrays(), values, strict=True))

    @property
    def values(self) -> list[Value]:
        """Return the final pages, in the order of the arguments."""
        return list(self._values.values())

    def append(self, layer: int, keys: Value, values: Value, slots: Value) -> None:
        """Write the rows [tokens, heads, size] of a layer to their slots."""
        for letter, rows in (("k", keys), ("v", values)):
            name, scales = f"{letter}_pages.{layer}", f"{letter}_scales.{layer}"
            if self._layout.kv == QUANTIZED:
                found = relax.append_pages_quantized(self._values[name], self._values[scales], rows, slots)
                self._values[name], self._values[scales] = found
            else:
                self._values[name] = relax.append_pages(self._values[name], rows, slots)

    def attend(
        self,
        layer: int,
        queries: Value,
        table: Value,
        sequences: Value,
        lengths: Value,
        *,
        scale: float,
        window: int | None,
        softcap: float | None,
        sinks: Value | None = None,
    ) -> Value:
        """Return attention [tokens, heads, size] of queries to the keys of their sequences.

        `sinks` [heads] are further scores without values.
        """
        k_pages, v_pages = self._values[f"k_pages.{layer}"], self._values[f"v_pages.{layer}"]
        k_scale, v_scale = self._values.get(f"k_scales.{layer}"), self._values.get(f"v_scales.{layer}")
        return relax.paged_attention(
            queries,
            k_pages,
            v_pages,
            table,
            sequences,
            lengths,
            k_scale=k_scale,
            v_scale=v_scale,
            scale=scale,
            window_size=window,
            softcap=softcap,
            sinks=sinks,
        )
