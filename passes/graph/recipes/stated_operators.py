# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators for which `out=` of a recipe's entry states integer arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from ....support.errors import RelaxError
from ...patterns.operator_patterns import Op
from ...patterns.tree import GraphPattern, walk
from ..scales.weights import CONVOLUTIONS

_DIMENSIONS = ("1d", "2d", "3d")
PRODUCTS = ("relax.matmul", *CONVOLUTIONS)
POOLS = tuple(f"relax.nn.avg_pool{dimension}" for dimension in _DIMENSIONS)
GLOBAL_POOLS = tuple(f"relax.nn.adaptive_avg_pool{dimension}" for dimension in _DIMENSIONS)
#: Operators that select elements: their results are rescaled.
SELECTIONS = (
    *(f"relax.nn.max_pool{dimension}" for dimension in _DIMENSIONS),
    *("relax.reshape", "relax.permute_dims", "relax.strided_slice", "relax.max"),
)
SUMS = ("relax.add", "relax.subtract")
#: Functions of one number, which are tables.
FUNCTIONS = (
    *("relax.sigmoid", "relax.tanh", "relax.exp", "relax.log", "relax.sqrt", "relax.rsqrt", "relax.abs"),
    *("relax.negative", "relax.square", "relax.sin", "relax.cos"),
    *("relax.nn.silu", "relax.nn.gelu", "relax.nn.gelu_tanh", "relax.nn.leakyrelu"),
)
#: Operators that limit results, as integers do after the requantization.
LIMITS = ("relax.nn.relu", "relax.clip")
_OTHERS = ("relax.multiply", "relax.concat", "relax.mean", "relax.image.resize2d", "relax.nn.softmax")
#: Operators around the arithmetic: scales, and integers in front of the sums or behind the result.
_AROUND = ("relax.quantize", "relax.dequantize", "relax.astype", "relax.maximum", "relax.minimum")
STATED = frozenset((*PRODUCTS, *POOLS, *GLOBAL_POOLS, *SELECTIONS, *SUMS, *FUNCTIONS, *LIMITS, *_OTHERS, *_AROUND))


def check_stated(entry: object, pattern: GraphPattern) -> None:
    """Raise RelaxError if a pattern has an operator for which `out=` states no arithmetic."""
    names: Iterable[str] = (name for part in walk(pattern) if isinstance(part, Op) for name in part.names)
    if (unknown := next((name for name in names if name not in STATED), None)) is not None:
        raise RelaxError(
            f"recipe: {entry!r}: out= states no integers for {unknown}; drop out=, or state a pattern without it"
        )
