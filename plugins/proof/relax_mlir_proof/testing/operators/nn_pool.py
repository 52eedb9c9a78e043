# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Pools."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_SIZES = {1: "w", 2: "h,w", 3: "d,h,w"}
_SLIDING: dict[str, dict[str, Any]] = {
    "by 2": {"strides": 2}, "padded": {"padding": 1}, "dilated": {"dilation": 2}, "by 2 to above": {"strides": 2, "ceil_mode": True},
    "padded and counted": {"padding": 1, "strides": 2, "count_include_pad": True},
    "padded and not counted": {"padding": 1, "strides": 2, "count_include_pad": False},
    "padded to above": {"padding": 1, "strides": 3, "ceil_mode": True},
}  # fmt: skip
_IMAGES = "b,h,w,3:F"

ROWS = (
    *(row(f"nn.{kind}_pool{rank}d", f"b,3,{sizes}:F", pool_size=(2,) * rank)
      for kind in ("max", "avg") for rank, sizes in _SIZES.items()),
    *(row(f"nn.{kind}_pool{rank}d", f"b,3,{sizes}:F", name, pool_size=(3,) * rank, **attributes)
      for kind in ("max", "avg") for rank, sizes in _SIZES.items() for name, attributes in _SLIDING.items()),
    *(row(f"nn.{kind}_pool2d", "b,3,h,w:F", "of sides", pool_size=(3, 2), strides=(2, 1), padding=(1, 0, 0, 1))
      for kind in ("max", "avg")),
    *(row(f"nn.{kind}_pool2d", _IMAGES, "of channels last", pool_size=(2, 2), strides=(2, 2), layout="NHWC")
      for kind in ("max", "avg")),
    *(row(f"nn.{kind}_pool2d", "b,2,h,w,4:F", "of blocks", pool_size=(3, 3), padding=(1, 1), layout="NCHW4c")
      for kind in ("max", "avg")),
    *(row(f"nn.{kind}_pool2d", "b,3,9,7:F", "of all", pool_size=(9, 7)) for kind in ("max", "avg")),
    row("nn.max_pool2d", "b,3,h,w:I", "of integers", pool_size=(2, 2), padding=(1, 1)),
    *(row(f"nn.adaptive_avg_pool{rank}d", f"b,3,{sizes}:F", output_size=(1,) * rank) for rank, sizes in _SIZES.items()),
    *(row(f"nn.adaptive_avg_pool{rank}d", f"b,3,{sizes}:F", f"to {size}", output_size=(size,) * rank)
      for rank, sizes in _SIZES.items() for size in (2, 4, 9)),
    row("nn.adaptive_avg_pool2d", "b,3,h,w:F", "to its own"),
    row("nn.adaptive_avg_pool2d", _IMAGES, "of channels last", output_size=(3, 2), layout="NHWC"),
)  # fmt: skip
