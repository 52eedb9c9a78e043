# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to loops over memory that C can say."""

from __future__ import annotations

from ...passes.core.stages import Stage
from ..core import common_stages as common

# Halves are computed as float, which C has.
_IN_C = (
    "linalg-generalize-named-ops",
    "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "convert-linalg-to-loops",
    "lower-affine",
)


def stages(options: str) -> tuple[Stage, ...]:
    """For a target with options, {loops=plain}."""
    return (
        common.SIMPLIFY,
        common.NORMS,
        common.products(),
        Stage(
            "layouts",
            ("relax-convert-layout{desired=relax.nn.conv2d:NHWC:HWIO}", "relax-canonicalize"),
            "the channels of convolutions are adjacent, which compilers make vectors of",
            verify="end",
            level=2,
        ),
        common.FOLD,
        common.LEGALIZE,
        common.fuse(),
        common.INTRINSICS,
        common.open_stage(
            "plan",
            ("tir-simplify-indices", "tir-plan{target=@target vectors=false}"),
            "rules of targets whose C this is choose how loops run: by their memories, copies and instructions",
        ).with_options(options),
        Stage(
            "apply",
            ("tir-apply-schedule{target=@target vectors=false steps=true}",),
            "loops run as schedules say, else as the target's steps do; compilers make vectors of them",
            verify="end",
        ).with_options(options),
        common.bufferize(),
        common.SMALL_TYPES,
        Stage("loops", (f"func.func({','.join(_IN_C)})",), "what is computed is what C computes", verify="end"),
    )
