# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stage of a target for mixed precision."""

from __future__ import annotations

from ....support.errors import OptionError
from ....support.suggest import suggest
from ...core.stages import Stages

#: Names of precisions for products, and their element types.
PRECISIONS = {"bf16": "bf16", "f16": "f16", "f32": ""}


def with_precision(stages: Stages, precision: str) -> Stages:
    """Return the stages with one that computes f32 products in a precision.

    The stage runs after norms are folded into weights, and before operators on constants are folded. Products of
    dequantized numbers are left to a later partition, and to the later stage `integers`.
    """
    if precision not in PRECISIONS:
        known = ", ".join(PRECISIONS)
        raise OptionError(f"precision '{precision}': expected one of {known}{suggest(precision, PRECISIONS)}")
    if not (dtype := PRECISIONS[precision]):
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
