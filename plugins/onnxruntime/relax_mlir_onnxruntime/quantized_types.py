# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipe for onnxruntime: QuantizeLinear and DequantizeLinear around each operator that it computes on bytes.

onnxruntime fuses an operator with the DequantizeLinear of all operands and the QuantizeLinear of the result. Results of
convolutions and sums are therefore always quantized.
"""

from __future__ import annotations

from relax_mlir import Recipe
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.patterns import GraphPattern, Match, is_op, quantized_conv, quantized_linear, wildcard
from relax_mlir.recipes import Op, Share


def _are_computed(match: Match) -> bool | str:
    is_bias = any(is_constant(match[name]) for name in ("a", "b"))
    return "a summand is a constant" if is_bias else True


_SUM = is_op("relax.add")(wildcard().named("a"), wildcard().named("b")).where(_are_computed)


def _layer(name: str, pattern: GraphPattern) -> Op:
    return Op(name, pattern=pattern, x="u8", w="i8@channel symmetric", bias="i32 derived")


RECIPE = Recipe(
    _layer("conv", quantized_conv()),
    _layer("linear", quantized_linear(real_results=True)),
    Op("sum", pattern=_SUM.optional(lambda y: is_op("relax.nn.relu", "relax.clip")(y, ...)), a="u8", b="u8"),
    Op("pool", pattern=is_op("relax.mean", "relax.nn.avg_pool2d")(wildcard().named("x"), ...), x="u8"),
    Share("relax.concat"),
)
