# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operand types of matrix multiply-accumulate instructions, and their match with a reduction's body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.navigation import users_of
from ....bindings.rewriting import Decline
from ....emit.combiner import combiners
from ....emit.structured import StructuredOp
from .dequantized_operand import factor_of


class Factors(NamedTuple):
    """Element types of an instruction's factors and sums, and the operations that widen the factors in a body."""

    factor: str
    total: str
    widenings: tuple[str, ...]


def factors_of(op: StructuredOp, inputs: Sequence[int], kinds: Sequence[Factors]) -> Factors:
    """Return the entry of `kinds` that matches the product of two inputs in the body. Raises Decline if none does."""
    (combiner,) = combiners(op)
    factors = [factor_of(op, operand) for operand in inputs]
    types = sorted({str(factor.type) for factor in factors})
    names = {user.name for factor in factors for user in users_of(factor)}
    for kind in kinds:
        if types == [kind.factor] and names.issubset(kind.widenings) and str(combiner.element) == kind.total:
            return kind
    raise Decline(f"no instruction sums products of {' and '.join(types)} in {combiner.element}")
