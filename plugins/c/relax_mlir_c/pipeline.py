# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages from a graph to loops over memory that C can express."""

from __future__ import annotations

from relax_mlir.passes.core.stages import Stage
from relax_mlir.targets.core import common_stages as common

# Half floats are computed as float, which C has.
_IN_C = (
    "linalg-generalize-named-ops",
    "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "convert-linalg-to-loops",
    "lower-affine",
)


def stages(options: str) -> tuple[Stage, ...]:
    """Return the stages for a target with options, such as {loops=plain}."""
    return (
        Stage(
            "integers",
            ("relax-requantize{recipe=c}", "relax-propagate-quantization"),
            "computes quantized layers on integers, by the recipe of integer_recipe.py",
            level=2,
        ),
        common.SIMPLIFY,
        common.NORMS,
        common.products(),
        Stage(
            "layouts",
            ("relax-convert-layout{desired=relax.nn.conv2d:NHWC:HWIO}", "relax-canonicalize"),
            "makes channels of convolutions contiguous, for vectorization by C compilers",
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
            "plans loops by the rules of derived targets: memories, copies, instructions",
        ).with_options(options),
        Stage(
            "apply",
            ("tir-apply-schedule{target=@target vectors=false steps=true}",),
            "applies schedules, or else the target's steps; C compilers vectorize the loops",
            verify="end",
        ).with_options(options),
        common.bufferize(),
        common.SMALL_TYPES,
        Stage(
            "loops",
            (f"func.func({','.join(_IN_C)})",),
            "lowers all other operations to what C can express",
            verify="end",
        ),
    )
