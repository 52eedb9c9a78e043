# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Convolutions by minimal filtering."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    row("nn.conv2d_winograd", "b,2,h,w,4:f32[-2,2] 2,16,8,8:f32[-2,2] - -", padding=(1, 1, 1, 1)),
    row("nn.conv2d_winograd", "b,1,h,w,8:f32[-2,2] 1,36,8,16:f32[-2,2] 1,16:f32[-2,2] -", "by larger tiles", padding=(0, 1, 1, 0), relu=True),
    row("nn.conv2d_winograd", "1,1,6,6,4:f32[-2,2] 1,16,4,4:f32[-2,2] 1,4:f32[-2,2] 1,1,6,6,4:f32[-2,2]", "with a residual", padding=(1, 1, 1, 1),
        rows=2, tiles=3),
)  # fmt: skip
