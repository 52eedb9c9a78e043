# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes and scans along one."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    *(row(name, "n,m,k:N", axis=[1]) for name in "sum prod max min".split()),
    *(row(name, "n,m,k:F", axis=[1]) for name in "mean std variance".split()),
    row("sum", "n,m:N", "all"),
    row("sum", "n,m,k:F", "kept", axis=[0, 2], keepdims=True),
)
