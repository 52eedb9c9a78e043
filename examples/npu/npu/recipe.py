# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipe of the accelerator: bytes without zero points, with the sum of two layers inside of the second one."""

from __future__ import annotations

from relax_mlir.dialects.relax.known_constants import is_constant

import relax_mlir as rx
from relax_mlir.patterns import GraphPattern, Match, is_const, is_op, wildcard
from relax_mlir.recipes import Float, Op, Share


def _layer(product: GraphPattern) -> GraphPattern:
    """Return the pattern of a product with a bias, another layer's result, and an activation, each optional."""
    biased = product.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    summed = biased.optional(lambda y: is_op("relax.add")(y, wildcard().named("residual")).where(_is_computed))
    return summed.optional(lambda y: is_op("relax.nn.relu")(y))


def _is_computed(match: Match) -> bool | str:
    """Check whether the other summand is computed at run time: constants are a bias."""
    return not is_constant(match["residual"]) or "the other summand is a constant"


#: VREQUANT can do others: its mode is a field.
HOW = rx.Requantize("q31>>shift", rounding="half_away")
_X, _W = wildcard().named("x"), is_const().named("w")
_TYPES = {"x": "i8 symmetric", "w": "i8@channel symmetric narrow", "bias": "i32 derived", "residual": "i8 symmetric"}

RECIPE = rx.Recipe(
    Op("conv", may_be_real=True, pattern=_layer(is_op("relax.nn.conv2d")(_X, _W.has_rank(4))), out=HOW, **_TYPES),
    Op("linear", may_be_real=True, pattern=_layer(is_op("relax.matmul")(_X, _W.has_rank(2))), out=HOW, **_TYPES),
    Share("relax.mean", "relax.concat", "relax.nn.max_pool2d", "relax.nn.avg_pool2d"),
    Float("relax.nn.softmax", "relax.nn.rms_norm", "relax.nn.silu"),
)
