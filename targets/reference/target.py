# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target reference: llvm's host code checks arguments and returns results, and the interpreter computes them."""

from __future__ import annotations

from ...passes.core.stages import Stages
from ..core.registry import Target


def _stages(stages: Stages) -> Stages:
    """Return llvm's stages for host code. Instead of legalization, functions become calls of the interpreter."""
    host = stages.between(start="legalize")
    return host.replace("legalize", "reference-interpret")


TARGET = Target(
    "reference",
    parents=("llvm",),
    stages=_stages,
    doc="Interpreter of functions, like rx.reference, without code generation.",
)
