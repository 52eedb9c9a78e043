# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.merge: loops of several nests become one."""

from relax_mlir.script import tir as T

rows = """
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  m = sch.merge(i, i_1)
  sch.parallel(m)
CHECK-LABEL: def rows(
CHECK:     with scf.for_(T.index(0), T.index(4), T.index(1), attrs={"tir.parallel": 0}):
CHECK-NEXT:         def bb0(arg0: T.index):
CHECK-NEXT:             for i in range(6):
CHECK-NEXT:                 C[arg0, i] = A[arg0, i] + 1.0
CHECK-NEXT:             for i in range(6):
CHECK-NEXT:                 D[arg0, i] = C[arg0, i] * 2.0
CHECK-NEXT:             scf.yield_()
CHECK-NEXT:     return
"""

inner = """
# Inside a loop that is one already.
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  m = sch.merge(i, i_1)
  n = sch.merge(j, j_1)
CHECK-LABEL: def inner(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
CHECK-NEXT:     return
"""

deep = """
# Loops around that they do not share become one each.
on plus_one_and_doubled: C D
  i, j = sch.get_loops(C)
  i_1, j_1 = sch.get_loops(D)
  m = sch.merge(j, j_1)
CHECK-LABEL: def deep(
CHECK:     for i in range(4):
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = A[i, j] + 1.0
CHECK-NEXT:             D[i, j] = C[i, j] * 2.0
CHECK-NEXT:     return
"""


@T.prim_func
def tiles(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi] + T.float32(1)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi // 4 * 4] + C[vi]


tiles = """
# Parts of a buffer at each step.
on tiles: C D
  i, = sch.get_loops(C)
  j, = sch.get_loops(D)
  i_0, i_1 = sch.split(i, [None, 4])
  j_0, j_1 = sch.split(j, [None, 4])
  m = sch.merge(i_0, j_0)
CHECK-LABEL: def tiles(
CHECK:     for i in range(2):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = i * 4 + j
CHECK-NEXT:             C[v0] = A[v0] + 1.0
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v0 = i * 4
CHECK-NEXT:             v1 = C[v0]
CHECK-NEXT:             v2 = v0 + j
CHECK-NEXT:             D[v2] = v1 + C[v2]
CHECK-NEXT:     return
"""
