# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From loops, vectors and memrefs to the LLVM dialect: upstream passes, in the order in which they are right."""

from __future__ import annotations

# Function by function as far as that goes: a function stays in the cache for all of its passes, a module does not.
_FROM_VECTORS = (
    # Vectors first: this needs the regions of vector.mask gone, and makes loops or straight code of transfers that are
    # no single load or store (of rank 2 and more, transposing); hence before scf and memref go.
    "lower-vector-mask",
    "lower-vector-multi-reduction{lowering-strategy=inner-parallel}",
    "convert-vector-to-scf{full-unroll=1}",
    # bf16 and float8 have no arithmetic of their own: computed in f32, converted by integer operations, because what
    # LLVM makes of the conversions are calls into compiler-rt, which nobody links.
    "arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}",
    "math-extend-to-supported-types",
    "arith-expand{include-bf16=1}",
    # Views become arithmetic of offsets and strides, which is affine.apply: before affine goes.
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    # Without an order that is asked for, LLVM sums a vector's lanes one after the other.
    "convert-vector-to-llvm{reassociate-fp-reductions=1}",
    # What is an LLVM intrinsic first; the rest of math is a call of the C library, lane by lane.
    "convert-math-to-llvm",
)
_SCALARS = ("convert-ub-to-llvm", "convert-index-to-llvm", "convert-arith-to-llvm")

#: After bufferization and convert-linalg-to-loops; right for generated, scheduled and hand-written functions alike.
TO_LLVM: tuple[str, ...] = (
    f"func.func({','.join(_FROM_VECTORS)})",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    f"func.func({','.join(_SCALARS)})",
    "convert-func-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
    # What is taken out of descriptors that were just made: a third of a graph's operations.
    "llvm.func(canonicalize{max-iterations=1 region-simplify=disabled})",
)
