# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The stages from a graph to loops over memory that C can say."""

from __future__ import annotations

from ...passes.core.stages import Stage
from ..core.code import stages_of

#: What CPUs' code has in common, up to functions over memory. Loops are not planned: compilers of C do that.
_COMMON = ("simplify", "norms", "products", "fold", "legalize", "fuse", "intrinsics", "bufferize", "small-types")

# Halves are computed as float, which C has.
_IN_C = (
    "linalg-generalize-named-ops",
    "arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "lower-affine",
)

_LAYOUTS = Stage(
    "layouts",
    ("relax-convert-layout{desired=relax.nn.conv2d:NHWC:HWIO}", "relax-canonicalize"),
    "convolutions have their channels side by side, which compilers make vectors of",
    verify="end",
    level=2,
)
_LOOPS = Stage("loops", (f"func.func({','.join(_IN_C)})",), "what is computed is what C computes", verify="end")


def stages() -> tuple[Stage, ...]:
    """CPUs', as far as they go together, with layouts before constants are folded, and the last one."""
    common = [stage for stage in stages_of("llvm", 3) if stage.name in _COMMON]
    place = [stage.name for stage in common].index("fold")
    return (*common[:place], _LAYOUTS, *common[place:], _LOOPS)
