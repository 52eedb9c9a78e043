# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling."""

from __future__ import annotations

from ..core.attributes import AttrKind, Bool, Ints, Str
from .dialect import op
from .infer.nn_pool import adaptive_pool, pool

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


op("nn.avg_pool1d", "data", attrs=_attrs("W", True), infer=pool("W"), doc="The mean of each window over W.")
op(
    "nn.avg_pool2d",
    "data",
    attrs=_attrs("HW", False),
    infer=pool("HW"),
    doc="The mean of each window over H and W.",
)
op(
    "nn.avg_pool3d",
    "data",
    attrs=_attrs("DHW", True),
    infer=pool("DHW"),
    doc="The mean of each window over D, H and W.",
)
op(
    "nn.max_pool1d",
    "data",
    attrs=_attrs("W", False),
    infer=pool("W"),
    doc="The maximum of each window over W.",
)
op(
    "nn.max_pool2d",
    "data",
    attrs=_attrs("HW", False),
    infer=pool("HW"),
    doc="The maximum of each window over H and W.",
)
op(
    "nn.max_pool3d",
    "data",
    attrs=_attrs("DHW", False),
    infer=pool("DHW"),
    doc="The maximum of each window over D, H and W.",
)
op(
    "nn.adaptive_avg_pool1d",
    "data",
    attrs=_adaptive_attrs("W"),
    infer=adaptive_pool("W"),
    doc="The means of windows over W, chosen so that the result has the given size.",
)
op(
    "nn.adaptive_avg_pool2d",
    "data",
    attrs=_adaptive_attrs("HW"),
    infer=adaptive_pool("HW"),
    doc="The means of windows over H and W, chosen so that the result has the given size.",
)
op(
    "nn.adaptive_avg_pool3d",
    "data",
    attrs=_adaptive_attrs("DHW"),
    infer=adaptive_pool("DHW"),
    doc="The means of windows over D, H and W, chosen so that the result has the given size.",
)
