# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true},tir-fuse)' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --pass-pipeline='builtin.module(relax-legalize-ops,relax-fuse-ops{epilogues=true launched=true},tir-fuse)' --print-script | FileCheck %s --check-prefix=LAUNCHED


# Where a call is a launch, functions that wait for each other stay with the product.
# CHECK-LABEL: def activation(
# CHECK: cls.fused_matmul_exp,
# CHECK: cls.tanh,
# LAUNCHED-LABEL: def activation(
# LAUNCHED: cls.fused_matmul_exp_tanh,
# LAUNCHED-NEXT: return
def activation(x: f32[8, 8], w: f32[8, 8]) -> f32[8, 8]:
    y = R.tanh(R.exp(R.matmul(x, w)))
    return y


# So do slices of one tensor, which read it at other places.
# CHECK-LABEL: def slices(
# CHECK-COUNT-2: cls.strided_slice
# LAUNCHED-LABEL: def slices(
# LAUNCHED: cls.fused_strided_slice_strided_slice, (x,),
def slices(x: f32[8, 8]) -> R.Tuple(f32[8, 4], f32[8, 4]):
    a = R.strided_slice(x, axes=[1], begin=[0], end=[4])
    b = R.strided_slice(x, axes=[1], begin=[4], end=[8])
    return a, b
