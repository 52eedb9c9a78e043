# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reshaping operators of neural networks."""

from __future__ import annotations

from ..core.attributes import Int, Ints, Number, Str
from .dialect import op
from .infer.nn_misc import batch_flatten, pad, pixel_shuffle

op("nn.batch_flatten", "data", infer=batch_flatten, view="data", doc="All dimensions but the first made one.")
op(
    "nn.pad",
    "data",
    attrs={
        "pad_width": Ints(doc="before and after each dimension; negative ones remove"),
        "pad_mode": Str("constant", choices=("constant", "reflect", "replicate", "circular")),
        "pad_value": Number(0.0, doc="for mode 'constant'"),
    },
    infer=pad,
    doc="Elements added around the data.",
)
op(
    "nn.pixel_shuffle",
    "data",
    attrs={"upscale_factor": Int()},
    infer=pixel_shuffle,
    doc="Channels moved to height and width: (..., C*r*r, H, W) becomes (..., C, H*r, W*r).",
)
