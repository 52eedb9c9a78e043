# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes for CPUs: bytes, with a scale for each output channel of the weights."""

from __future__ import annotations

from functools import cache

from ...passes.graph.recipes.recipe import Op, Recipe, Share
from ...passes.patterns.operator_patterns import is_op
from ...passes.patterns.quantized_layers import quantized_conv, quantized_linear
from ...passes.patterns.tree import wildcard
from ..core.backend import ChosenTarget
from .pipeline import machine


def recipe(target: ChosenTarget) -> Recipe:
    """Return the recipe for a CPU.

    x86's products of bytes take unsigned and signed ones; others take both kinds as well. Fused attention stays in
    floating point: a call of BERT base takes 38 ms, and 47 ms with attention in bytes. AVX2 adds two products in
    16 bits, which saturate with weights of 8 bits.
    """
    dots = machine(target).dots
    has_dots = any(dot.total == "i32" and not dot.by_halves for dot in dots)
    return _recipe(has_dots, any(dot.byte_pairs for dot in dots))


@cache
def _recipe(has_dots: bool, has_pairs: bool) -> Recipe:
    """Return the recipe for CPUs with or without instructions that sum products of four bytes, or of two in 16 bits."""
    x, w, bias = ("u8", "i8"), f"i8@channel symmetric {'reduced' if has_pairs else 'narrow'}", "i32 derived"
    # Products of two computed matrices gain by such instructions only: 0.3 to 0.7 of the time, else 1 to 1.1.
    product = is_op("relax.matmul")(wildcard().named("x"), wildcard().named("other"))
    computed = [Op("product", pattern=product, x=x, other="i8 symmetric", may_be_real=True)] if has_dots else []
    return Recipe(
        Op("conv", pattern=quantized_conv(real_results=True), x=x, w=w, bias=bias),
        Op("linear", pattern=quantized_linear(real_results=True), x=x, w=w, bias=bias),
        *computed,
        Share("relax.concat", "relax.nn.avg_pool2d", "relax.nn.adaptive_avg_pool2d"),
    )
