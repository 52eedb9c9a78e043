# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.set_scope: small memory of a scope is on the stack."""

from relax_mlir.script import tir as T

local = """
on squares_plus_one: B C(i_1, j_1)
  sch.set_scope(B, 0, "local")
  sch.compute_at(B, i_1)
CHECK-LABEL: def local(
CHECK:     v0 = memref.alloca(T.Buffer((1, 8), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(8):
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[0, j] = v1 * v1
CHECK-NEXT:         for j in range(8):
CHECK-NEXT:             C[i, j] = v0[0, j] + 1.0
CHECK-NEXT:     return
"""

by_name = """
on squares_plus_one_4_by_4: B
  sch.set_scope(B, "B", "global")
CHECK-LABEL: def by_name(
CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             v1 = A[i, j]
CHECK-NEXT:             v0[i, j] = v1 * v1
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         for j in range(4):
CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
CHECK-NEXT:     return
"""
