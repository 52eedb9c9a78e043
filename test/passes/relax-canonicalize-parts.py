# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: relax-opt %s --relax-canonicalize --print-script | FileCheck %s
"""Slices of joined tensors, transposes and quantized numbers, in the form of exporters.

Results are compared in test/python/passes/test_canonicalize_parts.py.
"""

from relax_mlir.script import ir as I, relax as R, tir as T


@I.ir_module(ssa=True)
class Module:
    # Parts within one tensor are slices of it, and whole tensors are used directly. If n is 0, y's bounds cross.
    # CHECK-LABEL: def of_joined(
    # CHECK: joined: {{.*}} = R.concat((a, b, c))
    # CHECK-NEXT: y: {{.*}} = R.strided_slice(joined, axes=(0,), begin=(5,), end=("n + 4",))
    # CHECK-NEXT: z: {{.*}} = R.strided_slice(c, axes=(0,), begin=(0,), end=(1,))
    # CHECK-NEXT: return b, y, z
    @R.function
    def of_joined(
        a: R.Tensor((4,), "float32"), b: R.Tensor(("n",), "float32"), c: R.Tensor((3,), "float32")
    ) -> R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("n - 1",), "float32"), R.Tensor((1,), "float32")):
        joined = R.concat((a, b, c))
        x = R.strided_slice(joined, axes=(0,), begin=(4,), end=("n + 4",))
        y: R.Tensor(("n - 1",), "float32") = R.strided_slice(joined, axes=(0,), begin=(5,), end=("n + 4",))
        z: R.Tensor((1,), "float32") = R.strided_slice(joined, axes=(0,), begin=("n + 4",), end=("n + 5",))
        return x, y, z

    # Slices of slices, slices that are joined again, and splits at the seams.
    # CHECK-LABEL: def again(
    # CHECK: s: {{.*}} = R.strided_slice(x, axes=(0, 1), begin=(3, 0), end=(5, 4))
    # CHECK-NEXT: return s, x, x, t
    @R.function
    def again(x: R.Tensor((8, 8), "float32"), t: R.Tensor((2, 8), "float32")) -> R.Tuple(
        R.Tensor((2, 4), "float32"),
        R.Tensor((8, 8), "float32"),
        R.Tensor((8, 8), "float32"),
        R.Tensor((2, 8), "float32"),
    ):
        r = R.strided_slice(x, axes=(0,), begin=(2,), end=(7,))
        s = R.strided_slice(r, axes=(0, 1), begin=(1, -8), end=(3, 4))
        low = R.strided_slice(x, axes=(1,), begin=(0,), end=(3,))
        high = R.strided_slice(x, axes=(1,), begin=(3,), end=(8,))
        whole = R.concat((low, high), axis=1)
        p, q = R.split(R.concat((x, t)), (8,))
        return s, whole, p, q

    # Only dimensions of size 1 move: no element does. Elementwise functions do not care.
    # CHECK-LABEL: def transposes(
    # CHECK: p: R.Tensor((1, "n", 4, 1), "float32") = R.reshape(x, (1, "n", 4, 1))
    # CHECK-NEXT: s: {{.*}} = R.nn.relu(y)
    # CHECK-NEXT: return p, s
    @R.function
    def transposes(x: R.Tensor(("n", 1, 4, 1), "float32"), y: R.Tensor((2, 3, 4), "float32")) -> R.Tuple(
        R.Tensor((1, "n", 4, 1), "float32"), R.Tensor((2, 3, 4), "float32")
    ):
        p = R.permute_dims(x, axes=(1, 0, 2, 3))
        q = R.permute_dims(y, axes=(1, 2, 0))
        r = R.nn.relu(q)
        s = R.permute_dims(r, axes=(2, 0, 1))
        return p, s

    # Sizes as bounds. Inference decides about the checks.
    # CHECK-LABEL: def bounds(
    # CHECK: y: R.Tensor((1, "min(n, 9)"), "float32") = R.strided_slice(
    # CHECK-NEXT: x, axes=(0, 1), begin=(0, 0), end=(9223372036854775807, "n"), strides=(1, 1),
    # CHECK-NEXT: )
    # CHECK-NEXT: return y
    @R.function
    def bounds(x: R.Tensor((1, 9), "float32"), of: R.Tensor(("n",), "float32")) -> R.Tensor(
        (1, "min(n, 9)"), "float32"
    ):
        end = R.shape_to_tensor((9223372036854775807, "n"))
        sliced = R.dynamic_strided_slice(x, R.const([0, 0], "int64"), end, R.const([1, 1], "int64"))
        y = R.match_cast(sliced, out_sinfo=R.Tensor((1, "min(n, 9)"), "float32"))
        return y

    # Of one scale, with nothing between that makes other numbers.
    # CHECK-LABEL: def quantized(
    # CHECK-NEXT: q: R.Tensor((2, 8), "int8") = R.reshape(x, (2, 8))
    # CHECK-NEXT: return q
    @R.function
    def quantized(x: R.Tensor((4, 4), "int8")) -> R.Tensor((2, 8), "int8"):
        scale = R.const(0.25, "float32")
        zero = R.const(3, "int8")
        d = R.dequantize(x, scale, zero)
        m = R.reshape(d, (2, 8))
        q = R.quantize(m, scale, zero)
        return q

    # A ReLU of dequantized integers is a maximum with their zero point.
    # CHECK-LABEL: def relu(
    # CHECK-NEXT: q: R.Tensor((4, 4), "int8") = R.maximum(x, R.const(3, "int8"))
    # CHECK-NEXT: return q
    @R.function
    def relu(x: R.Tensor((4, 4), "int8")) -> R.Tensor((4, 4), "int8"):
        scale = R.const(0.25, "float32")
        zero = R.const(3, "int8")
        d = R.dequantize(x, scale, zero)
        m = R.nn.relu(d)
        q = R.quantize(m, scale, zero)
        return q

    # A slice within an axis becomes a reshape and a slice, if the other axes stay unchanged.
    # CHECK-LABEL: def heads(
    # CHECK: R.reshape(x, (4, 4, 2))
    # CHECK-NEXT: {{.*}} = R.strided_slice(
    # CHECK: return
    @R.function
    def heads(x: R.Tensor((4, 8), "float32")) -> R.Tensor((4, 2, 2), "float32"):
        s = R.strided_slice(x, axes=[1], begin=[2], end=[6])
        return R.reshape(s, (4, 2, 2))

    # CHECK-LABEL: def others_change(
    # CHECK: {{.*}} = R.strided_slice(
    # CHECK: R.reshape({{.*}}, (2, 2, 4))
    # CHECK-NEXT: return
    @R.function
    def others_change(x: R.Tensor((4, 8), "float32")) -> R.Tensor((2, 2, 4), "float32"):
        s = R.strided_slice(x, axes=[1], begin=[4], end=[8])
        return R.reshape(s, (2, 2, 4))

    # CHECK-LABEL: def nothing_is_split(
    # CHECK: {{.*}} = R.strided_slice(
    # CHECK: R.reshape({{.*}}, (2, 8))
    # CHECK-NEXT: return
    @R.function
    def nothing_is_split(x: R.Tensor((4, 8), "float32")) -> R.Tensor((2, 8), "float32"):
        s = R.strided_slice(x, axes=[1], begin=[4], end=[8])
        return R.reshape(s, (2, 8))
