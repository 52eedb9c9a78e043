# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Convolutions."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_DATA = {1: "b,4,w", 2: "b,4,h,w", 3: "b,4,6,h,w"}
_WINDOWS: dict[str, dict[str, Any]] = {
    "by 2": {"strides": 2}, "padded": {"padding": 1}, "dilated": {"dilation": 2, "padding": 2},
    "by 2 padded": {"strides": 2, "padding": 1}, "by 3 dilated": {"strides": 3, "dilation": 2, "padding": 3},
}  # fmt: skip


def _taps(rank: int, size: int = 3) -> str:
    return ",".join([str(size)] * rank)


ROWS = (
    *(row(f"nn.conv{rank}d", f"{data}:R 6,4,{_taps(rank)}:R") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 6,4,{_taps(rank)}:R", name, **attributes)
      for rank, data in _DATA.items() for name, attributes in _WINDOWS.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 6,2,{_taps(rank)}:R", "of groups", groups=2, padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 4,1,{_taps(rank)}:R", "of channels", groups=4, padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 8,1,{_taps(rank)}:R!", "of channels to two each", groups=4) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 5,4,{_taps(rank, 1)}:R", "of one tap") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:R 6,4,{_taps(rank)}:R!", "of a known kernel", padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:i8 6,4,{_taps(rank)}:i8", "of bytes", out_dtype="i32") for rank, data in _DATA.items()),
    row("nn.conv2d", "b,4,h,w:R 6,4,2,3:R", "of sides", strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)),
    row("nn.conv2d", "b,3,h,w:R 6,3,7,7:R", "of large windows", strides=(2, 2), padding=(3, 3)),
    row("nn.conv2d", "b,4,h,w:R 6,4,9,7:R", "of all"),
    row("nn.conv2d", "b,4,h,w:R 6,4,1,1:R!", "of one tap by 2", strides=(2, 2)),
    row("nn.conv2d", "b,h,w,4:R 3,3,4,6:R", "of channels last", padding=1, data_layout="NHWC", kernel_layout="HWIO"),
    row("nn.conv2d", "b,h,w,4:R 3,3,1,4:R", "of each channel, last", groups=4, data_layout="NHWC", kernel_layout="HWIO"),
    row("nn.conv2d", "b,h,w,4:R 6,3,3,4:R", "of outputs first", strides=2, data_layout="NHWC", kernel_layout="OHWI"),
    row("nn.conv2d", "b,4,h,w:R 6,4,3,3:R", "to channels last", out_layout="NHWC"),
    row("nn.conv2d", "b,2,h,w,4:R 2,2,3,3,4,4:R", "of blocks", padding=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o"),
    row("nn.conv2d", "1,16,14,14:f32 33,16,3,3:f32!", "of a network", padding=1),
    row("nn.conv2d", "b,4,h,w:f16 6,4,3,3:f16", "of halves to floats", out_dtype="f32"),
    row("nn.conv2d", "b,4,h,w:i32 6,4,3,3:i32", "of integers"),
    row("nn.conv1d", "b,w,4:R 3,4,6:R", "of channels last", data_layout="NWC", kernel_layout="WIO"),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:R 4,3,{_taps(rank)}:R") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:R 4,3,{_taps(rank)}:R", name, **attributes)
      for rank, data in _DATA.items() for name, attributes in _WINDOWS.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:R 4,3,{_taps(rank)}:R", "of groups", groups=2, strides=2) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:R 4,3,{_taps(rank)}:R!", "with more at the end", strides=2, padding=1,
          output_padding=1) for rank, data in _DATA.items()),
    row("nn.conv2d_transpose", "b,4,h,w:R 4,1,4,4:R", "of channels", groups=4, strides=2, padding=1),
    row("nn.conv2d_transpose", "b,h,w,4:R 4,3,3,3:R", "of channels last", data_layout="NHWC"),
    row("nn.conv2d_transpose", "b,4,h,w:R 4,3,2,2:R", "of windows side by side", strides=2),
)  # fmt: skip
