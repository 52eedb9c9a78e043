# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One permutation behind a concat in the place of one before it for each operand.

Weights of exporters are stored transposed: behind the concat that relax-combine-parallel-matmul has made there is one
transpose, which the product can read (relax-fuse-transpose-matmul).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation, OpView
from ..bindings.navigation import defining_op, users_of
from ..bindings.patterns import Pattern, Rewriter, apply_greedy
from ..dialects.relax import dialect
from .canonicalize.reshaping import permutation
from .canonicalize.support import ints, make, normal_axis
from .core.base import Pass
from .core.registry import register_pass

relax = dialect.ops


@register_pass
@dataclass(frozen=True)
class ReorderPermuteAfterConcat(Pass):
    """Where all operands of a concat are permuted alike, what it gives is permuted instead."""

    name: ClassVar[str] = "relax-reorder-permute-after-concat"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        apply_greedy(op, [Pattern("relax.concat", permute_behind, only_after=("relax.permute_dims",))], what=self.name)


def permute_behind(op: OpView, rewriter: Rewriter) -> Operation | None:
    """concat(permute(a), permute(b)) is permute(concat(a, b)) along the axis that went there."""
    permutes = [defining_op(tensor, "relax.permute_dims") for tensor in op.tensors]
    if len(permutes) < 2 or not all(each is not None and _is_for(each, op) for each in permutes):
        return None
    orders = [permutation(each) for each in permutes if each is not None]
    order = orders[0]
    if order is None or any(each != order for each in orders):
        return None
    sources = [each.x for each in permutes if each is not None]
    joined = relax["concat"](sources, axis=order[normal_axis(op.axis, len(order))])
    return make(op, "relax.permute_dims", [joined], {"axes": ints(order)})


def _is_for(permute: OpView, concat: OpView) -> bool:
    """Whether nobody else uses what is permuted: it would be permuted twice."""
    return all(user == concat.operation for user in users_of(permute.operation.results[0]))
