# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-combine-parallel-matmul='keep-meeting=true convolutions=false' --print-script | FileCheck %s

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Two meet behind an activation: the later one does that behind itself. The third one and the fourth do not.
    # CHECK-LABEL: def gated(
    # CHECK-DAG: R.concat((down, other), axis=1)
    # CHECK-DAG: R.matmul(x, gate)
    # CHECK-DAG: R.matmul(x, up)
    # CHECK: return
    @R.function
    def gated(
        x: R.Tensor((4, 8), "float32"),
        gate: R.Tensor((8, 6), "float32"),
        up: R.Tensor((8, 6), "float32"),
        down: R.Tensor((8, 6), "float32"),
        other: R.Tensor((8, 6), "float32"),
    ) -> R.Tuple(R.Tensor((4, 6), "float32"), R.Tensor((4, 6), "float32"), R.Tensor((4,), "float32")):
        g = R.matmul(x, gate)
        u = R.matmul(x, up)
        a = R.multiply(R.multiply(R.sigmoid(g), g), u)
        b = R.nn.relu(R.matmul(x, down))
        c = R.sum(R.matmul(x, other), axis=(1,))
        return a, b, c

    # CHECK-LABEL: def convolutions(
    # CHECK-NOT: R.concat
    # CHECK-COUNT-2: R.nn.conv2d(x,
    @R.function
    def convolutions(
        x: R.Tensor((1, 4, 8, 8), "float32"),
        v: R.Tensor((6, 4, 1, 1), "float32"),
        w: R.Tensor((6, 4, 1, 1), "float32"),
    ) -> R.Tuple(R.Tensor((1, 6, 8, 8), "float32"), R.Tensor((1, 6, 8, 8), "float32")):
        a = R.nn.relu(R.nn.conv2d(x, v))
        b = R.nn.conv2d(x, w)
        return a, b
