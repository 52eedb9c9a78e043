# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposition of constant weights that a product reads transposed: einsum("ak,nk->an") becomes "kn".

Vectors of columns are read as panels of such weights, packed at compile time. Along the reduction, each result would
add up the lanes of a vector, which takes half as long again.

The pass transposes f32 and f64, and narrow factors if the CPU has dot products for them. Weights with other users are
stored twice: narrow weights stay unchanged, wide weights are transposed for many rows.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_in, use_count
from ....bindings.rewriting import is_used
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import product as count_of
from ....dialects.relax.infer.einsum import parse_subscripts
from ....dialects.relax.known_constants import stored_elements
from ....passes.core.registry import register_pass
from ....passes.graph.layout.conversion import constant_like
from ...core.machine_pass import MachinePass

_WIDE = frozenset({"f32", "f64"})
#: Up to this number of rows, reading the weights takes longer than the arithmetic.
_FEW_ROWS = 16


@register_pass
class TurnWeights(MachinePass):
    """Transpose constant weights that products read transposed."""

    name: ClassVar[str] = "llvm-turn-weights"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        factors = {factor for dot in self.machine.dots for factor in (dot.left, dot.right)}
        narrow = {factor.replace("s", "i").replace("u", "ui") for factor in factors}
        turned: dict[Value, Value] = {}
        for operation in operations_in(op):
            if operation.name == "relax.einsum" and len(operation.operands) == 2:
                _turn(operation, narrow, turned)
        for weights in turned:
            if not is_used(weights.owner.operation):
                weights.owner.operation.erase()


def _turn(product: Operation, narrow: set[str], turned: dict[Value, Value]) -> None:
    """Transpose the weights of a product. `turned` holds weights with several users, which are transposed once."""
    weights = product.operands[1]
    maker = made_by(weights, "arith.constant")
    if maker is None or not _is_worth_it(product, weights, narrow):
        return
    (one, other), result = parse_subscripts(ir.StringAttr(product.attributes["subscripts"]).value)
    is_transposed = len(other) == 2 and result[-1:] == other[:1] and one[-1:] == other[1:]
    elements = stored_elements(weights) if is_transposed and other[1] not in result else None
    if elements is None:
        return
    terms = ("".join(labels) for labels in (one, other[::-1], result))
    with product.location, ir.InsertionPoint(product):
        if weights not in turned:
            with ir.InsertionPoint(maker):
                turned[weights] = constant_like(weights, elements.T)
        product.operands[1] = turned[weights]
        product.attributes["subscripts"] = ir.StringAttr.get("{},{}->{}".format(*terms))


def _is_worth_it(product: Operation, weights: Value, narrow: set[str]) -> bool:
    element, is_shared = str(weights.type.element_type), use_count(weights) != 1
    if element not in _WIDE:
        return element in narrow and not is_shared
    info = decode(product.operands[0].type)
    rows = count_of(info.shape[:-1]) if isinstance(info, TensorInfo) and info.shape else None
    return not is_shared or not isinstance(rows, int) or rows > _FEW_ROWS
