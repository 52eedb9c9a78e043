# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold between operands' sizes that only the run tells, so that no loop leaves a buffer.

They take tensors and memrefs, and make no code where both sizes are numbers that fit.
"""

from __future__ import annotations

import operator
from typing import Any

from . import loops, scalar

Size = Any
_HOLDS = {"==": operator.eq, "<=": operator.le}


def require_same(one: Size, other: Size, what: str) -> None:
    """Raises ValueError where two sizes differ."""
    _require("==", one, other, f"{what}: sizes {{}} and {{}} differ")


def require_at_most(one: Size, other: Size, what: str) -> None:
    """Raises ValueError where one size is larger than another."""
    _require("<=", one, other, f"{what}: size {{}} is larger than {{}}")


def _require(sign: str, one: Size, other: Size, message: str) -> None:
    if isinstance(one, int) and isinstance(other, int) and _HOLDS[sign](one, other):
        return
    left, right = loops.index(one), loops.index(other)
    loops.require(scalar.compare(sign, left, right, "index"), "ValueError", message, left, right)
