# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect relax: types and attributes. Operators and their inference are in the files of this folder, by family."""

from __future__ import annotations

from functools import partial

from ..core.dialect import Dialect

relax = Dialect(
    "relax",
    doc="Relax's graph level operators on tensors.",
    # `!relax.shape<["n", 4]>` is a shape as a value, `!relax.shape<unit>` a shape of unknown rank; `!relax.object` is
    # any value of the packed-function ABI.
    types={"shape": ("dims",), "object": ()},
    # `tensor<?x4xf32, #relax.sym<["n", 4]>>`: equal names denote equal sizes within a function.
    attributes={"sym": ("dims",)},
)
op = relax.op
# Rows with the fusion class of their operator, see OpPattern.
elementwise_op = partial(op, pattern="elemwise")
broadcast_op = partial(op, pattern="broadcast")
injective_op = partial(op, pattern="injective")
reduction_op = partial(op, pattern="comm_reduce")
contraction_op = partial(op, pattern="out_ewise_fusable")
