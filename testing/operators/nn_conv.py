# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Convolutions."""

from __future__ import annotations

from ..core.rows import row

_DATA = {1: "b,4,w", 2: "b,4,h,w", 3: "b,4,6,h,w"}
_WINDOWS = {
    "by 2": {"strides": 2}, "padded": {"padding": 1}, "dilated": {"dilation": 2, "padding": 2},
    "by 2 padded": {"strides": 2, "padding": 1}, "by 3 dilated": {"strides": 3, "dilation": 2, "padding": 3},
}  # fmt: skip


def _taps(rank: int, size: int = 3) -> str:
    return ",".join([str(size)] * rank)


ROWS = (
    *(row(f"nn.conv{rank}d", f"{data}:F 6,4,{_taps(rank)}:F") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 6,4,{_taps(rank)}:F", name, **attributes)
      for rank, data in _DATA.items() for name, attributes in _WINDOWS.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 6,2,{_taps(rank)}:F", "of groups", groups=2, padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 4,1,{_taps(rank)}:F", "of channels", groups=4, padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 8,1,{_taps(rank)}:F!", "of channels to two each", groups=4) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 5,4,{_taps(rank, 1)}:F", "of one tap") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:F 6,4,{_taps(rank)}:F!", "of a known kernel", padding=1) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d", f"{data}:i8 6,4,{_taps(rank)}:i8", "of bytes", out_dtype="i32") for rank, data in _DATA.items()),
    row("nn.conv2d", "b,4,h,w:F 6,4,2,3:F", "of sides", strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)),
    row("nn.conv2d", "b,3,h,w:F 6,3,7,7:F", "of large windows", strides=(2, 2), padding=(3, 3)),
    row("nn.conv2d", "b,4,h,w:F 6,4,9,7:F", "of all"),
    row("nn.conv2d", "b,4,h,w:F 6,4,1,1:F!", "of one tap by 2", strides=(2, 2)),
    row("nn.conv2d", "b,h,w,4:F 3,3,4,6:F", "of channels last", padding=1, data_layout="NHWC", kernel_layout="HWIO"),
    row("nn.conv2d", "b,h,w,4:F 3,3,1,4:F", "of each channel, last", groups=4, data_layout="NHWC", kernel_layout="HWIO"),
    row("nn.conv2d", "b,h,w,4:F 6,3,3,4:F", "of outputs first", strides=2, data_layout="NHWC", kernel_layout="OHWI"),
    row("nn.conv2d", "b,4,h,w:F 6,4,3,3:F", "to channels last", out_layout="NHWC"),
    row("nn.conv2d", "b,2,h,w,4:F 2,2,3,3,4,4:F", "of blocks", padding=1, data_layout="NCHW4c", kernel_layout="OIHW4i4o"),
    row("nn.conv2d", "1,16,14,14:f32 33,16,3,3:f32!", "of a network", padding=1),
    row("nn.conv2d", "b,4,h,w:f16 6,4,3,3:f16", "of halves to floats", out_dtype="f32"),
    row("nn.conv2d", "b,4,h,w:i32 6,4,3,3:i32", "of integers"),
    row("nn.conv1d", "b,w,4:F 3,4,6:F", "of channels last", data_layout="NWC", kernel_layout="WIO"),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:F 4,3,{_taps(rank)}:F") for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:F 4,3,{_taps(rank)}:F", name, **attributes)
      for rank, data in _DATA.items() for name, attributes in _WINDOWS.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:F 4,3,{_taps(rank)}:F", "of groups", groups=2, strides=2) for rank, data in _DATA.items()),
    *(row(f"nn.conv{rank}d_transpose", f"{data}:F 4,3,{_taps(rank)}:F!", "with more at the end", strides=2, padding=1,
          output_padding=1) for rank, data in _DATA.items()),
    row("nn.conv2d_transpose", "b,4,h,w:F 4,1,4,4:F", "of channels", groups=4, strides=2, padding=1),
    row("nn.conv2d_transpose", "b,h,w,4:F 4,3,3,3:F", "of channels last", data_layout="NHWC"),
    row("nn.conv2d_transpose", "b,4,h,w:F 4,3,2,2:F", "of windows side by side", strides=2),
)  # fmt: skip
