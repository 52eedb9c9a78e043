# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true reasons=true})' --split-input-file --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true reasons=true},tir-fuse)' --split-input-file --print-script | FileCheck %s --check-prefix=FUSED
"""Groups of calls, a number on each, which tir-fuse makes one kernel each. Situations: test_transform_fuse_ops.py."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Block:
    # A product and what is done element by element after it are one group; so are the operations after the softmax,
    # which stands alone. A call that could have gone on with one that it reads, and does not, says why.
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
    # CHECK-NEXT: cls.matmul, (turned, w),
    # CHECK-NEXT: attrs={"relax.apart": ["operand #0: one loop nest cannot do the work of both"]},
    # CHECK: result = R.call_tir(
    # CHECK-NEXT: cls.permute_dims, (again,),
    # CHECK-NEXT: attrs={"relax.apart": ["operand #0: the second does not go on with the first one's result in its place"]},
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
    # What is in a group already stays in it, and nothing joins it: numbers go on behind.
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
