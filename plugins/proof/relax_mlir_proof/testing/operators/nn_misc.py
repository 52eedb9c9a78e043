# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping operators of neural networks."""

from __future__ import annotations

from ..core.rows import row

_WIDTHS = (0, 1, 2, 0)

ROWS = (
    row("nn.batch_flatten", "n,m,k:A"),
    row("nn.pad", "n,m:N", pad_width=_WIDTHS),
    row("nn.pad", "n,m:F", "with a number", pad_width=(1, 1, 0, 2), pad_value=-1.5),
    row("nn.pad", "n,m:F", "with nothing", pad_width=(1, 1, 0, 2), pad_value=float("-inf")),
    row("nn.pad", "4,6:N", "removed", pad_width=(-1, 1, 2, -2)),
    *(row("nn.pad", "n,m:N", mode, pad_width=_WIDTHS, pad_mode=mode) for mode in ("reflect", "replicate", "circular")),
    *(row("nn.pad", "b,4,h,w:F", f"images {mode}", pad_width=(0, 0, 0, 0, 2, 1, 1, 3), pad_mode=mode)
      for mode in ("constant", "reflect", "replicate", "circular")),
    row("nn.pixel_shuffle", "b,4,h,w:A", upscale_factor=2),
    row("nn.pixel_shuffle", "b,18,h,w:F", "by 3", upscale_factor=3),
    row("nn.pixel_shuffle", "8,h,w:F", "of one image", upscale_factor=2),
    row("nn.pixel_shuffle", "b,2,h,w:F", "by 1", upscale_factor=1),
)  # fmt: skip
