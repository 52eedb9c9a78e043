# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.split: one loop becomes several, with a guard at its end."""

from relax_mlir.script import tir as T


@T.prim_func
def squares_of_64(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * A[vi]


perfect = """
on squares_of_64: B(i)
  i_0, i_1, i_2 = sch.split(i, [4, None, 2])
CHECK-LABEL: def perfect(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0 = i * 16 + j * 2 + k
CHECK-NEXT:                 v1 = A[v0]
CHECK-NEXT:                 B[v0] = v1 * v1
CHECK-NEXT:     return
"""


@T.prim_func
def imperfect(A: T.Buffer((61,), "float32"), B: T.Buffer((61,), "float32")):
    for i in range(61):
        with T.block("B"):
            vi = T.axis.spatial(61, i)
            B[vi] = A[vi] * A[vi]


imperfect = """
on imperfect: B(i)
  i_0, i_1 = sch.split(i, factors=[None, 16])
  sch.vectorize(i_1)
CHECK-LABEL: def imperfect(
CHECK:     for i in range(3):
CHECK-NEXT:         v0 = i * 16
CHECK-NEXT:         v1 = vector.load(A, v0, T.float32x16)
CHECK-NEXT:         vector.store(v1 * v1, B, v0)
CHECK-NEXT:     v0 = vector.constant_mask(T.boolx16, mask_dim_sizes=(13,))
CHECK-NEXT:     v1 = vector.maskedload(A, T.index(48), v0, I.const(I.attr("dense<0.000000e+00> : vector<16xf32>")))
CHECK-NEXT:     vector.maskedstore(B, T.index(48), v0, v1 * v1)
CHECK-NEXT:     return
"""

inner = """
on squares_of_64: B(i)
  i_0, i_1 = sch.split(i, [None, 4])
  i_1_0, i_1_1 = sch.split(i_1, [None, 3])
CHECK-LABEL: def inner(
CHECK:     for i in range(16):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(3):
CHECK-NEXT:                 v0 = j * 3
CHECK-NEXT:                 v1 = v0 + k < 4
CHECK-NEXT:                 v2 = i * 4 + v0 + k
CHECK-NEXT:                 if v1 & (v2 < 64):
CHECK-NEXT:                     v3 = A[v2]
CHECK-NEXT:                     B[v2] = v3 * v3
CHECK-NEXT:     return
"""

dynamic = """
on symbolic_squares: B(i, j)
  i_0, i_1 = sch.split(i, [None, 16])
CHECK-LABEL: def dynamic(
CHECK:     v0 = A.shape[0]
CHECK-NEXT:     for i in range(arith.divui(v0 + 15, 16)):
CHECK-NEXT:         for j in range(16):
CHECK-NEXT:             for k in range(8):
CHECK-NEXT:                 v1 = i * 16 + j
CHECK-NEXT:                 if v1 < v0:
CHECK-NEXT:                     v2 = A[v1, k]
CHECK-NEXT:                     B[v1, k] = v2 * v2
CHECK-NEXT:     return
"""

more_steps = """
# Factors may give more steps than there are.
on squares: B(i)
  sch.split(i, [3, 2, 2])
CHECK-LABEL: def more_steps(
CHECK:     for i in range(3):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(2):
CHECK-NEXT:                 v0 = i * 4 + j * 2 + k
CHECK-NEXT:                 if v0 < 10:
CHECK-NEXT:                     v1 = A[v0]
CHECK-NEXT:                     B[v0] = v1 * v1
CHECK-NEXT:     return
"""

unit_loops_kept = """
# A loop of one step is a loop.
on squares_of_8: B(i)
  a, b, c = sch.split(i, [1, None, 1])
  sch.parallel(a)
CHECK-LABEL: def unit_loops_kept(
CHECK:     for i in range(8):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     return
"""

unit_loops_gone = """
on squares_of_8: B(i)
  a, b = sch.split(i, [1, None], preserve_unit_iters=False)
CHECK-LABEL: def unit_loops_gone(
CHECK:     for i in range(8):
CHECK-NEXT:         v0 = A[i]
CHECK-NEXT:         B[i] = v0 * v0
CHECK-NEXT:     return
"""

outer_factor_of_open_size = """
# Each of four threads has a part, whatever there is.
on symbolic_vector_squares: B(i)
  a, b = sch.split(i, [4, None])
  sch.parallel(a)
CHECK-LABEL: def outer_factor_of_open_size(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             v0 = A.shape[0]
CHECK-NEXT:             v1 = arith.divui(v0 + 3, 4)
CHECK-NEXT:             for i in range(v1):
CHECK-NEXT:                 v2 = i + v1 * arg0
CHECK-NEXT:                 if v2 < v0:
CHECK-NEXT:                     v3 = A[v2]
CHECK-NEXT:                     B[v2] = v3 * v3
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""
