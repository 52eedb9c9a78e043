# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule=threads=true --print-script | FileCheck %s
"""sch.storage_align in a kernel: columns of "shared" memory in different banks."""

from relax_mlir.script import tir as T


@T.prim_func
def transposed(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(32, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj, vi]


transposed = """
on transposed: C(i, j)
  A_shared = sch.cache_read(C, 0, "shared")
  sch.storage_align(A_shared, 0, -2, 32, 1)
  i_0, i_1 = sch.split(i, [None, 16])
  j_0, j_1 = sch.split(j, [None, 16])
  sch.reorder(i_0, j_0, i_1, j_1)
  sch.bind(i_0, "blockIdx.y")
  sch.bind(j_0, "blockIdx.x")
  sch.bind(i_1, "threadIdx.y")
  sch.bind(j_1, "threadIdx.x")
  sch.compute_at(A_shared, j_0)
  i_0, j_0, ax0, ax1 = sch.get_loops(A_shared)
  sch.bind(ax0, "threadIdx.y")
  sch.bind(ax1, "threadIdx.x")
CHECK-LABEL: def transposed(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 256}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloc(T.Buffer((16, 33), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             v1 = arith.remui(arg0, 2)
CHECK-NEXT:             v2 = arith.divui(arg0, 2)
CHECK-NEXT:             v3 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v4 = arith.remui(v3, 16)
CHECK-NEXT:             v5 = arith.divui(v3, 16)
CHECK-NEXT:             v6 = arith.remui(v5, 16)
CHECK-NEXT:             v7 = arith.divui(v5, 16)
CHECK-NEXT:             v8 = v1 * 16
CHECK-NEXT:             v9 = v6 + v8
CHECK-NEXT:             v10 = v2 * 16
CHECK-NEXT:             v0[v6, v4] = A[v9, v4 + v10]
CHECK-NEXT:             gpu.barrier(scope=I.attr("#gpu.barrier_scope<workgroup>"))
CHECK-NEXT:             C[v10 + v6, v8 + v4] = v0[v4, v6]
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
