# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that types do not state, and that must fit one another when an operator runs: a ValueError, as of programs."""

from __future__ import annotations


def require_same(one: int, other: int, what: str) -> None:
    if one != other:
        raise ValueError(f"{what}: sizes {one} and {other} differ")


def require_at_most(size: int, most: int, what: str) -> None:
    if size > most:
        raise ValueError(f"{what}: size {size} is larger than {most}")
