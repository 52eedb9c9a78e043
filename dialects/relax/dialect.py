# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The relax dialect: its types and attributes. Its operators stand in the files beside this one, by family."""

from __future__ import annotations

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
