# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.annotate_buffer_access: the part of a buffer that a block reads."""

from relax_mlir.script import tir as T

near_a_row = """
# Nothing else is known about the rows: the annotated ones are computed.
on picked_rows: B C(i, j)
  sch.annotate_buffer_access(C, "B", "read", lambda vi, vj: ((vi, vi + 2), vj))
  sch.compute_at(B, i)
CHECK-LABEL: def near_a_row(
CHECK:     v0 = memref.alloca(T.Buffer((8, 6), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(5):
CHECK-NEXT:         for j in range(2):
CHECK-NEXT:             for k in range(6):
CHECK-NEXT:                 v1 = j + i
CHECK-NEXT:                 v0[v1, k] = A[v1, k] * 2.0
CHECK-NEXT:         for j in range(6):
CHECK-NEXT:             C[i, j] = v0[arith.index_cast(arith.maxsi(arith.minsi(I_1[i], 7), 0), T.index), j]
CHECK-NEXT:     return
"""

what_is_written = """
# For a known region the annotation is only a note.
on doubled_plus_one: B
  sch.annotate_buffer_access(B, 0, "write", lambda vi, vj: ((vi, vi + 2), (0, 12)))
CHECK-LABEL: def what_is_written(
CHECK:     v0 = memref.alloca(T.Buffer((8, 12), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             v0[i, j] = A[i, j] * 2.0
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(12):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""
