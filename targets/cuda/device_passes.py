# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes from a gpu.module of loops, vectors and buffers to the dialects llvm and nvvm."""

from __future__ import annotations

_PASSES = (
    # Loads, copies and products of matrices by warps. It reads memref types, so it runs before these become
    # descriptors.
    "convert-nvgpu-to-nvvm",
    "convert-linalg-to-loops",
    # Transfers that are not single loads or stores become loops or straight code, so it runs before the lowering of scf
    # and memref.
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 is computed in f32, because its instructions are few and newer. Functions of half floats are computed in f32,
    # too, because libdevice has none. Arithmetic of half floats stays.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types{extra-types=f64}",
    # Views become arithmetic on offsets and strides in affine.apply, so it runs before the lowering of affine.
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    # Without use-vector-alignment: not all vectors are proven to be aligned to their size, and unaligned accesses stop
    # the device. Loads of known alignment state it as an attribute of vector.load.
    "convert-vector-to-llvm{reassociate-fp-reductions=1}",
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}",
    # Functions that libdevice lacks or does not need: truncation and bit counts.
    "convert-math-to-llvm",
    "convert-index-to-llvm",
    "convert-ub-to-llvm",
    "convert-nvvm-to-llvm",
    "reconcile-unrealized-casts",
    # Removes extractions from descriptors that were just built.
    "canonicalize",
    "cse",
)

#: Passes on a module with a gpu.module, before launches become calls. Their output is translated to PTX
#: (objects/ptx.py).
LAUNCH_PASSES: tuple[str, ...] = ("cuda-make-tensor-maps",)
DEVICE_PASSES: tuple[str, ...] = ("cuda-widen-shuffles", f"gpu.module({','.join(_PASSES)})")
