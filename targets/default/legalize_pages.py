# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with keys and values in pages."""

from __future__ import annotations

from ...bindings.ir import Value
from ...emit import loops
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.paged_attention", by_types=True)
def paged_attention(call: LegalizeCall) -> Legalized:
    from .paged_attention import write_attention  # few programs have pages

    return call.loops(lambda *parameters: write_attention(call, parameters))


@register_legalize("relax.append_pages", by_types=True)
def append_pages(call: LegalizeCall) -> Legalized:
    from ...emit.page_rows import write_rows

    def body(pages: Value, rows: Value, slots: Value, out: Value) -> None:
        loops.copy(pages, out)
        write_rows(out, rows, slots, call.result_dtype())

    return call.loops(body)


@register_legalize("relax.append_pages_quantized", by_types=True)
def append_pages_quantized(call: LegalizeCall) -> Legalized:
    from ...emit.page_rows import write_quantized_rows

    def body(pages: Value, scales: Value, rows: Value, slots: Value, out: Value, out_scales: Value) -> None:
        loops.copy(pages, out)
        loops.copy(scales, out_scales)
        write_quantized_rows(out, out_scales, rows, slots)

    return call.loops(body)
