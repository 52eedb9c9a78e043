# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns known weights that a product reads transposed, where factors are narrow: einsum("ak,nk->an") is of "kn" then.

Vectors of columns are read as panels of such weights, packed while compiling; along the sum each result would be added
up of a vector's lanes. Weights that something else reads too would take memory twice, and stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_in, use_count
from ....dialects.relax.infer.einsum import parse_subscripts
from ....passes.canonicalize.constants import stored_elements
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.layout.conversion import constant_like
from ...core.registry import parse_target
from ..objects.code_target import machine


@register_pass
@dataclass(frozen=True)
class TurnWeights(Pass):
    """Turns known weights of narrow numbers that products read transposed."""

    name: ClassVar[str] = "llvm-turn-weights"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: With its options, which say what machine it is: llvm{cpu=znver4}.
    target: str = "llvm"

    def __post_init__(self) -> None:
        parse_target(self.target)

    def run(self, op: Operation) -> None:
        dots = machine(parse_target(self.target)).dots
        factors = {factor for each in dots for factor in (each.left, each.right)}
        narrow = {factor.replace("s", "i").replace("u", "ui") for factor in factors}
        for each in operations_in(op) if dots else ():
            if each.name == "relax.einsum" and len(each.operands) == 2:
                _turn(each, narrow)


def _turn(product: Operation, narrow: set[str]) -> None:
    weights = product.operands[1]
    maker = made_by(weights, "arith.constant")
    if maker is None or use_count(weights) != 1 or str(weights.type.element_type) not in narrow:
        return
    (one, other), result = parse_subscripts(ir.StringAttr(product.attributes["subscripts"]).value)
    is_transposed = len(other) == 2 and result[-1:] == other[:1] and one[-1:] == other[1:]
    elements = stored_elements(weights) if is_transposed and other[1] not in result else None
    if elements is None:
        return
    terms = ("".join(labels) for labels in (one, other[::-1], result))
    with product.location, ir.InsertionPoint(product):
        product.operands[1] = constant_like(weights, elements.T)
        product.attributes["subscripts"] = ir.StringAttr.get("{},{}->{}".format(*terms))
    maker.erase()
