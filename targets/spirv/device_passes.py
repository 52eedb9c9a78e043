# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes from a gpu.module of loops, vectors and buffers to modules of the dialect spirv."""

from __future__ import annotations

from .options import DeviceLimits

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


def device_passes(api: str, device: DeviceLimits, *, is_text: bool = False) -> tuple[str, ...]:
    """Of a module that holds a gpu.module, for a device of that interface; `is_text`: in OpenCL C, not in SPIR-V."""
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
