# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.cache_inplace: staging of a buffer that a block updates in place."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def there_and_back(
    # CHECK:     v0 = memref.alloca(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         B[i] = A[i] + 1.0
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         v0[i] = B[i]
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         v0[i] = v0[i] * 2.0
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         B[i] = v0[i]
    # CHECK-NEXT:     return
    @T.prim_func
    def there_and_back(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'there, back = sch.cache_inplace(B, 0, "local")',
                ]
            }
        )
        for i in range(4):
            with T.block("fill"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + T.float32(1)
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = B[vi] * T.float32(2)
