# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a legalization rule works with: it asks for PrimFuncs by giving their bodies, and gets calls of them.

    @register_legalize("relax.nn.silu")
    def silu(op, operands, builder):
        return builder.elementwise(lambda x: tir.sigmoid(x) * x, operands)

A PrimFunc is in destination-passing style on tensors without symbols: inputs, then one parameter for each result.
Equal operations with equal types share one.
"""

from __future__ import annotations
