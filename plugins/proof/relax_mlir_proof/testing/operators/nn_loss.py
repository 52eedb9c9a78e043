# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    row("nn.cross_entropy_with_logits", "n,m:F n,m:F"),
    row("nn.cross_entropy_with_logits", "m:F m:F", "of one"),
    row("nn.nll_loss", "n,m:F n:i64[0,m] m:F[0.1,1]"),
    row("nn.nll_loss", "n,m:F n:i64[0,m] -", "without weights"),
    *(row("nn.nll_loss", "b,m,k:F b,k:i32[0,m] m:F[0.1,1]", name, reduction=name) for name in ("none", "sum", "mean")),
    row("nn.nll_loss", "n,m:F n:i64[0,m] m:F[0.1,1]", "without a class", ignore_index=1),
    row("nn.nll_loss", "m:F :i64[0,m] -", "of one", reduction="sum"),
)
