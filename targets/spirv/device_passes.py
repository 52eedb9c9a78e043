# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes from a gpu.module of loops, vectors and buffers to modules of the dialect spirv."""

from __future__ import annotations

_STRAIGHT = (
    "convert-linalg-to-loops",
    # Transfers that are no single load or store become loops or straight code.
    "convert-vector-to-scf{full-unroll=1}",
)
_SIMPLE = (
    # bf16 is computed in f32; functions of half floats, too.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types{extra-types=f64}",
    "arith-expand{include-bf16=true}",
    # Views become arithmetic of offsets and strides, which is affine.apply: before affine goes.
    "expand-strided-metadata",
    "lower-affine",
)


def device_passes(api: str, subgroup: int, *, is_fused: bool = True) -> tuple[str, ...]:
    """Of a module that holds a gpu.module. `is_fused`: whether the device rounds x * y + z once."""
    said = f"{{api={api}}}"
    return (
        f"gpu.module({','.join(_STRAIGHT)})",
        "spirv-lift-branches",
        "gpu.module(canonicalize)",
        f"spirv-rewrite-arithmetic{said}",
        *(() if is_fused else ("spirv-emulate-fma",)),
        f"gpu.module({','.join(_SIMPLE)})",
        "spirv-carry-floats",
        "spirv-split-vectors",
        f"spirv-take-words{said}",
        f"spirv-lower-memory{said}",
        f"spirv-lower-threads{{api={api} subgroup={subgroup}}}",
        "gpu.module(canonicalize,cse)",
        f"spirv-convert{{api={api} subgroup={subgroup}}}",
    )
