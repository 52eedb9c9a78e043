# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true reasons=true})' --split-input-file --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,func.func(relax-fuse-ops{epilogues=true reasons=true}))' --split-input-file --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true reasons=true},tir-fuse)' --split-input-file --print-script | FileCheck %s --check-prefix=FUSED
"""Groups of calls, by a number on each. tir-fuse makes one kernel of each group.

Situations of Apache TVM's test_transform_fuse_ops.py.
"""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Block:
    # A product and its elementwise epilogue are one group, and so are the operations after the softmax, which is in
    # none. A call states why it does not join the group of an operand.
    # CHECK-LABEL: def main(
    # CHECK: product = R.call_tir(
    # CHECK-NEXT: cls.matmul, (x, w), attrs={"relax.group": 0},
    # CHECK: biased = R.call_tir(
    # CHECK-NEXT: cls.add, (product, bias), attrs={"relax.group": 0},
    # CHECK: weights = R.call_tir(cls.nn_softmax, (biased,), out_sinfo
    # CHECK: doubled = R.call_tir(
    # CHECK-NEXT: cls.add_1, (weights, weights), attrs={"relax.group": 1},
    # CHECK: turned = R.call_tir(
    # CHECK-NEXT: cls.permute_dims, (doubled,), attrs={"relax.group": 1},
    # CHECK: again = R.call_tir(
    # CHECK-NEXT: cls.matmul, (turned, w), attrs={"relax.apart": ["operand #0: one loop nest cannot compute both"]},
    # CHECK: result = R.call_tir(
    # CHECK-NEXT: cls.permute_dims, (again,),
    # CHECK-NEXT: attrs={"relax.apart": ["operand #0: the consumer cannot update the producer's result in place"]},
    # FUSED-LABEL: def main(
    # FUSED-NOT: relax.
    # FUSED: product_biased = R.call_tir(cls.fused_matmul_add, (x, w, bias),
    # FUSED-NEXT: weights = R.call_tir(cls.nn_softmax, (product_biased,),
    # FUSED-NEXT: doubled_turned = R.call_tir(
    # FUSED-NEXT: cls.fused_add_permute_dims, (weights,),
    # FUSED: again = R.call_tir(cls.matmul, (doubled_turned, w),
    # FUSED-NEXT: result = R.call_tir(cls.permute_dims, (again,),
    # FUSED-NEXT: return result
    @R.function
    def main(
        x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32"), bias: R.Tensor((8,), "float32")
    ) -> R.Tensor((8, 8), "float32"):
        product = R.matmul(x, w)
        biased = R.add(product, bias)
        weights = R.nn.softmax(biased)
        doubled = R.add(weights, weights)
        turned = R.permute_dims(doubled)
        again = R.matmul(turned, w)
        result = R.permute_dims(again)
        return result


# -----


@I.ir_module(ssa=True)
class Stated:
    # An existing group stays, and nothing joins it. New numbers continue after it.
    # CHECK-LABEL: def main(
    # CHECK: a = R.call_tir(cls.twice, (x,), attrs={"relax.group": 3},
    # CHECK: b = R.call_tir(cls.twice, (a,), attrs={"relax.group": 3},
    # CHECK: c = R.call_tir(cls.exp, (b,), attrs={"relax.group": 4},
    # CHECK: d = R.call_tir(cls.negative, (c,), attrs={"relax.group": 4},
    # FUSED-LABEL: def main(
    # FUSED: a_b = R.call_tir(cls.fused_twice_twice, (x,),
    # FUSED-NEXT: c_d = R.call_tir(cls.fused_exp_negative, (a_b,),
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": 3})
        b = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor((4,), "float32"), attrs={"relax.group": 3})
        c = R.exp(b)
        d = R.negative(c)
        return d

    @T.prim_func(attrs={"tir.op_pattern": "elemwise"})
    def twice(X: T.Tensor((4,), "float32"), Y: T.Tensor((4,), "float32")) -> T.Tensor((4,), "float32"):
        for i in T.grid(4):
            Y[i] = X[i] + X[i]
        return Y


# -----


@I.ir_module(ssa=True)
class Beside:
    # Calls that read one tensor in the same loops are one kernel with several results, constants in the way move up.
    # Loops over other places of it, or with nothing in common to read, stay apart.
    # CHECK-LABEL: def main(
    # CHECK: a = R.call_tir(cls.exp, (x,), attrs={"relax.group": 0},
    # CHECK: b = R.call_tir(cls.sum, (x,),
    # CHECK-NOT: relax.group
    # CHECK: c = R.call_tir(
    # CHECK-NEXT: cls.greater, (x, {{.*}}), attrs={"relax.group": 0},
    # CHECK: d = R.call_tir(cls.permute_dims, (x,), out_sinfo
    # CHECK: e = R.call_tir(cls.exp_1, (y,), out_sinfo
    # FUSED-LABEL: def main(
    # FUSED: fused_exp_greater_0, fused_exp_greater_1 = R.call_tir(
    # FUSED-NEXT: cls.fused_exp_greater, (x, {{.*}}),
    # FUSED-NEXT: out_sinfo=[R.Tensor(("n", 8), "float32"), R.Tensor(("n", 8), "bool")],
    # FUSED: def fused_exp_greater(
    # FUSED: C[i, j], D[i, j] = T.exp(A[i, j]), A[i, j] > B[()]
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), y: R.Tensor((8, "n"), "float32")) -> R.Tuple(
        R.Tensor(("n", 8), "float32"),
        R.Tensor((), "float32"),
        R.Tensor(("n", 8), "bool"),
        R.Tensor((8, "n"), "float32"),
        R.Tensor((8, "n"), "float32"),
    ):
        a = R.exp(x)
        b = R.sum(x)
        c = R.greater(x, R.const(1.0, "float32"))
        d = R.permute_dims(x)
        e = R.exp(y)
        return a, b, c, d, e


# -----


@I.ir_module(ssa=True)
class Again:
    # Two sums compute a cheap head of a megabyte each, so that it is not stored. If it is stored for another reader, or
    # smaller, it is computed once.
    # CHECK-LABEL: def main(
    # CHECK: cls.nn_relu, (x,), attrs={"relax.group": 0},
    # CHECK: cls.nn_relu, (x,), attrs={"relax.group": 1},
    # CHECK: cls.nn_relu_1, (y,)
    # CHECK-NOT: cls.nn_relu_1
    # CHECK: cls.nn_relu, (z,)
    # CHECK-NOT: cls.nn_relu
    # CHECK: return
    # FUSED-LABEL: def main(
    # FUSED-DAG: cls.fused_nn_relu_sum, (x,)
    # FUSED-DAG: cls.fused_nn_relu_sum_1, (x,)
    # FUSED: return
    @R.function
    def main(
        x: R.Tensor((256, 1024), "float32"), y: R.Tensor((255, 1024), "float32"), z: R.Tensor((256, 1024), "float32")
    ) -> R.Tuple(
        R.Tensor((256,), "float32"),
        R.Tensor((1024,), "float32"),
        R.Tensor((255,), "float32"),
        R.Tensor((1024,), "float32"),
        R.Tensor((256, 1024), "float32"),
        R.Tensor((256,), "float32"),
    ):
        large = R.nn.relu(x)
        a = R.sum(large, axis=[1])
        b = R.sum(large, axis=[0])
        small = R.nn.relu(y)
        c = R.sum(small, axis=[1])
        d = R.sum(small, axis=[0])
        stored = R.nn.relu(z)
        e = R.sum(stored, axis=[1])
        return a, b, c, d, stored, e
