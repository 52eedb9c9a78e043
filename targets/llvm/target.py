# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPUs, by LLVM's code generators."""

from __future__ import annotations

from ..core.registry import Target
from .backend import LLVMBackend
from .objects.code_target import OPTIONS

_FAMILIES = ("exponential", "logarithm", "trigonometric", "hyperbolic", "special")

TARGET = Target(
    "llvm",
    parents=("cpu",),
    keeps_views=True,
    rule_modules=(
        *(f"{__package__}.intrinsics.{family}" for family in _FAMILIES),
        f"{__package__}.legalize_decompositions",
        f"{__package__}.legalize_linear_algebra",
        f"{__package__}.legalize_nbits",
        f"{__package__}.legalize_pages",
        f"{__package__}.legalize_winograd",
    ),
    schedule_modules=(f"{__package__}.schedule",),
    tensor_intrin_modules=(f"{__package__}.tensor_intrins",),
    doc="CPUs, by LLVM's code generators.",
    options=OPTIONS,
    backend=LLVMBackend,
)
