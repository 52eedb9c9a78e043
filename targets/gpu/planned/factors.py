# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an instruction that multiplies tiles takes, and whether it is what a body multiplies and adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.navigation import users_of
from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from .made import factor_of


class Factors(NamedTuple):
    """What an instruction multiplies and adds, and what a body widens the factors with."""

    factor: str
    total: str
    widenings: tuple[str, ...]


def factors_of(op: StructuredOp, inputs: Sequence[int], kinds: Sequence[Factors]) -> Factors:
    """What of `kinds` the body multiplies of two inputs and adds. Raises Decline where none is."""
    (combiner,) = combiners(op)
    factors = [factor_of(op, operand) for operand in inputs]
    types = sorted({str(factor.type) for factor in factors})
    names = {user.name for factor in factors for user in users_of(factor)}
    for kind in kinds:
        if types == [kind.factor] and names.issubset(kind.widenings) and str(combiner.element) == kind.total:
            return kind
    raise Decline(f"no instruction sums products of {' and '.join(types)} in {combiner.element}")
