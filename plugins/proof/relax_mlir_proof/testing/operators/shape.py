# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import tensor

from ..core.rows import row

ROWS = (
    row("shape_of", "n,m:A"),
    row("shape_of", "2,3,5:F", "known"),
    row("tensor_to_shape", "3:i64[0,9]"),
    row("tensor_to_shape", "2:i64!", "known", given={0: (4, 5)}),
    row("shape_to_tensor", "shape(n,2*m,3)"),
    row("shape_to_tensor", "shape()", "of a number"),
    row("size", "n,m:A"),
    row("size", ":F", "of a number"),
    row("scalar_to_tensor", "", value=2.5),
    row("scalar_to_tensor", "", "of an integer", value=7),
    row("match_cast", "3,5:f32", ty=tensor(("n", "m"), "f32")),
    row("match_cast", "n,5:f32", "more precise", ty=tensor(("n", 5), "f32")),
)
