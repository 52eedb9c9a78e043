# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-reorder-reshape-after-elementwise --relax-dead-code-elimination --print-script | FileCheck %s
"""Results: test_planned_epilogues.py."""


# Exporters' form of dense layers on sequences: bias, activation and residual follow the product.
# CHECK-LABEL: def layer(
# CHECK: matmul_0: R.Tensor((6, 4), "float32") = R.matmul(x, w)
# CHECK-NEXT: add_0: R.Tensor((6, 4), "float32") = R.add(matmul_0, bias)
# CHECK-NEXT: gelu_0: R.Tensor((6, 4), "float32") = R.nn.gelu(add_0)
# CHECK-NEXT: y: R.Tensor((6, 4), "float32") = R.reshape(residual, (6, 4))
# CHECK-NEXT: y_1: R.Tensor((6, 4), "float32") = R.add(y, gelu_0)
# CHECK-NEXT: y_2: R.Tensor((2, 3, 4), "float32") = R.reshape(y_1, (2, 3, 4))
# CHECK-NEXT: return y_2
def layer(x: f32[6, 5], w: f32[5, 4], bias: f32[4], residual: f32[2, 3, 4]) -> f32[2, 3, 4]:
    p = R.reshape(R.matmul(x, w), R.shape((2, 3, 4)))
    y = R.add(residual, R.nn.gelu(R.add(p, bias)))
    return y


# Dynamic sizes; a number and two operands that were reshaped.
# CHECK-LABEL: def open_sizes(
# CHECK: matmul_0: R.Tensor(("b*n", 4), "float32") = R.matmul(reshape_0, w)
# CHECK-NEXT: multiply_0: R.Tensor(("b*n", 4), "float32") = R.multiply(matmul_0, R.const(2.0, "float32"))
# CHECK-NEXT: y: R.Tensor(("b*n", 4), "float32") = R.add(matmul_0, multiply_0)
# CHECK-NEXT: y_1: R.Tensor(("b", "n", 4), "float32") = R.reshape(y, ("b", "n", 4))
# CHECK-NEXT: return y_1
def open_sizes(x: f32[b, n, 5], w: f32[5, 4]) -> f32[b, n, 4]:
    p = R.reshape(R.matmul(R.reshape(x, R.shape(("b*n", 5))), w), R.shape(("b", "n", 4)))
    y = R.add(p, R.multiply(p, R.const(2.0, "float32")))
    return y


# Not moved: a bias per row, whose number would change; no product; an operand of a product in its layout.
# CHECK-LABEL: def stays(
# CHECK: a: R.Tensor((2, 2, 6), "float32") = R.add(p, rows)
# CHECK: b: R.Tensor((2, 2, 6), "float32") = R.nn.relu(reshape_0)
# CHECK: c: R.Tensor((2, 2, 6), "float32") = R.add(p, product)
# CHECK-NEXT: return
def stays(x: f32[4, 2, 3], w: f32[3, 3], rows: f32[2, 1], z: f32[2, 2, 5], v: f32[5, 6]) -> R.Tuple(
    f32[2, 2, 6], f32[2, 2, 6], f32[2, 2, 6]
):
    p = R.reshape(R.matmul(x, w), R.shape((2, 2, 6)))
    a = R.add(p, rows)
    b = R.nn.relu(R.reshape(x, R.shape((2, 2, 6))))
    product = R.matmul(z, v)
    c = R.add(p, product)
    return a, b, c
