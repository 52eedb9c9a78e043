# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    row("nn.conv2d", "n,4,h,w:F 6,4,3,3:F"),
    row("nn.conv2d", "n,4,h,w:F 6,4,3,3:F", "strided", strides=(2, 2), padding=(1, 1)),
)
