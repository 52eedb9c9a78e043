# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relax dialect: types and attributes. Operators and their inference are in the files next to this, by family."""

from __future__ import annotations

from functools import partial

from ..core.dialect import Dialect

relax = Dialect(
    "relax",
    doc="Relax's graph level operators on tensors.",
    # `!relax.shape<["n", 4]>` is a shape as a value, `!relax.shape<unit>` one of unknown rank;
    # `!relax.object` is any value of the packed-function ABI.
    types={"shape": ("dims",), "object": ()},
    # `tensor<?x4xf32, #relax.sym<["n", 4]>>`: the same name is the same size within a function.
    attributes={"sym": ("dims",)},
)
op = relax.op
# Rows that say how their operator fuses, see OpPattern.
elementwise_op = partial(op, pattern="elemwise")
broadcast_op = partial(op, pattern="broadcast")
injective_op = partial(op, pattern="injective")
reduction_op = partial(op, pattern="comm_reduce")
contraction_op = partial(op, pattern="out_ewise_fusable")
