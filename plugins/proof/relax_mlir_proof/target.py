# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target reference: llvm's host code checks arguments and returns results, and the interpreter computes them."""

from __future__ import annotations

from relax_mlir.passes.core.stages import Stages
from relax_mlir.targets.core.registry import Target, register_target


def _stages(stages: Stages) -> Stages:
    """Return llvm's stages for host code. Instead of legalization, functions become calls of the interpreter."""
    return stages.between(start="legalize").replace("legalize", "reference-interpret")


TARGET = register_target(
    Target(
        "reference", parents=("llvm",), stages=_stages, doc="Interpreter like rx.reference, without code generation."
    )
)
