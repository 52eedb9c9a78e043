# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One permutation behind a concat in the place of one before it for each operand.

Weights of exporters are stored transposed: behind the concat that relax-combine-parallel-matmul has made there is one
transpose, which the product can read (relax-fuse-transpose-matmul).
"""

from __future__ import annotations

from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.patterns import apply_greedy
from ..dialects import relax
from ..dialects.relax.values import ints, make, normal_axis
from .canonicalize.data_movement import permutation
from .canonicalize.rules import rule
from .core.base import Pass
from .core.registry import register_pass
from .patterns.matched import Match
from .patterns.operator_patterns import every, is_op
from .patterns.tree import GraphPattern, wildcard


@register_pass
class ReorderPermuteAfterConcat(Pass):
    """Where all operands of a concat are permuted alike, what it gives is permuted instead."""

    name: ClassVar[str] = "relax-reorder-permute-after-concat"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        apply_greedy(op, PATTERNS, what=self.name)


def permute_behind(found: Match) -> Operation | None:
    """concat(permute(a), permute(b)) is permute(concat(a, b)) along the axis that went there."""
    order, *others = (permutation(each.owner) for each in found.all("permuted"))
    if order is None or any(each != order for each in others):
        return None
    joined = relax.concat(found.all("x"), axis=order[normal_axis(found.op().axis, len(order))])
    return make(found.op(), "relax.permute_dims", [joined], {"axes": ints(order)})


def _permuted() -> GraphPattern:
    """With no other user: it would be permuted twice."""
    return is_op("relax.permute_dims")(wildcard().named("x")).used_inside_only().named("permuted")


PATTERNS = [rule(is_op("relax.concat")(every(_permuted, least=2)), permute_behind)]
