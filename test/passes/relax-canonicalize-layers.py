# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --pass-pipeline='relax-canonicalize-layers,relax-fold-constant{keep-quantized=true}' --print-script | FileCheck %s
"""Layers in the form for codegens, from any form of a front end."""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # As ONNX's Gemm is imported.
    # CHECK-LABEL: def einsum(
    # CHECK-NEXT: R.matmul(x, R.const({{\[\[1.0, 3.0, 5.0\], \[2.0, 4.0, 6.0\]\]}}, "float32"))
    # CHECK-NEXT: return y
    @R.function
    def einsum(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 3), "float32"):
        w = R.const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32")
        y = R.einsum((x, w), subscripts="ay,xy->ax")
        return y

    # The weight may come first, and needs no transposition.
    # CHECK-LABEL: def swapped(
    # CHECK: R.matmul(x, R.const({{\[\[1.0, 2.0\], \[3.0, 4.0\]\]}}, "float32"))
    @R.function
    def swapped(x: R.Tensor((3, "n", 2), "float32")) -> R.Tensor((3, "n", 2), "float32"):
        w = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
        y = R.einsum((w, x), subscripts="kj,bik->bij")
        return y

    # As torch's Linear is imported: the axis of the scales follows.
    # CHECK-LABEL: def permuted(
    # CHECK: p: R.Tensor((2, 3), "float32") = R.dequantize(
    # CHECK-NEXT: R.const({{\[\[1, 3, 5\], \[2, 4, 6\]\]}}, "int8"), R.const([0.5, 1.0, 2.0], "float32"),
    # CHECK-NEXT: R.const(0, R.Tensor((3,), "int8")), axis=1,
    # CHECK: R.matmul(d, p)
    @R.function
    def permuted(x: R.Tensor(("n", 2), "int8")) -> R.Tensor(("n", 3), "float32"):
        d = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "int8"))
        scale = R.const([0.5, 1.0, 2.0], "float32")
        zero = R.const([0, 0, 0], "int8")
        w = R.dequantize(R.const([[1, 2], [3, 4], [5, 6]], "int8"), scale, zero, axis=0)
        p = R.permute_dims(w)
        y = R.matmul(d, p)
        return y

    # The bias of a convolution.
    # CHECK-LABEL: def bias(
    # CHECK-NEXT: b: R.Tensor((2, 1, 1), "float32") = R.dequantize(
    # CHECK-NEXT: R.const({{\[\[\[1\]\], \[\[2\]\]\]}}, "int32"), R.const([0.5, 1.0], "float32"),
    # CHECK-NEXT: R.const(0, R.Tensor((2,), "int32")), axis=0,
    # CHECK: R.add(x, b)
    @R.function
    def bias(x: R.Tensor((2, 3, 3), "float32")) -> R.Tensor((2, 3, 3), "float32"):
        d = R.dequantize(R.const([1, 2], "int32"), R.const([0.5, 1.0], "float32"), R.const([0, 0], "int32"), axis=0)
        b = R.expand_dims(d, axis=(1, 2))
        y = R.add(x, b)
        return y

    # Each layer has a dequantize of its own.
    # CHECK-LABEL: def shared(
    # CHECK-COUNT-2: R.dequantize(x,
    # CHECK: return
    @R.function
    def shared(x: R.Tensor((2, 2), "int8"), w: R.Tensor((2, 2), "float32")) -> R.Tuple(R.Tensor((2, 2), "float32"), R.Tensor((2, 2), "float32")):  # fmt: skip
        d = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int8"))
        y = R.matmul(d, w)
        e = R.exp(d)
        return y, e

    # Data are reshaped as integers where a layer reads them.
    # CHECK-LABEL: def reshaped(
    # CHECK-NEXT: r: R.Tensor((1, 4), "int8") = R.reshape(x, (1, 4))
    # CHECK-NEXT: r_1: R.Tensor((1, 4), "float32") = R.dequantize(
    @R.function
    def reshaped(x: R.Tensor((2, 2), "int8"), w: R.Tensor((4, 2), "float32")) -> R.Tensor((1, 2), "float32"):
        d = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int8"))
        r = R.reshape(d, (1, 4))
        y = R.matmul(r, w)
        return y

    # A weight that is an argument would be transposed by each call; a repeated dimension is no product.
    # CHECK-LABEL: def argument(
    # CHECK: y: R.Tensor(("n", 3), "float32") = R.einsum((x, w), subscripts="ay,xy->ax")
    @R.function
    def argument(x: R.Tensor(("n", 2), "float32"), w: R.Tensor((3, 2), "float32")) -> R.Tensor(("n", 3), "float32"):
        y = R.einsum((x, w), subscripts="ay,xy->ax")
        return y

    # CHECK-LABEL: def repeated(
    # CHECK: R.einsum(
    @R.function
    def repeated(x: R.Tensor(("n", 1), "float32")) -> R.Tensor(("n", 3), "float32"):
        w = R.const([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "float32")
        y = R.einsum((x, w), subscripts="ay,xy->ax")
        return y
