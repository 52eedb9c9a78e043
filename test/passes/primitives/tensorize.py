# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --load-plugin=%S/Inputs/tensor_intrins.py --tir-apply-schedule --print-script | FileCheck %s
"""sch.tensorize: a nest becomes an intrinsic on the parts of memory that one call uses."""

from relax_mlir.script import tir as T

tile = """
on matmul_16_columns: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.tile")
CHECK-LABEL: def tile(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(8):
CHECK-NEXT:                     C[i * 2 + k, j * 8 + l] = 0.0
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0 = i * 2
CHECK-NEXT:                 v1 = k * 4
CHECK-NEXT:                 v2 = memref.subview(A, [v0, v1], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:                 v3 = j * 8
CHECK-NEXT:                 v4 = memref.subview(B, [v1, v3], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 v5 = memref.subview(C, [v0, v3], [2, 8], [1, 1], I.type("memref<2x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 T.call_extern(v2, v4, v5, func="tile")
CHECK-NEXT:     return
"""


@T.prim_func
def swapped(B: T.Buffer((8, 16), "float32"), A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 16), "float32")):
    for i, j, k in T.grid(4, 16, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = B[vk, vj] * A[vi, vk] + C[vi, vj]


swapped = """
# Sums and products in another order are the same.
on swapped: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  C_init = sch.decompose_reduction(C, k_0)
  sch.tensorize(i_1, "lit.tile")
CHECK-LABEL: def swapped(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(8):
CHECK-NEXT:                     C[i * 2 + k, j * 8 + l] = 0.0
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0 = i * 2
CHECK-NEXT:                 v1 = k * 4
CHECK-NEXT:                 v2 = memref.subview(A, [v0, v1], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:                 v3 = j * 8
CHECK-NEXT:                 v4 = memref.subview(B, [v1, v3], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 v5 = memref.subview(C, [v0, v3], [2, 8], [1, 1], I.type("memref<2x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 T.call_extern(v2, v4, v5, func="tile")
CHECK-NEXT:     return
"""


@T.prim_func
def copy_8_by_8(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


in_another_layout = """
# Dimensions that stand still are none of the intrinsic's.
on copy_8_by_8: B(i, j)
  B_local = sch.cache_write(B, 0, "local")
  sch.transform_layout(B, ("write", 0), lambda i, j: (j // 4, i, j % 4))
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  sch.tensorize(i_1, "lit.copy")
CHECK-LABEL: def in_another_layout(
CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             v1 = i * 4
CHECK-NEXT:             v2 = memref.subview(A, [v1, j * 4], [4, 4], [1, 1], I.type("memref<4x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v3 = memref.subview(v0, [j, v1, 0], [1, 4, 4], [1, 1, 1], I.type("memref<4x4xf32, strided<[4, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v2, v3, func="copy")
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             B[i, j] = v0[arith.divui(j, 4), i, arith.remui(j, 4)]
CHECK-NEXT:     return
"""


@T.prim_func
def at_known_places(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32")):
    for i, j in T.grid(2, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


at_known_places = """
on at_known_places: B(i, j)
  sch.unroll(i)
  sch.tensorize(j, "lit.row")
CHECK-LABEL: def at_known_places(
CHECK:     v0 = memref.subview(A, [0, 0], [1, 8], [1, 1], I.type("memref<8xf32, strided<[1]>>"))
CHECK-NEXT:     v1 = memref.subview(B, [0, 0], [1, 8], [1, 1], I.type("memref<8xf32, strided<[1]>>"))
CHECK-NEXT:     T.call_extern(v0, v1, func="row")
CHECK-NEXT:     v2 = memref.subview(A, [1, 0], [1, 8], [1, 1], I.type("memref<8xf32, strided<[1], offset: 8>>"))
CHECK-NEXT:     v3 = memref.subview(B, [1, 0], [1, 8], [1, 1], I.type("memref<8xf32, strided<[1], offset: 8>>"))
CHECK-NEXT:     T.call_extern(v2, v3, func="row")
CHECK-NEXT:     return
"""

in_loops_of_any_order = """
on copy_8_by_8: B(i, j)
  i_0, j_0, i_1, j_1 = sch.tile(i, j, 4, 4)
  a, b = sch.split(j_1, [2, 2])
  sch.reorder(b, i_1, a)
  sch.tensorize(b, "lit.copy")
CHECK-LABEL: def in_loops_of_any_order(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             v0 = i * 4
CHECK-NEXT:             v1 = j * 4
CHECK-NEXT:             v2 = memref.subview(A, [v0, v1], [4, 4], [1, 1], I.type("memref<4x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             v3 = memref.subview(B, [v0, v1], [4, 4], [1, 1], I.type("memref<4x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:             T.call_extern(v2, v3, func="copy")
CHECK-NEXT:     return
"""

with_an_init = """
# The initial values of a reduction are filled in before the first call for the same elements.
on matmul_16_columns: C(i, j, k)
  i_0, i_1 = sch.split(i, [None, 2])
  j_0, j_1 = sch.split(j, [None, 8])
  k_0, k_1 = sch.split(k, [None, 4])
  sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
  sch.tensorize(i_1, "lit.tile")
CHECK-LABEL: def with_an_init(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 for l in range(2):
CHECK-NEXT:                     for i0 in range(8):
CHECK-NEXT:                         if k * 4 < 1:
CHECK-NEXT:                             C[i * 2 + l, j * 8 + i0] = 0.0
CHECK-NEXT:                 v0 = i * 2
CHECK-NEXT:                 v1 = k * 4
CHECK-NEXT:                 v2 = memref.subview(A, [v0, v1], [2, 4], [1, 1], I.type("memref<2x4xf32, strided<[8, 1], offset: ?>>"))
CHECK-NEXT:                 v3 = j * 8
CHECK-NEXT:                 v4 = memref.subview(B, [v1, v3], [4, 8], [1, 1], I.type("memref<4x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 v5 = memref.subview(C, [v0, v3], [2, 8], [1, 1], I.type("memref<2x8xf32, strided<[16, 1], offset: ?>>"))
CHECK-NEXT:                 T.call_extern(v2, v4, v5, func="tile")
CHECK-NEXT:     return
"""


@T.prim_func
def every_second_row(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 2, vj]


every_second_row = """
on every_second_row: B(i, j)
  sch.tensorize(i, "lit.copy")
CHECK-LABEL: def every_second_row(
CHECK:     v0 = memref.subview(A, [0, 0], [4, 4], [2, 1], I.type("memref<4x4xf32, strided<[8, 1]>>"))
CHECK-NEXT:     v1 = memref.cast(B, I.type("memref<4x4xf32, strided<[4, 1]>>"))
CHECK-NEXT:     T.call_extern(v0, v1, func="copy")
CHECK-NEXT:     return
"""
