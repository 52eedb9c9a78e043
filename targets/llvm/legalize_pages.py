# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with keys and values in pages, for known sizes of heads."""

from __future__ import annotations

from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from ..core.code import find_backend


@register_legalize("relax.paged_attention", target="llvm", by_types=True)
def paged_attention(call: LegalizeCall) -> Legalized:
    machine = find_backend(call.target.name).machine(call.target)
    if not machine.has_vectors:
        return call.decline(f"code for target '{call.target.name}' has no vectors")
    from .paged_attention import Plan, write_attention  # few programs have pages

    held = by_name(call.op, call.operands)
    *_, shared, size = call.shape(held["k_pages"])
    heads, width = call.shape(held["q"])[1], call.shape(held["v_pages"])[3]
    sizes = [each for each in (heads, shared, size, width) if isinstance(each, int) and each > 0]
    if len(sizes) < 4:
        return call.decline("a size of the heads is not known, or 0")
    plan = Plan.of(machine, *sizes)
    return call.loops(lambda *parameters: write_attention(call, plan, parameters))
