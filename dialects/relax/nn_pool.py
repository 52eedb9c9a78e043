# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.attributes import AttrKind, Bool, Ints, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call, OpRow
from ..core.symbols import Dim, product
from .dialect import op
from .infer.dtypes import check_dtype
from .infer.layouts import layouts_of, shape_in_layout, sizes_in_layout
from .infer.windows import check_windows, covering_positions, per_dimension, positions, windows_of


def pool(call: Call) -> TensorInfo:
    layouts = layouts_of(call)
    check_windows(call)
    check_dtype(call, "data", "float", "int")
    batch, channels, *sizes = sizes_in_layout(call, "data", layouts["data"])
    fit = covering_positions if call.ceil_mode else positions
    windows = windows_of(call)
    counts = [fit(call, *each) for each in zip(windows, sizes, windows.values(), strict=True)]
    return TensorInfo(shape_in_layout(layouts["result"], [batch, channels, *counts]), call.data.dtype)


def pool_work(call: Call, count: Dim) -> Dim:
    """one for each tap of each window"""
    return product((count, *(window.taps for window in windows_of(call).values())))


def adaptive_pool(call: Call) -> TensorInfo:
    """Infer pooling to a given size. Without a size, the shape is unchanged."""
    layouts = layouts_of(call)
    check_dtype(call, "data", "float", "int")
    batch, channels, *sizes = sizes_in_layout(call, "data", layouts["data"])
    if call.output_size is not None:
        output_size = per_dimension(call, "output_size", len(sizes), minimum=1)
        for letter, size in zip(layouts["data"].dimensions[2:], sizes, strict=True):
            call.require(size != 0, f"{call.describe('data')} must not be empty along {letter}")
        sizes = list(output_size)
    return TensorInfo(shape_in_layout(layouts["result"], [batch, channels, *sizes]), call.data.dtype)


_PADDING = "one entry, one per dimension, or all starts, then all ends"


def _row(spatial: str, attrs: Mapping[str, AttrKind], doc: str) -> OpRow:
    """Return the columns of pooling over these dimensions, with attributes in addition to the layout attributes."""
    dimensions = f"NC{spatial}"
    laid_out = {"layout": Str(dimensions), "out_layout": Str(None, doc="default: as layout")}
    return {
        "doc": doc,
        "attrs": {**attrs, **laid_out},
        "pattern": "out_ewise_fusable",
        "layouts": {"data": ("layout", dimensions), "result": ("out_layout", dimensions)},
    }


def _sliding(spatial: str, doc: str, count_include_pad: bool = False) -> OpRow:
    count = len(spatial)
    padded = max(count, 2)  # Relax's default for one dimension has both sides
    attrs: dict[str, AttrKind] = {
        "pool_size": Ints((1,) * count, broadcast=count),
        "strides": Ints((1,) * count, broadcast=count),
        "padding": Ints((0,) * padded, broadcast=padded, doc=_PADDING),
        "dilation": Ints((1,) * count, broadcast=count),
        "ceil_mode": Bool(False, doc="if True, the last window may extend beyond the end"),
        "count_include_pad": Bool(count_include_pad, doc="if True, averages include the padding"),
    }
    return {**_row(spatial, attrs, doc), "infer": pool, "flops": pool_work, "windows": (spatial, "pool_size")}


def _adaptive(spatial: str, doc: str) -> OpRow:
    size = Ints(None, broadcast=len(spatial), doc="size of the result; default: as data")
    return {**_row(spatial, {"output_size": size}, doc), "infer": adaptive_pool, "flops": (1, "data")}


op("nn.avg_pool1d", "data", **_sliding("W", "Mean of each window over W.", True))
op("nn.avg_pool2d", "data", **_sliding("HW", "Mean of each window over H and W."))
op("nn.avg_pool3d", "data", **_sliding("DHW", "Mean of each window over D, H and W.", True))
op("nn.max_pool1d", "data", **_sliding("W", "Maximum of each window over W."))
op("nn.max_pool2d", "data", **_sliding("HW", "Maximum of each window over H and W."))
op("nn.max_pool3d", "data", **_sliding("DHW", "Maximum of each window over D, H and W."))
op("nn.adaptive_avg_pool1d", "data", **_adaptive("W",
   "Means of windows over W, as many as output_size."))  # fmt: skip
op("nn.adaptive_avg_pool2d", "data", **_adaptive("HW",
   "Means of windows over H and W, as many as output_size."))  # fmt: skip
op("nn.adaptive_avg_pool3d", "data", **_adaptive("DHW",
   "Means of windows over D, H and W, as many as output_size."))  # fmt: skip
