# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipe of C for microcontrollers: bytes, and requantization without floating point, as TFLite Micro computes it."""

from __future__ import annotations

from functools import cache

from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.operator_patterns import is_op
from relax_mlir.passes.patterns.tree import GraphPattern, is_const, wildcard
from relax_mlir.recipes import Op, Recipe, Share
from relax_mlir.support.requantization import Requantize

#: A shift, a multiplication of 64 bits and an addition: TFLite Micro's single rounding.
HOW = Requantize("q31>>shift", rounding="half_up")


@cache
def recipe() -> Recipe:
    types = {"x": "i8", "w": "i8@channel symmetric narrow", "bias": "i32 derived", "residual": "i8"}
    convolution = is_op("relax.nn.conv1d", "relax.nn.conv2d")(wildcard().named("x"), is_const().named("w"))
    linear = is_op("relax.matmul")(wildcard().named("x"), is_const().has_rank(2).named("w"))
    return Recipe(
        Op("conv", pattern=_layer(convolution), may_be_real=True, out=HOW, **types),
        Op("linear", pattern=_layer(linear), may_be_real=True, out=HOW, **types),
        Share("relax.concat", "relax.nn.max_pool2d", "relax.nn.avg_pool2d", "relax.nn.adaptive_avg_pool2d"),
        Share("relax.mean"),
    )


def _layer(product: GraphPattern) -> GraphPattern:
    """Return the pattern of a product with a bias, another layer's result and a limit, each optional."""
    biased = product.optional(lambda y: is_op("relax.add")(y, is_const().named("bias")))
    summed = biased.optional(lambda y: is_op("relax.add")(y, wildcard().named("residual")).where(_is_computed))
    return summed.optional(lambda y: is_op("relax.nn.relu", "relax.clip")(y, ...))


def _is_computed(match: Match) -> bool | str:
    """Check whether the other summand is computed at run time: constants are a bias."""
    return not is_constant(match["residual"]) or "the other summand is a constant"
