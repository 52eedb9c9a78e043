# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of 3x3 taps by Winograd's minimal filtering: fewer products, of tiles and kernels that are transformed.

A tile of m x m results takes (m + 2)^2 products instead of 9 m^2. Transforms add rounding errors to sums.
"""

from __future__ import annotations

import math

from ..core.attributes import Bool, Int, Ints
from ..core.equalities import contradict
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_add, dim_mul, product
from .dialect import op
from .infer.sizes import shape_of_rank

#: Results along a side of a tile.
TILES = (2, 4)
TAPS = 3


def conv2d_winograd(call: Call) -> TensorInfo:
    batch, blocks, height, width, lanes = shape_of_rank(call, "data", 5)
    panels, points, channels, columns = shape_of_rank(call, "weight", 4)
    for name in ("data", "weight", "bias", "residual"):
        is_real = call.operands[name] is None or call.operands[name].dtype == "f32"
        call.require(is_real, f"{call.describe(name)} must have elements of f32")
    call.require(len(call.padding) == 4, f"{call.describe('padding')} must be what is around: top, left, bottom, right")
    sides = [side + TAPS - 1 for side in TILES]
    known = [side * side for side in sides]
    if isinstance(points, int):
        call.require(points in known, f"{call.describe('weight')} must have one of {known} points, not {points}")
    call.require(
        not contradict(channels, dim_mul(blocks, lanes)),
        f"{call.describe('data')} must have as many channels as {call.describe('weight')} takes, {channels}",
    )
    for name in ("rows", "tiles"):
        call.require(getattr(call, name) > 0, f"{call.describe(name)} must be positive")
    if call.bias is not None:
        wanted = (panels, columns)
        fits = not any(map(contradict, shape_of_rank(call, "bias", 2), wanted))
        call.require(fits, f"{call.describe('bias')} must have a number for each column of each panel")
    if not isinstance(columns, int) or not isinstance(lanes, int):
        raise call.fail(f"{call.describe('weight')} and {call.describe('data')} must have blocks of known sizes")
    call.require(columns % lanes == 0, f"{call.describe('weight')} must have panels of whole vectors of {lanes}")
    top, left, bottom, right = call.padding
    places = [dim_add(height, top + bottom - TAPS + 1), dim_add(width, left + right - TAPS + 1)]
    return TensorInfo((batch, dim_mul(panels, columns // lanes), *places, lanes), "f32")


def products(call: Call, count: Dim) -> Dim:
    """two for each product that is computed: one of each point of a tile and each channel"""
    _, points, channels, _ = call.weight.shape or (None,) * 4
    if not isinstance(points, int):
        return None
    return product((2 * points // (math.isqrt(points) - TAPS + 1) ** 2, count, channels))


op("nn.conv2d_winograd", "data weight bias? residual?",
   attrs={"padding": Ints((0, 0, 0, 0), doc="rows above, columns before, rows below, columns behind"),
          "relu": Bool(False, doc="whether results below zero become zero"),
          "rows": Int(1, doc="tiles that there are registers for"),
          "tiles": Int(1, doc="that are worked on at once, while they are in the cache")},
   own=True, flops=products, infer=conv2d_winograd,
   doc="conv2d of blocks of channels, NCHW16c, with a kernel of 3x3 taps that is transformed: "
       "[panels, points of a tile, channels, columns].")  # fmt: skip
