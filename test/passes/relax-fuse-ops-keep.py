# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true keep=add},tir-fuse)' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true keep=rectified},tir-fuse)' --print-script | FileCheck %s --check-prefix=NODE
"""Calls that join no group, by their PrimFunc or by the name of a node."""


# CHECK-LABEL: def main(
# CHECK: R.call_tir(cls.matmul,
# CHECK: R.call_tir(cls.add,
# CHECK: R.call_tir(
# CHECK-NEXT: cls.fused_nn_relu_negative,
# NODE-LABEL: def main(
# NODE: R.call_tir(cls.fused_matmul_add,
# NODE: R.call_tir(cls.nn_relu,
# NODE: R.call_tir(cls.negative,
def main(x: f32[8, 4], w: f32[4, 16], b: f32[16]) -> f32[8, 16]:
    product = R.matmul(x, w)
    biased = R.add(product, b)
    rectified = R.nn.relu(biased)
    result = R.negative(rectified)
    return result
