# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits, by decomposition."""

from __future__ import annotations

from ...passes.graph.decompose.registry import decomposed, find_decomposition
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize


@register_legalize("relax.matmul_nbits")
def matmul_nbits(call: LegalizeCall) -> Legalized:
    decomposition = find_decomposition("relax.matmul_nbits")
    assert decomposition is not None
    return decomposed(decomposition, call.op, call.operands)
