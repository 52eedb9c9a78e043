# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_categorical: draws one of several numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relax_mlir.primitives import Edit
from relax_mlir.schedules import register_primitive


@register_primitive
def sample_categorical(
    edit: Edit, candidates: Sequence[int], probs: Sequence[float], decision: int | None = None
) -> int:
    """Draw one of several numbers by their probabilities. The decision is the index of the number."""
    if not candidates or len(probs) != len(candidates):
        edit.refuse(f"expected a probability for each of the numbers, got {len(probs)} for {len(candidates)}")
    if any(not math.isfinite(each) or each < 0 for each in probs) or not sum(probs):
        edit.refuse(f"probabilities must be at least 0, and not all 0, got {list(probs)}")
    if decision is None:
        (decision,) = edit.random.choices(range(len(candidates)), probs)
    if not 0 <= decision < len(candidates):
        edit.refuse(f"the decision {decision} is none of the {len(candidates)} numbers")
    edit.decided(decision)
    return candidates[decision]
