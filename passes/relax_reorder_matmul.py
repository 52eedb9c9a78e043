# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix chain reassociation: (A @ B) @ x is A @ (B @ x), where that costs less.

Weights of a low rank in addition to others (LoRA) are written x @ (A @ B): of d rows and r columns, r much less than d,
that takes d*d*r for the weights and n*d*d for n rows of x, and (x @ A) @ B takes 2*n*d*r.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..bindings.ir import Operation, Value
from ..bindings.navigation import use_count
from ..bindings.patterns import apply_greedy
from ..dialects import relax
from ..dialects.core.symbols import Dim, SymbolError, dim_add, equal
from ..dialects.core.work import work_of
from ..dialects.relax.infer.sizes import at_least
from ..dialects.relax.values import make, shape_of
from .core.base import Pass
from .core.registry import register_pass
from .patterns.matched import Match
from .patterns.operator_patterns import is_op
from .patterns.rewrite import rewrite
from .patterns.tree import wildcard


@register_pass
class ReorderMatmul(Pass):
    """Products of three matrices in the order of less work, where that is certain for all sizes."""

    name: ClassVar[str] = "relax-reorder-matmul"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Each application takes work away; a chain of n products is in order after n rounds.
        apply_greedy(op, PATTERNS, max_iterations=_MOST_ROUNDS, what=self.name)


_MOST_ROUNDS = 64


def _reordered(found: Match, first: int) -> Operation | None:
    """The product of three factors, of which the one with this number is multiplied by the next one first, if that is
    certainly cheaper. The inner product that was there stays where others use it, too.
    """
    factors = [found[name] for name in "abc"]
    if not _are_associative(*factors):
        return None
    inner = relax.matmul(*factors[first : first + 2])
    factors[first : first + 2] = [inner]
    made = make(found.root.opview, "relax.matmul", factors)
    if made is None:
        return None
    before = _flops(found.operations if use_count(found["inner"]) == 1 else [found.root])
    after = _flops([inner.owner.operation, made])
    return made if at_least(before, after) and equal(before, after) is not True else None


_A, _B, _C = (wildcard().named(name) for name in "abc")
# Each rounds to the element type of its operands, so that both orders do.
_MATMUL = is_op("relax.matmul").has_attr(out_dtype=None)
PATTERNS = (
    rewrite(_MATMUL(_MATMUL(_A, _B).named("inner"), _C), lambda found: _reordered(found, 1), name="right_first"),
    rewrite(_MATMUL(_A, _MATMUL(_B, _C).named("inner")), lambda found: _reordered(found, 0), name="left_first"),
)


def _are_associative(*factors: Value) -> bool:
    """Where one is a vector, the others are single matrices: among batches it would be taken for a matrix itself."""
    ranks = [len(shape_of(each) or ()) for each in factors]
    return min(ranks) > 1 or ranks in ([1, 2, 2], [2, 2, 1])


def _flops(products: Sequence[Operation]) -> Dim:
    total: Dim = 0
    try:
        for each in products:
            total = dim_add(total, work_of(each.opview).flops)
    except SymbolError:  # too large an expression
        return None
    return total
