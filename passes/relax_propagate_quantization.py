# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that dequantize what they multiply and quantize the results multiply whole numbers.

Products and convolutions of dequantized bytes are sums in i32 with one scale behind them, zero points are corrections
that are constants where weights are; what moves numbers about moves bytes. What stays of `relax.dequantize` and
`relax.quantize` is element by element, and becomes part of the kernels around. Results differ from those in real
numbers by the rounding of real numbers: by one step of what is quantized in the end, where they are between two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.patterns import PatternSet, apply_greedy
from .core.base import Pass
from .core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class PropagateQuantization(Pass):
    """Products of dequantized numbers become sums of whole numbers, and what moves dequantized numbers moves bytes."""

    name: ClassVar[str] = "relax-propagate-quantization"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Whether products of dequantized numbers become those of bytes: where a machine has no instructions for sums of
    #: these, real numbers are multiplied faster.
    products: bool = True

    def run(self, op: Operation) -> None:
        apply_greedy(op, _patterns(self.products), max_iterations=_MOST_ROUNDS, what=self.name)


@cache
def _patterns(with_products: bool) -> PatternSet:
    from .quantization import moves, products, rescaling, signs

    of_bytes = [*products.OF_DEQUANTIZED, *signs.PATTERNS] if with_products else []
    return PatternSet([*moves.PATTERNS, *of_bytes, *products.OF_INTEGERS, *rescaling.PATTERNS])


#: Numbers are moved past one operation in each.
_MOST_ROUNDS = 64
