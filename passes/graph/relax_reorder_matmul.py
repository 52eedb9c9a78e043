# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix chain reassociation: (A @ B) @ x becomes A @ (B @ x) if that costs less.

Low-rank updates of weights (LoRA) are written x @ (A @ B). For d rows and r columns, with r much less than d, that
takes d*d*r operations for the weights and n*d*d for n rows of x. (x @ A) @ B takes 2*n*d*r.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.navigation import use_count
from ...bindings.patterns import apply_greedy
from ...dialects import relax
from ...dialects.core.symbols import Dim, SymbolError, dim_add, equal
from ...dialects.core.work import work_of
from ...dialects.relax.infer.sizes import at_least
from ...dialects.relax.values import make, shape_of
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from ..patterns.rewrite import rewrite
from ..patterns.tree import wildcard


@register_pass
class ReorderMatmul(Pass):
    """Multiply three matrices in the order of least work, if that order is certain for all sizes."""

    name: ClassVar[str] = "relax-reorder-matmul"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Each application reduces the work. A chain of n products is in order after n rounds.
        apply_greedy(op, PATTERNS, max_iterations=_MOST_ROUNDS, what=self.name)


_MOST_ROUNDS = 64


def _reorder(match: Match, first: int) -> Operation | None:
    """Multiply factor `first` by the next one before the third factor, if that is certainly cheaper.

    The previous inner product stays if it has other users.
    """
    factors = [match[name] for name in "abc"]
    if not _are_associative(*factors):
        return None
    inner = relax.matmul(*factors[first : first + 2])
    factors[first : first + 2] = [inner]
    if (made := make(match.root.opview, "relax.matmul", factors)) is None:
        return None
    before = _flops(match.operations if use_count(match["inner"]) == 1 else [match.root])
    after = _flops([inner.owner.operation, made])
    return made if at_least(before, after) and equal(before, after) is not True else None


_A, _B, _C = (wildcard().named(name) for name in "abc")
# Both products round to the element type of their operands, in either order.
_MATMUL = is_op("relax.matmul").has_attr(out_dtype=None)
PATTERNS = (
    rewrite(_MATMUL(_MATMUL(_A, _B).named("inner"), _C), lambda found: _reorder(found, 1), name="right_first"),
    rewrite(_MATMUL(_A, _MATMUL(_B, _C).named("inner")), lambda found: _reorder(found, 0), name="left_first"),
)


def _are_associative(*factors: Value) -> bool:
    """Check whether the factors associate. Next to a vector only single matrices do.

    matmul reads a vector next to a batch as a matrix.
    """
    ranks = [len(shape_of(factor) or ()) for factor in factors]
    return min(ranks) > 1 or ranks in ([1, 2, 2], [2, 2, 1])


def _flops(products: Sequence[Operation]) -> Dim:
    total: Dim = 0
    try:
        for product in products:
            total = dim_add(total, work_of(product.opview).flops)
    except SymbolError:  # too large an expression
        return None
    return total
