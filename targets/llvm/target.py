# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs, by LLVM's code generators."""

from __future__ import annotations

from ...passes.legalize.targets import Target

_FAMILIES = ("exponential", "logarithm", "trigonometric", "inverse", "hyperbolic", "special", "calls")

TARGET = Target(
    "llvm",
    parents=("cpu",),
    rule_modules=tuple(f"{__package__}.intrinsics_{family}" for family in _FAMILIES),
    doc="CPUs, by LLVM's code generators.",
)
