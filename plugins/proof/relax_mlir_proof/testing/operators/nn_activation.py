# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Activations."""

from __future__ import annotations

from ..core.rows import row

_WHOLE_LINE = "relu gelu gelu_tanh selu silu softplus leakyrelu"

ROWS = (
    *(row(f"nn.{name}", "n,m:F") for name in _WHOLE_LINE.split()),
    *(row(f"nn.{name}", "h,w:F[-90,90]", "far out") for name in _WHOLE_LINE.split()),
    row("nn.relu", "n,m:I", "of integers"),
    row("nn.leakyrelu", "n,m:F", "steeper", alpha=1.5),
    row("nn.leakyrelu", "n,m:F", "falling", alpha=-0.5),
    row("nn.softplus", "n,m:F[-9,9]", "steeper", beta=2.0, threshold=3.0),
    row("nn.softplus", "n,m:F[-150,150]", "of a high threshold", threshold=120.0),
    row("nn.prelu", "n,m:F m:F"),
    row("nn.prelu", "b,4,h,w:F 4:F", "by channels", axis=1),
    row("nn.prelu", "b,h,4:F 4:F!", "by known channels", axis=-1),
    row("nn.softmax", "n,m:F"),
    row("nn.log_softmax", "n,m:F"),
    *(row(f"nn.{name}", "n,m,k:F", f"along {axis}", axis=axis) for name in ("softmax", "log_softmax") for axis in (0, 1, -2)),
    *(row(f"nn.{name}", "4,517:F", "of long rows") for name in ("softmax", "log_softmax")),
    *(row(f"nn.{name}", "n,m:F[-500,500]", "far apart") for name in ("softmax", "log_softmax")),
    row("nn.dropout", "n,m:F", rate=0.25),
)  # fmt: skip
