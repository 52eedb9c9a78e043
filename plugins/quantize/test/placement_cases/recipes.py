# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recipes equal to settings of onnxruntime and NNCF."""

from __future__ import annotations

from collections.abc import Sequence

import relax_mlir as rx
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.graph.recipes.recipe import Entry
from relax_mlir.passes.patterns.matched import Match
from relax_mlir.passes.patterns.quantized_layers import quantized_conv, quantized_linear
from relax_mlir.patterns import GraphPattern, is_const, is_op, wildcard
from relax_mlir.recipes import Op, Share

#: Operators of one operand in the suites.
_UNARY = ("sigmoid", "tanh", "cos", "sin", "abs")


def ort(*others: Entry, x: str = "u8", w: str = "u8", ops: Sequence[str] = (), y: str | None = "like x") -> rx.Recipe:
    """Return the recipe of QDQ models: operands and results of each operator have the type x, and weights w.

    ops: the only operators to quantize.
    """
    result = {} if y == "like x" else {"y": y}
    bias = "i32 derived"
    entries = [
        Op("Conv", pattern=quantized_conv(wildcard(), is_const()), x=x, w=w, bias=bias, **result),
        Op("MatMul", pattern=quantized_linear(wildcard(), is_const()), x=x, w=w, bias=bias, **result),
        Op("Add", pattern=_two("add"), x1=x, x2=x, **result),
        Op("Mul", pattern=_two("multiply"), x1=x, x2=x, **result),
        *(Op(f"relax.{name}", x=x, **result) for name in _UNARY),
        Op("relax.nn.layer_norm", data=x, gamma=w, **result),
    ]
    chosen = [each for each in entries if not ops or each.name in ops]
    return rx.Recipe(*chosen, Share("relax.concat", "relax.nn.avg_pool2d"), *others)


def _two(name: str) -> GraphPattern:
    """Return the pattern of an operator of two operands, with or without a relu."""
    sums = is_op(f"relax.{name}")(wildcard().named("x1"), wildcard().named("x2"))
    return is_op("relax.nn.relu")(sums.used_once()) | sums


def nncf(*others: Entry, x: str = "i8 symmetric", w: str = "i8@channel symmetric") -> rx.Recipe:
    """Return the recipe for NNCF's CPU: operands of its operators are quantized, and results for readers only."""
    data, weights = wildcard().named("x"), is_const().named("w")
    convs = [f"relax.nn.conv{rank}d" for rank in (1, 2, 3)]
    convs += [f"{name}_transpose" for name in convs]
    pairs = ("add", "multiply", "subtract", "divide", "maximum", "minimum")
    own = {name for entry in others for name in entry.names}
    entries: list[Entry] = [
        Op("conv", pattern=is_op(*convs)(data, weights), x=x, w=w, y=None),
        Op("linear", pattern=is_op("relax.matmul")(data, weights), x=x, w=w, y=None),
        Op("product", pattern=_computed("matmul"), x1=x, x2=x, y=None),
        *(Op(f"two {name}", pattern=_computed(name), x1=x, x2=x, y=None) for name in pairs),
        Op("relax.nn.avg_pool2d", data=x, y=None),
        Op("relax.nn.adaptive_avg_pool2d", data=x, y=None),
        Op("relax.mean", x=x, y=None),
        Op("relax.sum", x=x, y=None),
        Op("relax.nn.attention", query=x, key=x, y=None),
        Op("relax.image.resize2d", data=x, y=None),
        Op("relax.nn.group_norm", data=x, y=None),
    ]
    return rx.Recipe(*(each for each in entries if not own & set(each.names)), Share("relax.concat"), *others)


def _computed(name: str) -> GraphPattern:
    """Return the pattern of an operator of two operands that are computed."""
    pair = is_op(f"relax.{name}")(wildcard().named("x1"), wildcard().named("x2"))
    return pair.where(_are_computed, "a constant is no activation")


def _are_computed(match: Match) -> bool:
    return not any(is_constant(match[name]) for name in ("x1", "x2"))
