# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes from a gpu.module of loops, vectors and buffers to modules of the dialect spirv."""

from __future__ import annotations

from .options import DeviceLimits

_STRAIGHT = (
    "convert-linalg-to-loops",
    # Transfers that are not single loads or stores become loops or straight code.
    "convert-vector-to-scf{full-unroll=1}",
)
_SIMPLE = (
    # bf16 is computed in f32, and so are functions of half floats.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types{extra-types=f64}",
    "arith-expand{include-bf16=true}",
    # Views become arithmetic on offsets and strides in affine.apply, so it runs before the lowering of affine.
    "expand-strided-metadata",
    "lower-affine",
)


def device_passes(api: str, device: DeviceLimits, *, is_text: bool = False) -> tuple[str, ...]:
    """Return the passes on a module with a gpu.module, for a device.

    With `is_text` they produce OpenCL C, not SPIR-V.
    """
    said, subgroup = f"{{api={api}}}", f"api={api} subgroup={device.subgroup}"
    return (
        f"gpu.module({','.join(_STRAIGHT)})",
        "gpu-lower-masks",
        "spirv-lift-branches",
        "gpu.module(canonicalize)",
        f"spirv-rewrite-arithmetic{said}",
        *(() if device.is_fused else ("spirv-emulate-fma",)),
        f"gpu.module({','.join(_SIMPLE)})",
        *((f"spirv-check-types{{api={api} lacks={device.lacks}}}",) if device.lacks else ()),
        "spirv-carry-floats",
        "spirv-split-vectors",
        *(() if device.is_fused else ("spirv-hide-zeros",)),
        *(("spirv-specialize-blocks",) if api == "vulkan" else ()),
        f"spirv-take-words{said}",
        f"spirv-lower-memory{said}",
        f"spirv-lower-threads{{{subgroup} most={device.threads}}}",
        "gpu.module(canonicalize,cse)",
        "opencl-write-kernels" if is_text else f"spirv-convert{{{subgroup} version={device.version}}}",
    )
