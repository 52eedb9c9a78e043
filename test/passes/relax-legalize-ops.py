# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-legalize-ops --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops{target=llvm skip-ops=relax.exp},tir-lower-intrinsics)' --print-script | FileCheck %s --check-prefix=SKIP
"""Situations of Apache TVM's test_transform_legalize_ops.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Operators become calls of PrimFuncs. Equal ones share a PrimFunc, and symbols stay in the graph.
    # CHECK-LABEL: def shared(
    # CHECK: a = R.call_tir(cls.add, (x, b), out_sinfo=R.Tensor(("n", 4), "float32"))
    # CHECK: c = R.call_tir(cls.add, (a, b),
    # CHECK: d = R.call_tir(cls.exp, (c,),
    # SKIP-LABEL: def shared(
    # SKIP: R.call_tir
    # SKIP: R.exp
    @R.function
    def shared(x: R.Tensor(("n", 4), "float32"), b: R.Tensor((4,), "float32")) -> R.Tensor(("n", 4), "float32"):
        a = R.add(x, b)
        c = R.add(a, b)
        d = R.exp(c)
        return d

    # Names are distinguished, from other functions' too; types are signless inside, and the operations know the sign.
    # CHECK-LABEL: def unsigned(
    # CHECK: q = R.call_tir(cls.divide_1, (u, u), out_sinfo=R.Tensor((4,), "uint8"))
    @R.function
    def unsigned(u: R.Tensor((4,), "uint8")) -> R.Tensor((4,), "uint8"):
        q = R.divide(u, u)
        return q

    @R.function(private=True)
    def divide(): ...

    # CHECK: @T.prim_func(private=True, {{.*}}"tir.op_pattern": "broadcast"
    # CHECK-NEXT: def add(
    # CHECK-NEXT: A: T.Tensor(("?", 4), "float32"),
    # CHECK-NEXT: B: T.Tensor((4,), "float32"),
    # CHECK-NEXT: C: T.Tensor(("?", 4), "float32"),
    # CHECK-NEXT: ) -> T.Tensor(("?", 4), "float32"):
    # CHECK-NEXT: for i, j in T.grid(A.shape[0], 4): C[i, j] = A[i, j] + B[j]
    # CHECK: @T.prim_func({{.*}}"tir.op_pattern": "elemwise"
    # CHECK-NEXT: def exp(
    # CHECK: B[i, j] = T.exp(A[i, j])
    # CHECK: def divide_1(
    # CHECK-NEXT: A: T.Tensor((4,), "int8"),
    # CHECK-NEXT: B: T.Tensor((4,), "int8"),
    # CHECK-NEXT: C: T.Tensor((4,), "int8"),
    # CHECK: arith.divui
