# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order in which three matrices are multiplied: (A @ B) @ x is A @ (B @ x), where that costs less.

Weights of a low rank beside others (LoRA) are written x @ (A @ B): of d rows and r columns, r much less than d, that
takes d*d*r for the weights and n*d*d for n rows of x, and (x @ A) @ B takes 2*n*d*r.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation, OpView, Value
from ..bindings.patterns import apply_greedy
from ..dialects.core.symbols import Dim, SymbolError, dim_add, equal
from ..dialects.core.work import work_of
from ..dialects.relax import dialect
from ..dialects.relax.infer.sizes import at_least
from .canonicalize.support import make, shape_of
from .core.base import Pass
from .core.registry import register_pass
from .patterns.match import Match
from .patterns.operators import is_op
from .patterns.rewrite import rewrite
from .patterns.tree import wildcard

relax = dialect.ops


@register_pass
@dataclass(frozen=True)
class ReorderMatmul(Pass):
    """Products of three matrices in the order of less work, where that is certain for all sizes."""

    name: ClassVar[str] = "relax-reorder-matmul"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Each application takes work away; a chain of n products is in order after n rounds.
        apply_greedy(op, PATTERNS, max_iterations=_MOST_ROUNDS, what=self.name)


_MOST_ROUNDS = 64


def _right_first(found: Match) -> Operation | None:
    """(A @ B) @ C as A @ (B @ C)"""
    return _reordered(found, lambda a, b, c: (a, relax["matmul"](b, c)))


def _left_first(found: Match) -> Operation | None:
    """A @ (B @ C) as (A @ B) @ C"""
    return _reordered(found, lambda a, b, c: (relax["matmul"](a, b), c))


_A, _B, _C = (wildcard().named(name) for name in "abc")
# Each rounds to the element type of its operands, so that both orders do.
_MATMUL = is_op("relax.matmul").has_attr(out_dtype=None)
PATTERNS = (
    rewrite(_MATMUL(_MATMUL(_A, _B).named("inner"), _C), _right_first),
    rewrite(_MATMUL(_A, _MATMUL(_B, _C).named("inner")), _left_first),
)


def _reordered(found: Match, order: Callable[[Value, Value, Value], tuple[Value, Value]]) -> Operation | None:
    """The product of what `order` makes of the three factors, if it is certainly cheaper."""
    factors = found["a"], found["b"], found["c"]
    if not _are_associative(*factors):
        return None
    operands = order(*factors)
    made = make(found.root.opview, "relax.matmul", operands)
    (inner,) = (each.owner for each in operands if each not in factors)
    return made if made is not None and _is_cheaper(found, made.opview, inner) else None


def _are_associative(*factors: Value) -> bool:
    """Where one is a vector, the others are single matrices: among batches it would be taken for a matrix itself."""
    ranks = [len(shape_of(each) or ()) for each in factors]
    return min(ranks) > 1 or ranks in ([1, 2, 2], [2, 2, 1])


def _is_cheaper(found: Match, *made: OpView) -> bool:
    """Whether two new products cost less than those that go: the inner one stays where others use it, too."""
    is_shared = found.is_used_outside(found["inner"])
    before = _flops([op.opview for op in ([found.root] if is_shared else found.operations)])
    after = _flops(made)
    return at_least(before, after) and equal(before, after) is not True


def _flops(products: Sequence[OpView]) -> Dim:
    total: Dim = 0
    try:
        for each in products:
            total = dim_add(total, work_of(each).flops)
    except SymbolError:  # too large an expression
        return None
    return total
