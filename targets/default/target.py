# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The target on which every other falls back."""

from __future__ import annotations

from ...passes.legalize.targets import DEFAULT, Target

_FAMILIES = ("", "_representation", "_integer", "_loops")

_OPERATORS = ("activation", "elementwise")

TARGET = Target(
    DEFAULT,
    rule_modules=(
        *(f"{__package__}.intrinsics{family}" for family in _FAMILIES),
        *(f"{__package__}.legalize_{family}" for family in _OPERATORS),
    ),
    doc="Rules that are right everywhere.",
)
