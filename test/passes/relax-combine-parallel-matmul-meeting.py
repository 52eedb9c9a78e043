# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-combine-parallel-matmul=keep-meeting=true --print-script | FileCheck %s

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
