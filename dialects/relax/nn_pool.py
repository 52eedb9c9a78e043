# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

from collections.abc import Callable

from ..core.attributes import AttrKind, Bool, Ints, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import contraction_op
from .infer.dtypes import check_dtype
from .infer.layouts import Layout, layout_attribute, shape_in_layout, sizes_in_layout
from .infer.windows import covering_positions, paddings, per_dimension, positions


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


_PADDING = "one entry, one per dimension, or all befores, then all afters"


def _attrs(spatial: str, count_include_pad: bool) -> dict[str, AttrKind]:
    """The attributes of pooling over these dimensions."""
    count = len(spatial)
    padded = max(count, 2)  # Relax's default for one dimension has both sides
    return {
        "pool_size": Ints((1,) * count, broadcast=count),
        "strides": Ints((1,) * count, broadcast=count),
        "padding": Ints((0,) * padded, broadcast=padded, doc=_PADDING),
        "dilation": Ints((1,) * count, broadcast=count),
        "ceil_mode": Bool(False, doc="also a last window that reaches over the end"),
        "count_include_pad": Bool(count_include_pad, doc="averages count the padding"),
        "layout": Str(f"NC{spatial}"),
        "out_layout": Str(None, doc="absent: as layout"),
    }


def _adaptive_attrs(spatial: str) -> dict[str, AttrKind]:
    return {
        "output_size": Ints(None, broadcast=len(spatial), doc="absent: the data's"),
        "layout": Str(f"NC{spatial}"),
        "out_layout": Str(None, doc="absent: as layout"),
    }


contraction_op("nn.avg_pool1d", "data", attrs=_attrs("W", True), infer=pool("W"), doc="The mean of each window over W.")
contraction_op(
    "nn.avg_pool2d", "data", attrs=_attrs("HW", False), infer=pool("HW"), doc="The mean of each window over H and W."
)
contraction_op("nn.avg_pool3d", "data", attrs=_attrs("DHW", True), infer=pool("DHW"),
   doc="The mean of each window over D, H and W.")  # fmt: skip
contraction_op(
    "nn.max_pool1d", "data", attrs=_attrs("W", False), infer=pool("W"), doc="The maximum of each window over W."
)
contraction_op(
    "nn.max_pool2d", "data", attrs=_attrs("HW", False), infer=pool("HW"), doc="The maximum of each window over H and W."
)
contraction_op("nn.max_pool3d", "data", attrs=_attrs("DHW", False), infer=pool("DHW"),
   doc="The maximum of each window over D, H and W.")  # fmt: skip
contraction_op("nn.adaptive_avg_pool1d", "data", attrs=_adaptive_attrs("W"), infer=adaptive_pool("W"),
   doc="The means of windows over W, chosen so that the result has the given size.")  # fmt: skip
contraction_op("nn.adaptive_avg_pool2d", "data", attrs=_adaptive_attrs("HW"), infer=adaptive_pool("HW"),
   doc="The means of windows over H and W, chosen so that the result has the given size.")  # fmt: skip
contraction_op("nn.adaptive_avg_pool3d", "data", attrs=_adaptive_attrs("DHW"), infer=adaptive_pool("DHW"),
   doc="The means of windows over D, H and W, chosen so that the result has the given size.")  # fmt: skip
