# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes from a gpu.module of loops, vectors and buffers to the dialects llvm and nvvm."""

from __future__ import annotations

_PASSES = (
    # Loads, copies and products of matrices by warps: reads memrefs' types, so before these become descriptors.
    "convert-nvgpu-to-nvvm",
    "convert-linalg-to-loops",
    # Transfers that are no single load or store become loops or straight code; hence before scf and memref go.
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 is computed in f32, as instructions for it are few and newer; functions of half floats, too: libdevice has
    # none for them. Half's own arithmetic stays.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types{extra-types=f64}",
    # Views become arithmetic of offsets and strides, which is affine.apply: before affine goes.
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    # Without use-vector-alignment: it is not proven that all vectors are aligned to their size, and what is not # stops
    # the device. Loads that are known to do so say it: vector.load with its alignment.
    "convert-vector-to-llvm{reassociate-fp-reductions=1}",
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}",
    # What libdevice has not, or need not have: truncation, counts of bits.
    "convert-math-to-llvm",
    "convert-index-to-llvm",
    "convert-ub-to-llvm",
    "convert-nvvm-to-llvm",
    "reconcile-unrealized-casts",
    # What is taken out of descriptors that were just made.
    "canonicalize",
    "cse",
)

#: Of a module that holds a gpu.module; what these leave is translated to PTX (objects/ptx.py).
#: Before launches become calls.
LAUNCH_PASSES: tuple[str, ...] = ("cuda-make-tensor-maps",)
DEVICE_PASSES: tuple[str, ...] = ("cuda-widen-shuffles", f"gpu.module({','.join(_PASSES)})")
