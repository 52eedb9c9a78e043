# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_categorical: one of some numbers, drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..loops.primitives import Edit, register_primitive


@register_primitive
def sample_categorical(
    edit: Edit, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
) -> int:
    """Draws one of some numbers, each with its probability; the decision is which of them."""
    if not candidates or len(probs) != len(candidates):
        edit.refuse(f"expected a probability for each of the numbers, got {len(probs)} for {len(candidates)}")
    if any(not math.isfinite(each) or each < 0 for each in probs) or not sum(probs):
        edit.refuse(f"probabilities are numbers of 0 or more, not all 0, got {list(probs)}")
    if decision is None:
        (decision,) = edit.random.choices(range(len(candidates)), probs)
    if not 0 <= decision < len(candidates):
        edit.refuse(f"the decision {decision} is none of the {len(candidates)} numbers")
    edit.decided(decision)
    return candidates[decision]
