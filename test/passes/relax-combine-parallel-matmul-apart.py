# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-combine-parallel-matmul='keep-meeting=true convolutions=false' --print-script | FileCheck %s


# Two meet behind an activation: the later one does that behind itself. The third one and the fourth do not.
# CHECK-LABEL: def gated(
# CHECK-DAG: R.concat((down, other), axis=1)
# CHECK-DAG: R.matmul(x, gate)
# CHECK-DAG: R.matmul(x, up)
# CHECK: return
def gated(x: f32[4, 8], gate: f32[8, 6], up: f32[8, 6], down: f32[8, 6], other: f32[8, 6]) -> R.Tuple(
    f32[4, 6], f32[4, 6], f32[4]
):
    g = R.matmul(x, gate)
    u = R.matmul(x, up)
    a = R.multiply(R.multiply(R.sigmoid(g), g), u)
    b = R.nn.relu(R.matmul(x, down))
    c = R.sum(R.matmul(x, other), axis=(1,))
    return a, b, c


# CHECK-LABEL: def convolutions(
# CHECK-NOT: R.concat
# CHECK-COUNT-2: R.nn.conv2d(x,
def convolutions(x: f32[1, 4, 8, 8], v: f32[6, 4, 1, 1], w: f32[6, 4, 1, 1]) -> R.Tuple(
    f32[1, 6, 8, 8], f32[1, 6, 8, 8]
):
    a = R.nn.relu(R.nn.conv2d(x, v))
    b = R.nn.conv2d(x, w)
    return a, b
