# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Primitive sample_categorical: decides for one of several numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..loops.decisions import CategoricalDecision
from ..loops.primitives import Edit, register_primitive


@register_primitive
def sample_categorical(
    edit: Edit,
    candidates: Sequence[int],
    probs: Sequence[float] | None = None,
    decision: int | None = None,
    default: int | None = None,
) -> int:
    """Decide for one of several numbers, and return it. The decision is the index of the number.

    In a rule: the decision of a search, or the default, which is the first number if there is none. Elsewhere: the
    default, or a number that is drawn by the probabilities.
    """
    if not candidates:
        edit.refuse("expected at least one number")
    if default is not None and default not in candidates:
        edit.refuse(f"the default {default} is none of the numbers {list(candidates)}")
    if probs is not None:
        _check(edit, candidates, probs)
    asked = CategoricalDecision(tuple(candidates), 0 if default is None else list(candidates).index(default), 0)
    if decision is None and edit.decider is not None:
        decision = edit.decider.take(asked, edit.refuse)
    elif decision is None and default is not None:
        decision = asked.default
    elif decision is None:
        (decision,) = edit.random.choices(range(len(candidates)), probs)
    if problem := asked.refusal(decision):
        edit.refuse(problem)
    edit.decided(decision)
    return candidates[decision]


def _check(edit: Edit, candidates: Sequence[int], probs: Sequence[float]) -> None:
    if len(probs) != len(candidates):
        edit.refuse(f"expected a probability for each of the numbers, got {len(probs)} for {len(candidates)}")
    if any(not math.isfinite(prob) or prob < 0 for prob in probs) or not sum(probs):
        edit.refuse(f"probabilities must be at least 0, and not all 0, got {list(probs)}")
