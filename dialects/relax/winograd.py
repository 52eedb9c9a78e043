# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of 3x3 taps by Winograd's minimal filtering: transformed tiles and kernels need fewer products.

A tile of m x m results takes (m + 2)^2 products per channel instead of 9 m^2.
"""

from __future__ import annotations

import math

from ..core.attributes import Bool, Int, Ints
from ..core.equalities import contradict
from ..core.facts import Window
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_mul, product
from .dialect import op
from .infer.sizes import same_shape, shape_of_rank
from .infer.windows import positions

TAPS = 3
#: Results along a side of a tile.
TILES = (2, 4)
_POINTS = [(step + TAPS - 1) ** 2 for step in TILES]


def conv2d_winograd(call: Call) -> TensorInfo:
    for name, operand in call.operands.items():
        call.require(operand is None or operand.dtype == "f32", f"{call.describe(name)} must have elements of f32")
    for name in ("rows", "tiles"):
        call.require(getattr(call, name) > 0, f"{call.describe(name)} must be positive")
    is_narrow = len(call.padding) == 4 and all(side in (0, 1) for side in call.padding)
    call.require(is_narrow, f"{call.describe('padding')} must have 0 or 1 for top, left, bottom and right")
    batch, blocks, *sizes, lanes = shape_of_rank(call, "data", 5)
    panels, points, channels, columns = shape_of_rank(call, "weight", 4)
    is_known = not isinstance(points, int) or points in _POINTS
    call.require(is_known, f"{call.describe('weight')} must have one of {_POINTS} points of a tile, got {points}")
    call.require(
        not contradict(channels, dim_mul(blocks, lanes)),
        f"{call.describe('weight')} must have as many channels as {call.describe('data')}",
    )
    is_even = isinstance(columns, int) and isinstance(lanes, int) and lanes > 0 and columns % lanes == 0
    call.require(is_even, f"{call.describe('weight')} must have columns for whole blocks of {call.describe('data')}")
    if call.bias is not None:
        fits = not any(map(contradict, shape_of_rank(call, "bias", 2), (panels, columns)))
        call.require(fits, f"{call.describe('bias')} must have a number for each column of each panel")
    windows = [Window(TAPS, before=call.padding[axis], after=call.padding[axis + 2]) for axis in (0, 1)]
    places = [positions(call, *each) for each in zip("HW", sizes, windows, strict=True)]
    shape = (batch, dim_mul(panels, columns // lanes), *places, lanes)  # type: ignore[operator]
    if call.residual is None:
        return TensorInfo(shape, "f32")
    return TensorInfo(same_shape(call, "residual", shape, "the result's"), "f32")


def products(call: Call, count: Dim) -> Dim:
    """two for each point of a tile and channel, for each of a tile's results"""
    _, points, channels, _ = call.weight.shape or (None,) * 4
    if not isinstance(points, int):
        return None
    return product((2 * points // (math.isqrt(points) - TAPS + 1) ** 2, count, channels))


op("nn.conv2d_winograd", "data weight bias? residual?",
   attrs={"padding": Ints((0, 0, 0, 0), doc="0 or 1: top, left, bottom, right"),
          "relu": Bool(False, doc="if True, applies relu to the result"),
          "rows": Int(1, doc="tiles that fit in registers"),
          "tiles": Int(1, doc="tiles that fit in the cache, processed together")},
   own=True, flops=products, infer=conv2d_winograd,
   doc="conv2d of 3x3 taps in layouts like NCHW4c, with a transformed kernel: [panels, points of a tile, channels, "
       "columns]. Adds bias for each column, then residual.")  # fmt: skip
