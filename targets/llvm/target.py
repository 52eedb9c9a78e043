# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs, by LLVM's code generators."""

from __future__ import annotations

from ...passes.lower_calls.plan import VIEWS
from ..core.registry import Target
from .backend import LLVMBackend
from .objects.code_target import OPTIONS

_FAMILIES = ("exponential", "logarithm", "trigonometric", "inverse", "hyperbolic", "special", "calls")

TARGET = Target(
    "llvm",
    parents=("cpu",),
    # The same memory under another shape: no kernel.
    legal=VIEWS - {"relax.match_cast"},
    rule_modules=tuple(f"{__package__}.intrinsics.{family}" for family in _FAMILIES),
    schedule_modules=(f"{__package__}.schedule",),
    doc="CPUs, by LLVM's code generators.",
    options=OPTIONS,
    backend=LLVMBackend,
)
