# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true keep=add},tir-fuse)' --print-script | FileCheck %s
# RUN: relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true keep=rectified},tir-fuse)' --print-script | FileCheck %s --check-prefix=NODE
"""Calls that join no group, by their PrimFunc or by the name of a node."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # CHECK-LABEL: def main(
    # CHECK: R.call_tir(cls.matmul,
    # CHECK: R.call_tir(cls.add,
    # CHECK: R.call_tir(
    # CHECK-NEXT: cls.fused_nn_relu_negative,
    # NODE-LABEL: def main(
    # NODE: R.call_tir(cls.fused_matmul_add,
    # NODE: R.call_tir(cls.nn_relu,
    # NODE: R.call_tir(cls.negative,
    @R.function
    def main(
        x: R.Tensor((8, 4), "float32"), w: R.Tensor((4, 16), "float32"), b: R.Tensor((16,), "float32")
    ) -> R.Tensor((8, 16), "float32"):
        product = R.matmul(x, w)
        biased = R.add(product, b)
        rectified = R.nn.relu(biased)
        result = R.negative(rectified)
        return result
