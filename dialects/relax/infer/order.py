# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be proved about the order of sizes: False means that nothing can, not that the opposite holds."""

from __future__ import annotations

from ...core.symbols import Dim, dim_add, dim_max


def at_least(one: Dim, other: Dim) -> bool:
    """Whether `one >= other` holds for all sizes."""
    return one is not None and other is not None and dim_max(one, other) == one


def exceeds(one: Dim, other: Dim) -> bool:
    """Whether `one > other` holds for all sizes."""
    return at_least(one, dim_add(other, 1))
