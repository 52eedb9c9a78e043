# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-block-channels='target=llvm{cpu=haswell} keep=nn.conv2d#1' --print-script | FileCheck %s --check-prefix=PLACE
# RUN: graphs %s | relax-opt - --llvm-block-channels='target=llvm{cpu=haswell} keep=z' --print-script | FileCheck %s --check-prefix=NODE
# RUN: graphs %s | relax-opt - --llvm-block-channels='target=llvm{cpu=haswell} keep=relax.nn.conv2d#0,z' --print-script | FileCheck %s --check-prefix=NONE
"""Convolutions that keep their layouts, by their places or by the names of nodes."""


# PLACE-LABEL: def main(
# PLACE: R.nn.conv2d(
# PLACE-NEXT: x, {{.*}}, kernel_layout="OIHW8o", out_layout="NCHW8c",
# PLACE: R.layout_transform(
# PLACE: R.nn.conv2d(
# PLACE-NEXT: y_1, R.const(
# PLACE-NEXT: )
# PLACE-NEXT: return
# NODE-LABEL: def main(
# NODE: kernel_layout="OIHW8o"
# NODE: R.layout_transform(
# NODE: R.nn.conv2d(
# NODE-NEXT: y_1, R.const(
# NODE-NEXT: )
# NODE-NEXT: return
# NONE-LABEL: def main(
# NONE-NOT: layout
# NONE: return
def main(x: f32[1, 3, 9, 9]) -> f32[1, 24, 5, 5]:
    w = R.const(1.0, R.Tensor((32, 3, 3, 3), "float32"))
    y = R.nn.conv2d(x, w)
    v = R.const(1.0, R.Tensor((24, 32, 3, 3), "float32"))
    z = R.nn.conv2d(y, v)
    return z
