# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-widen-convolutions='target=llvm{cpu=haswell}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --llvm-widen-convolutions='target=llvm{cpu=graniterapids-d}' --print-script | FileCheck %s --check-prefix=DOTS
"""Convolutions of f16 with constant weights read f32; others stay."""


# CHECK-LABEL: def narrow(
# DOTS-NOT: astype
# CHECK: {{.*}}: R.Tensor((1, 1, "n"), "float32") = R.astype(x, dtype="float32")
# CHECK-NEXT: y_1: R.Tensor((1, 1, "n"), "float32") = R.nn.conv1d(y, R.const({{.*}}, "float32"))
# CHECK-NEXT: y_2: R.Tensor((1, 1, "n"), "float16") = R.astype(y_1, dtype="float16")
def narrow(x: f16[1, 1, n]) -> f16[1, 1, n]:
    w = R.const([[[0.5]]], "float16")
    y = R.nn.conv1d(x, w)
    return y


# CHECK-LABEL: def wide_sums(
# CHECK: R.Tensor((1, 1, 4, 4), "float32") = R.astype(x, dtype="float32")
# CHECK-NEXT: y_2: R.Tensor((1, 1, 4, 4), "float32") = R.nn.conv2d({{.*}}, padding=(1, 1, 1, 1))
# CHECK-NEXT: return y_2
def wide_sums(x: f16[1, 1, 4, 4]) -> f32[1, 1, 4, 4]:
    w = R.const([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]], "float16")
    y = R.nn.conv2d(x, w, padding=(1, 1, 1, 1), out_dtype="float32")
    return y


# Weights that only a call has would be converted at each; bf16 is a shift, which costs little.
# CHECK-LABEL: def given(
# CHECK-NOT: astype
# CHECK: return
def given(x: f16[1, 1, 4], w: f16[1, 1, 1], z: bf16[1, 1, 4]) -> R.Tuple(f16[1, 1, 4], bf16[1, 1, 4]):
    y = R.nn.conv1d(x, w)
    k = R.const([[[0.5]]], "bfloat16")
    v = R.nn.conv1d(z, k)
    return y, v
