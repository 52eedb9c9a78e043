# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users of passes and rules import: with this project's targets known, which passes name in their options."""

from __future__ import annotations

from . import targets  # noqa: F401  # importing the package makes its targets known
from .bindings.rewriting import Decline
from .emit.numbers import number, select
from .passes.core.pipeline import Pipeline
from .passes.intrinsics.registry import (
    all_intrinsic_rules,
    register_legalize_intrinsic,
    register_lower_intrinsic,
)
from .passes.legalize.rules import all_rules, register_legalize
from .passes.relax_legalize_ops import LegalizeOps
from .targets.core.registry import Target, all_targets, find_target, register_target

__all__ = [
    "Decline",
    "LegalizeOps",
    "Pipeline",
    "Target",
    "all_intrinsic_rules",
    "all_rules",
    "all_targets",
    "find_target",
    "number",
    "register_legalize",
    "register_legalize_intrinsic",
    "register_lower_intrinsic",
    "register_target",
    "select",
]
