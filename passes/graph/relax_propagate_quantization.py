# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic for graphs that dequantize operands of products and quantize the results.

Products and convolutions of dequantized bytes become sums in i32 with one scale behind them. Zero points become
corrections, which are constants if the weights are. Data movement moves bytes. The remaining `relax.dequantize` and
`relax.quantize` are elementwise, and become part of adjacent kernels. Results differ from real arithmetic by the
rounding of real numbers: by one step of the final quantization for values halfway between two steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.patterns import PatternSet, apply_greedy
from ..core.base import Pass
from ..core.registry import register_pass


@register_pass
@dataclass(frozen=True)
class PropagateQuantization(Pass):
    """Rewrite products of dequantized numbers to integer products, and move bytes instead of dequantized numbers."""

    name: ClassVar[str] = "relax-propagate-quantization"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Rewrite products of dequantized numbers to products of bytes. Without dot-product instructions, real numbers are
    #: faster.
    products: bool = True

    def run(self, op: Operation) -> None:
        apply_greedy(op, _patterns(self.products), max_iterations=_MOST_ROUNDS, what=self.name)


@cache
def _patterns(with_products: bool) -> PatternSet:
    from .quantization import moves, products, rescaling, signs

    of_bytes = [*products.OF_DEQUANTIZED, *signs.PATTERNS] if with_products else []
    return PatternSet([*moves.PATTERNS, *of_bytes, *products.OF_INTEGERS, *rescaling.PATTERNS])


#: Each round moves numbers past one operation.
_MOST_ROUNDS = 64
