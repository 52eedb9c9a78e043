# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s
"""sch.transform_layout: a buffer's layout."""

from relax_mlir.script import ir as I, tir as T


@I.ir_module
class Module:
    # CHECK-LABEL: def blocked(
    # CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[arith.divui(j, 4), i, arith.remui(j, 4)] = v1 * v1
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[arith.divui(j, 4), i, arith.remui(j, 4)] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def blocked(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    'sch.transform_layout(B, ("write", 0), lambda i, j: (j // 4, i, j % 4))',
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # CHECK-LABEL: def padded(
    # CHECK:     v0 = memref.alloca(T.Buffer((8, 10), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(2):
    # CHECK-NEXT:             for k in range(5):
    # CHECK-NEXT:                 v0[i, j * 5 + k] = 0.0
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[i, j] = v1 * v1
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(8):
    # CHECK-NEXT:             C[i, j] = v0[i, j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def padded(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    'C = sch.get_block("C")',
                    "i_1, j_1 = sch.get_loops(C)",
                    'sch.transform_layout(B, ("write", 0), lambda i, j: (i, j // 5, j % 5), pad_value=0)',
                ]
            }
        )
        B = T.alloc_buffer((8, 8), "float32")
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # Transform a buffer that the block reads, wherever it is computed.
    # CHECK-LABEL: def what_is_read(
    # CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[j, i] = v1 * v1
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[j, i] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def what_is_read(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'sch.transform_layout(C, ("read", 0), lambda i, j: (j, i))',
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # All in one dimension.
    # CHECK-LABEL: def by_name(
    # CHECK:     v0 = memref.alloca(T.Buffer((16,), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[i * 4 + j] = v1 * v1
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[i * 4 + j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def by_name(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'sch.transform_layout(C, "B", lambda i, j: (i * 4 + j,))',
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # Transform the n-th buffer that the block writes.
    # CHECK-LABEL: def by_number(
    # CHECK:     v0 = memref.alloca(T.Buffer((4, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = A[i, j]
    # CHECK-NEXT:             v0[i, 3 - j] = v1 * v1
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             C[i, j] = v0[i, 3 - j] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def by_number(A: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i, j: (i, -j + 3))",
                ]
            }
        )
        B = T.alloc_buffer((4, 4), "float32")
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * A[vi, vj]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)

    # Whether no two elements get the same place is not tried out, and free places hold anything.
    # CHECK-LABEL: def not_looked_at(
    # CHECK:     v0 = memref.alloca(T.Buffer((7,), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         v1 = A[i]
    # CHECK-NEXT:         v0[i] = v1 * v1
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         C[i] = v0[i] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def not_looked_at(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i: (i // 2, i % 2), assume_injective_transform=True)",
                ]
            }
        )
        B = T.alloc_buffer((7,), "float32")
        for i in range(7):
            with T.block("B"):
                vi = T.axis.spatial(7, i)
                B[vi] = A[vi] * A[vi]
        for i in range(7):
            with T.block("C"):
                vi = T.axis.spatial(7, i)
                C[vi] = B[vi] + T.float32(1)

    # Places that are free hold a number.
    # CHECK-LABEL: def integers(
    # CHECK:     v0 = memref.alloca(T.Buffer((8,), "int32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(2):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0[i * 4 + j] = -1
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         v1 = A[i]
    # CHECK-NEXT:         v0[i] = v1 * v1
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         C[i] = v0[i] + 1
    # CHECK-NEXT:     return
    @T.prim_func
    def integers(A: T.Buffer((7,), "int32"), C: T.Buffer((7,), "int32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i: (i // 4, i % 4), pad_value=-1)",
                ]
            }
        )
        B = T.alloc_buffer((7,), "int32")
        for i in range(7):
            with T.block("B"):
                vi = T.axis.spatial(7, i)
                B[vi] = A[vi] * A[vi]
        for i in range(7):
            with T.block("C"):
                vi = T.axis.spatial(7, i)
                C[vi] = B[vi] + T.int32(1)

    # CHECK-LABEL: def least_and_most(
    # CHECK:     v0 = memref.alloca(T.Buffer((7, 2), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         v1 = A[i]
    # CHECK-NEXT:         v0[i, arith.remui(i, 2)] = v1 * v1
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         C[i] = v0[i, arith.remui(i, 2)] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def least_and_most(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i: (min(i, 6), max(i, 0) % 2))",
                ]
            }
        )
        B = T.alloc_buffer((7,), "float32")
        for i in range(7):
            with T.block("B"):
                vi = T.axis.spatial(7, i)
                B[vi] = A[vi] * A[vi]
        for i in range(7):
            with T.block("C"):
                vi = T.axis.spatial(7, i)
                C[vi] = B[vi] + T.float32(1)

    # Before all that writes it.
    # CHECK-LABEL: def written_twice(
    # CHECK:     v0 = memref.alloca(T.Buffer((8,), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(2):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0[i * 4 + j] = 5.0
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         v1 = A[i]
    # CHECK-NEXT:         v0[i] = v1 * v1
    # CHECK-NEXT:     for i in range(3):
    # CHECK-NEXT:         v0[i] = A[i] + 1.0
    # CHECK-NEXT:     for i in range(7):
    # CHECK-NEXT:         C[i] = v0[i] + 1.0
    # CHECK-NEXT:     return
    @T.prim_func
    def written_twice(A: T.Buffer((7,), "float32"), C: T.Buffer((7,), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i: (i // 4, i % 4), pad_value=5)",
                ]
            }
        )
        B = T.alloc_buffer((7,), "float32")
        for i in range(7):
            with T.block("B"):
                vi = T.axis.spatial(7, i)
                B[vi] = A[vi] * A[vi]
        for i in range(3):
            with T.block("part"):
                vi = T.axis.spatial(3, i)
                B[vi] = A[vi] + T.float32(1)
        for i in range(7):
            with T.block("C"):
                vi = T.axis.spatial(7, i)
                C[vi] = B[vi] + T.float32(1)

    # Callers' parameters stay unchanged: inputs are copied, and outputs are copied at the end.
    # CHECK-LABEL: def parameters(
    # CHECK:     v0 = memref.alloca(T.Buffer((24,), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     v1 = memref.alloca(T.Buffer((6, 4), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             v1[j, i] = A[i, j]
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             v0[i * 6 + j] = v1[j, i] + 1.0
    # CHECK-NEXT:     for i in range(4):
    # CHECK-NEXT:         for j in range(6):
    # CHECK-NEXT:             C[i, j] = v0[i * 6 + j]
    # CHECK-NEXT:     return
    @T.prim_func
    def parameters(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'C = sch.get_block("C")',
                    'sch.transform_layout(C, ("read", 0), lambda i, j: (j, i))',
                    'sch.transform_layout(C, ("write", 0), lambda i, j: (i * 6 + j,))',
                ]
            }
        )
        for i, j in T.grid(4, 6):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)

    # CHECK-LABEL: def at_computed_places(
    # CHECK:     v0 = memref.alloca(T.Buffer((2, 8, 2), "float32"), alignment=64, segments=(0, 0))
    # CHECK-NEXT:     for i in range(8):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v0[arith.divui(j, 2), i, arith.remui(j, 2)] = A[i, j] * 2.0
    # CHECK-NEXT:     for i in range(6):
    # CHECK-NEXT:         for j in range(4):
    # CHECK-NEXT:             v1 = I_1[i]
    # CHECK-NEXT:             v2 = arith.divui(j, 2)
    # CHECK-NEXT:             v3 = v0[v2, arith.index_cast(arith.maxsi(arith.minsi(v1, 7), 0), T.index), arith.remui(j, 2)]
    # CHECK-NEXT:             C[i, j] = v3
    # CHECK-NEXT:     return
    @T.prim_func
    def at_computed_places(A: T.Buffer((8, 4), "float32"), I: T.Buffer((6,), "int64"), C: T.Buffer((6, 4), "float32")):
        T.func_attr(
            {
                "tir.schedule": [
                    "# schedule 1",
                    'B = sch.get_block("B")',
                    "sch.transform_layout(B, 0, lambda i, j: (j // 2, i, j % 2))",
                ]
            }
        )
        B = T.alloc_buffer((8, 4), "float32")
        for i, j in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(6, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[I[vi], vj]
