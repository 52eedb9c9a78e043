# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference as a target: llvm's host code checks arguments and gives results, the interpreter computes these."""

from __future__ import annotations

from ...passes.core.stages import Stages
from ..core.registry import Target


def _stages(stages: Stages) -> Stages:
    """llvm's for host code; functions become calls of the interpreter where operators become calls of PrimFuncs."""
    host = stages.between(start="legalize")
    return host.replace("legalize", "reference-interpret")


TARGET = Target(
    "reference",
    parents=("llvm",),
    stages=_stages,
    doc="No code: functions are interpreted, as rx.reference does.",
)
