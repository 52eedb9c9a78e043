# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule=threads=true --print-script | FileCheck %s
"""sch.bind for targets with threads: nests with bound loops become kernels."""

from relax_mlir.script import tir as T


@T.prim_func
def blocks_of_threads(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]


blocks_of_threads = """
on blocks_of_threads: B(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
CHECK-LABEL: def blocks_of_threads(
CHECK:     with scf.for_(T.index(0), T.index(16), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 16}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v1 = arith.remui(v0, 16)
CHECK-NEXT:             v2 = arith.divui(v0, 16)
CHECK-NEXT:             v3 = A[arg0, v1]
CHECK-NEXT:             B[arg0, v1] = v3 * v3
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def several_axes(A: T.Buffer((4, 6, 8), "float32"), B: T.Buffer((4, 6, 8), "float32")):
    for i, j, k in T.grid(4, 6, 8):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * A[vi, vj, vk]


several_axes = """
on several_axes: B(i, j, k)
  sch.bind(i, "blockIdx.y")
  sch.bind(j, "blockIdx.x")
  a, b = sch.split(k, [None, 4])
  sch.bind(a, "threadIdx.y")
  sch.bind(b, "threadIdx.x")
CHECK-LABEL: def several_axes(
CHECK:     with scf.for_(T.index(0), T.index(24), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 8}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = arith.remui(arg0, 6)
CHECK-NEXT:             v1 = arith.divui(arg0, 6)
CHECK-NEXT:             v2 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v3 = arith.remui(v2, 4)
CHECK-NEXT:             v4 = arith.divui(v2, 4)
CHECK-NEXT:             v5 = arith.remui(v4, 2)
CHECK-NEXT:             v6 = arith.divui(v4, 2)
CHECK-NEXT:             v7 = v5 * 4 + v3
CHECK-NEXT:             v8 = A[v1, v0, v7]
CHECK-NEXT:             B[v1, v0, v7] = v8 * v8
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def shared_by_threads(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, 7 - vj] + T.float32(1)


shared_by_threads = """
# Threads wait until shared values are complete.
on shared_by_threads: B C(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
  sch.set_scope(B, 0, "shared")
  sch.compute_at(B, i)
  i, ax = sch.get_loops(B)
  sch.bind(ax, "threadIdx.x")
CHECK-LABEL: def shared_by_threads(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 8}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloc(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             v1 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v2 = arith.remui(v1, 8)
CHECK-NEXT:             v3 = arith.divui(v1, 8)
CHECK-NEXT:             v4 = A[arg0, v2]
CHECK-NEXT:             v0[0, v2] = v4 * v4
CHECK-NEXT:             gpu.barrier(scope=I.attr("#gpu.barrier_scope<workgroup>"))
CHECK-NEXT:             C[arg0, v2] = v0[0, v2 * -1 + 7] + 1.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def fewer_threads(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 3), "float32")
    for i, j in T.grid(4, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj // 3] + T.float32(1)


fewer_threads = """
# Where a loop has fewer steps than there are threads, the others have nothing to do.
# Its shared memory has a multiple of 16 bytes, which LLVM may load at once.
on fewer_threads: B C(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
  sch.compute_at(B, i)
  i, ax = sch.get_loops(B)
  sch.bind(ax, "threadIdx.x")
CHECK-LABEL: def fewer_threads(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 8}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloc(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             v1 = memref.reinterpret_cast(v0, [0], [1, 3], [3, 1], {{.*}})
CHECK-NEXT:             v2 = memref.cast(v1, T.Buffer((1, 3), "float32"))
CHECK-NEXT:             v3 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v4 = arith.remui(v3, 8)
CHECK-NEXT:             v5 = arith.divui(v3, 8)
CHECK-NEXT:             if v4 < 3:
CHECK-NEXT:                 v6 = A[arg0, v4]
CHECK-NEXT:                 v2[0, v4] = v6 * v6
CHECK-NEXT:             gpu.barrier(scope=I.attr("#gpu.barrier_scope<workgroup>"))
CHECK-NEXT:             C[arg0, v4] = v2[0, arith.divui(v4, 3)] + 1.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def of_the_first_thread(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4,), "float32")
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi, 0] * A[vi, 0]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi] + A[vi, vj]


of_the_first_thread = """
# The first thread runs code outside of all loops over threads.
on of_the_first_thread: B C(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
  sch.compute_at(B, i)
CHECK-LABEL: def of_the_first_thread(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 8}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloc(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             v1 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v2 = arith.remui(v1, 8)
CHECK-NEXT:             v3 = arith.divui(v1, 8)
CHECK-NEXT:             if v2 < 1:
CHECK-NEXT:                 v4 = A[arg0, 0]
CHECK-NEXT:                 v0[0] = v4 * v4
CHECK-NEXT:             gpu.barrier(scope=I.attr("#gpu.barrier_scope<workgroup>"))
CHECK-NEXT:             C[arg0, v2] = v0[0] + A[arg0, v2]
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""


@T.prim_func
def own_memory(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


own_memory = """
# Memory that only one thread uses is its own.
on own_memory: B C(i, j)
  sch.bind(i, "blockIdx.x")
  sch.bind(j, "threadIdx.x")
  sch.compute_at(B, j)
CHECK-LABEL: def own_memory(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 8}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = memref.alloca(T.Buffer((1, 1), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:             v1 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v2 = arith.remui(v1, 8)
CHECK-NEXT:             v3 = arith.divui(v1, 8)
CHECK-NEXT:             v4 = A[arg0, v2]
CHECK-NEXT:             v0[0, 0] = v4 * v4
CHECK-NEXT:             C[arg0, v2] = v0[0, 0] + 1.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""

not_bound = """
# Nests that nothing binds are shared by threads as well.
on squares_plus_one_4_by_4: C(i, j)
  sch.bind(i, "threadIdx.x")
CHECK-LABEL: def not_bound(
CHECK:     v0 = memref.alloc(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     with scf.for_(T.index(0), T.index(16), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v1 = arith.remui(arg0, 4)
CHECK-NEXT:             v2 = arith.divui(arg0, 4)
CHECK-NEXT:             v3 = A[v2, v1]
CHECK-NEXT:             v0[v2, v1] = v3 * v3
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     with scf.for_(T.index(0), T.index(1), T.index(1), attrs={"tir.parallel": 1, "tir.threads": 4}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v1 = gpu.thread_id(T.index, dimension=I.attr("#gpu<dim x>"))
CHECK-NEXT:             v2 = arith.remui(v1, 4)
CHECK-NEXT:             v3 = arith.divui(v1, 4)
CHECK-NEXT:             for i in range(4):
CHECK-NEXT:                 C[v2, i] = v0[v2, i] + 1.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
