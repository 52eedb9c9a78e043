# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A precision among the stages of a target."""

from __future__ import annotations

from ...support.errors import OptionError
from ...support.suggest import suggest
from ..core.stages import Stages

#: What products may be computed in, and the type of it.
PRECISIONS = {"bf16": "bf16", "f16": "f16", "f32": ""}


def with_precision(stages: Stages, precision: str) -> Stages:
    """The stages, with one that computes f32's products in a precision: when norms have gone into weights, before what
    operators make of constants is computed. Products of dequantized numbers are left to a partition that comes behind,
    and to the stage `integers`, which comes behind that."""
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise OptionError(f"precision '{precision}': expected one of {known}{suggest(precision, PRECISIONS)}")
    dtype = PRECISIONS[precision]
    if not dtype:
        return stages
    place = "fold" if "fold" in stages.names else "legalize"
    passes = [f"relax-to-mixed-precision{{dtype={dtype}}}", "relax-round-once", "relax-canonicalize"]
    if {"partition", "integers"}.intersection(stages.between(start=place).names):
        passes = [
            f"relax-to-mixed-precision{{dtype={dtype} keep-quantized=true}}",
            "relax-round-once",
            "relax-canonicalize{keep-quantized=true}",
        ]
    return stages.insert_before(place, "precision", passes)
