# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: schedules %S/../../../../test/passes/primitives/Inputs/kernels.py %s | relax-opt - --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_inplace: staging of a buffer that a block updates in place."""

from relax_mlir.script import tir as T

there_and_back = """
on doubled_in_place: B
  there, back = sch.cache_inplace(B, 0, "local")
CHECK-LABEL: def there_and_back(
CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         B[i] = A[i] + 1.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v0[i] = B[i]
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         v0[i] = v0[i] * 2.0
CHECK-NEXT:     for i in range(4):
CHECK-NEXT:         B[i] = v0[i]
CHECK-NEXT:     return
"""
