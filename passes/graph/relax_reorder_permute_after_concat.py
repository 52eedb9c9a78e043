# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacement of permutations before a concat by one permutation after it.

Exporters store weights transposed. After relax-combine-parallel-matmul has joined the weights there is one transpose
behind the concat, and the product can read the transposed operand (relax-fuse-transpose-matmul).
"""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.patterns import apply_greedy
from ...dialects import relax
from ...dialects.relax.values import ints, make, normal_axis
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import every, is_op
from ..patterns.tree import GraphPattern, wildcard
from .canonicalize.data_movement import permutation
from .canonicalize.rules import rule


@register_pass
class ReorderPermuteAfterConcat(Pass):
    """Permute the result of a concat if all of its operands are permuted alike."""

    name: ClassVar[str] = "relax-reorder-permute-after-concat"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        apply_greedy(op, PATTERNS, what=self.name)


def permute_behind(match: Match) -> Operation | None:
    """Rewrite concat(permute(a), permute(b)) to permute(concat(a, b)), with the axis mapped through the permutation."""
    order, *others = (permutation(each.owner) for each in match.all("permuted"))
    if order is None or any(each != order for each in others):
        return None
    joined = relax.concat(match.all("x"), axis=order[normal_axis(match.op().axis, len(order))])
    return make(match.op(), "relax.permute_dims", [joined], {"axes": ints(order)})


def _permute_pattern() -> GraphPattern:
    """Match a permutation without users outside the match. Otherwise the tensor would be permuted twice."""
    return is_op("relax.permute_dims")(wildcard().named("x")).used_inside_only().named("permuted")


PATTERNS = [rule(is_op("relax.concat")(every(_permute_pattern, least=2)), permute_behind)]
