# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dialects that the MLIR wheel registers. The bindings can load one by name but not list the names."""

from __future__ import annotations

UPSTREAM_DIALECTS = tuple(
    "acc affine amdgpu arith arm_neon arm_sme arm_sve async bufferization builtin cf complex dlti emitc func gpu "
    "index irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf shape shard "
    "smt sparse_tensor spirv tensor tosa transform ub vcix vector wasmssa x86 xegpu xevm".split()
)
