# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and transposed convolutions."""

from __future__ import annotations

from ..core.attributes import AttrKind, DType, Int, Ints, Str
from .dialect import op
from .infer.nn_conv import convolution, transposed_convolution

_PADDING = "one entry, one per dimension, or all befores, then all afters"


def _attrs(spatial: str, channels: str) -> dict[str, AttrKind]:
    """The attributes of a convolution over these dimensions; `channels` starts the kernel's layout."""
    count = len(spatial)
    attrs: dict[str, AttrKind] = {
        "strides": Ints((1,) * count, broadcast=count),
        "padding": Ints((0,) * count, broadcast=count, doc=_PADDING),
        "output_padding": Ints((0,) * count, broadcast=count, doc="added to the end of the result"),
        "dilation": Ints((1,) * count, broadcast=count),
        "groups": Int(1),
        "data_layout": Str(f"NC{spatial}"),
        "kernel_layout": Str(f"{channels}{spatial}"),
        "out_layout": Str(None, doc="absent: as data_layout"),
        "out_dtype": DType(None, doc="absent: the operands' element type"),
    }
    if channels == "OI":
        del attrs["output_padding"]
    return attrs


op("nn.conv1d", "data weight", attrs=_attrs("W", "OI"), infer=convolution("W"), doc="Convolution over W.")
op(
    "nn.conv2d",
    "data weight",
    attrs=_attrs("HW", "OI"),
    infer=convolution("HW"),
    doc="Convolution over H and W.",
)
op(
    "nn.conv3d",
    "data weight",
    attrs=_attrs("DHW", "OI"),
    infer=convolution("DHW"),
    doc="Convolution over D, H and W.",
)
op(
    "nn.conv1d_transpose",
    "data weight",
    attrs=_attrs("W", "IO"),
    infer=transposed_convolution("W"),
    doc="Transposed convolution over W.",
)
op(
    "nn.conv2d_transpose",
    "data weight",
    attrs=_attrs("HW", "IO"),
    infer=transposed_convolution("HW"),
    doc="Transposed convolution over H and W.",
)
op(
    "nn.conv3d_transpose",
    "data weight",
    attrs=_attrs("DHW", "IO"),
    infer=transposed_convolution("DHW"),
    doc="Transposed convolution over D, H and W.",
)
