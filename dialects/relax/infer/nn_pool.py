# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for pooling over any number of spatial dimensions."""

from __future__ import annotations

from collections.abc import Callable

from ...core.infos import TensorInfo
from ...core.opdef import Call
from .dtypes import check_dtype
from .layouts import Layout, layout_attribute, shape_in_layout, sizes_in_layout
from .windows import covering_positions, paddings, per_dimension, positions


def pool(spatial: str) -> Callable[[Call], TensorInfo]:
    """Pooling over dimensions named by letters, such as "HW"."""

    def infer(call: Call) -> TensorInfo:
        layout, out_layout = _layouts(call, spatial)
        pool_size = per_dimension(call, "pool_size", len(spatial), minimum=1)
        strides = per_dimension(call, "strides", len(spatial), minimum=1)
        dilation = per_dimension(call, "dilation", len(spatial), minimum=1)
        padding = paddings(call, len(spatial))
        check_dtype(call, "data", "float", "int")

        batch, channels, *sizes = sizes_in_layout(call, "data", layout)
        fit = covering_positions if call.ceil_mode else positions
        windows = [(taps - 1) * gap + 1 for taps, gap in zip(pool_size, dilation, strict=True)]
        counts = [
            fit(call, letter, size, windows[i], padding[i], strides[i])
            for i, (letter, size) in enumerate(zip(spatial, sizes, strict=True))
        ]
        return TensorInfo(shape_in_layout(out_layout, [batch, channels, *counts]), call.data.dtype)

    return infer


def adaptive_pool(spatial: str) -> Callable[[Call], TensorInfo]:
    """Pooling to a given size; where none is given the size stays."""

    def infer(call: Call) -> TensorInfo:
        layout, out_layout = _layouts(call, spatial)
        check_dtype(call, "data", "float", "int")
        batch, channels, *sizes = sizes_in_layout(call, "data", layout)
        if call.output_size is not None:
            output_size = per_dimension(call, "output_size", len(spatial), minimum=1)
            for letter, size in zip(spatial, sizes, strict=True):
                call.require(size != 0, f"{call.describe('data')} must not be empty along {letter}")
            sizes = list(output_size)
        return TensorInfo(shape_in_layout(out_layout, [batch, channels, *sizes]), call.data.dtype)

    return infer


def _layouts(call: Call, spatial: str) -> tuple[Layout, Layout]:
    layout = layout_attribute(call, "layout", f"NC{spatial}")
    return layout, layout_attribute(call, "out_layout", f"NC{spatial}", absent=layout)
