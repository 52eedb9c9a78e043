# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of 16-bit numbers by matrix units.

Warps compute it (attention/warps.py); on sm_90a, groups of four warps (attention/warp_groups.py). Other operands use
the kernels of all GPUs.
"""

from __future__ import annotations

from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.known_sizes import by_name
from ...passes.legalize.rules import Legalized, register_legalize
from ..gpu import legalize_attention as by_threads
from .attention.warp_groups import GroupTile
from .attention.warps import MatrixTile
from .objects.arch import arch_of

_RULES = {
    "relax.nn.attention": by_threads.attention,
    "relax.nn.attention_bias": by_threads.attention,
    "relax.nn.attention_cached": by_threads.attention_cached,
    "relax.nn.attention_var_len": by_threads.attention_var_len,
}


@register_legalize(list(_RULES), target="cuda", by_types=True)
def attention(call: LegalizeCall) -> Legalized:
    tensors = by_name(call.op, call.operands)
    query, value = (call.info(tensors[name]) for name in ("query", "value"))
    tile = GroupTile if arch_of(call.target).has_wgmma else MatrixTile
    reason = tile.reason_against(query, value)
    return call.decline(reason) if reason else _RULES[call.op.operation.name](call, tile.of)
