# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order in which three matrices are multiplied: (A @ B) @ x is A @ (B @ x), where that costs less.

Weights of a low rank beside others (LoRA) are written x @ (A @ B): of d rows and r columns, r much less than d, that
takes d*d*r for the weights and n*d*d for n rows of x, and (x @ A) @ B takes 2*n*d*r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation, OpView, Value
from ..bindings.navigation import defining_op, use_count
from ..bindings.patterns import Pattern, Rewriter, apply_greedy
from ..dialects.core.symbols import Dim, SymbolError, dim_add, equal
from ..dialects.core.work import work_of
from ..dialects.relax import dialect
from ..dialects.relax.infer.sizes import at_least
from .canonicalize.support import make, shape_of
from .core.base import Pass
from .core.registry import register_pass

relax = dialect.ops


@register_pass
@dataclass(frozen=True)
class ReorderMatmul(Pass):
    """Products of three matrices in the order of less work, where that is certain for all sizes."""

    name: ClassVar[str] = "relax-reorder-matmul"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Each application takes work away; a chain of n products is in order after n rounds.
        apply_greedy(op, [Pattern("relax.matmul", reorder)], max_iterations=_MOST_ROUNDS, what=self.name)


_MOST_ROUNDS = 64


def reorder(op: OpView, rewriter: Rewriter) -> Operation | None:
    """The other order of three factors, if it is certainly cheaper."""
    for index, inner_value in enumerate((op.x1, op.x2)):
        inner = defining_op(inner_value, "relax.matmul")
        if inner is None or not _have_own_dtype(op, inner):
            continue
        made = _left_last(op, inner) if index == 0 else _right_last(op, inner)
        if made is not None and _is_cheaper(op, inner, made, made.operands[1 - index]):
            return made
    return None


def _left_last(op: OpView, inner: OpView) -> Operation | None:
    """(A @ B) @ x as A @ (B @ x)"""
    if not _are_associative(inner.x1, inner.x2, op.x2):
        return None
    return make(op, "relax.matmul", [inner.x1, relax["matmul"](inner.x2, op.x2)])


def _right_last(op: OpView, inner: OpView) -> Operation | None:
    """x @ (A @ B) as (x @ A) @ B"""
    if not _are_associative(op.x1, inner.x1, inner.x2):
        return None
    return make(op, "relax.matmul", [relax["matmul"](op.x1, inner.x1), inner.x2])


def _have_own_dtype(*products: OpView) -> bool:
    """Whether each rounds to the element type of its operands, so that both orders do."""
    return all(each.out_dtype is None for each in products)


def _are_associative(*factors: Value) -> bool:
    """Where one is a vector, the others are single matrices: among batches it would be taken for a matrix itself."""
    ranks = [len(shape_of(each) or ()) for each in factors]
    return min(ranks) > 1 or ranks in ([1, 2, 2], [2, 2, 1])


def _is_cheaper(op: OpView, inner: OpView, made: Operation, made_inner: Value) -> bool:
    """Whether two new products cost less than those that go: the inner one stays where others use it, too."""
    goes = [op, inner] if use_count(inner.operation.results[0]) == 1 else [op]
    before, after = _flops(goes), _flops([made.opview, made_inner.owner])
    return at_least(before, after) and equal(before, after) is not True


def _flops(products: list[OpView]) -> Dim:
    total: Dim = 0
    try:
        for each in products:
            total = dim_add(total, work_of(each).flops)
    except SymbolError:  # too large an expression
        return None
    return total
