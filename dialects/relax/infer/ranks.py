# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks that an operator needs of its operands."""

from __future__ import annotations

from ...core.opdef import Call


def check_rank(call: Call, name: str, *allowed: int) -> None:
    """Refuses a tensor operand whose rank is known and not allowed."""
    rank = call.operands[name].rank
    if rank is not None and allowed and rank not in allowed:
        raise call.fail(f"{call.describe(name)} must be {_expected(allowed)}, but is {rank}-D")


def _expected(allowed: tuple[int, ...]) -> str:
    return " or ".join(f"{rank}-D" for rank in allowed)


def check_min_rank(call: Call, name: str, least: int) -> None:
    """Refuses a tensor operand whose rank is known and smaller."""
    rank = call.operands[name].rank
    if rank is not None and rank < least:
        raise call.fail(f"{call.describe(name)} must be at least {least}-D, but is {rank}-D")
