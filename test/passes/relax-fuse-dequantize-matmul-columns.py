# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fuse-dequantize-matmul=columns=true --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-fuse-dequantize-matmul --print-script | FileCheck %s --check-prefix=WITHOUT
"""A column with a single scale is one block, if the option requests this."""


# A last word of a column may have codes that nothing reads; codes and zero points are from 0 on.
# CHECK-LABEL: def by_column(
# CHECK: y = R.const({{\[\[\[}}129, 131, 133, 135, 137, 139, 0, 0]], {{\[\[}}130, 132,
# CHECK: R.matmul_nbits(
# CHECK-NEXT: x, y, R.const({{\[\[}}1.0], [2.0]], "float32"), R.const({{\[\[}}128], [131]], "uint8"),{{.*}}=8,
# WITHOUT-LABEL: def by_column(
# WITHOUT: R.dequantize(
# WITHOUT: R.matmul(
def by_column(x: f32[n, 6]) -> f32[n, 2]:
    w = R.const([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]], "int8")
    y = R.matmul(x, R.dequantize(w, R.const([1.0, 2.0], "float32"), R.const([0, 3], "int8"), axis=1))
    return y


# CHECK-LABEL: def one_for_all(
# CHECK: R.matmul_nbits(
# CHECK-NEXT: x, R.const(5, R.Tensor((3, 1, 4), "uint8")), R.const(0.5, R.Tensor((3, 1), "float32")),
# CHECK-NEXT: R.const(0, R.Tensor((3, 1), "uint8")), bits=8, block_size=4,
# CHECK: return
def one_for_all(x: f32[n, 4]) -> f32[n, 3]:
    w = R.const(5, R.Tensor((3, 4), "uint8"))
    y = R.matmul(x, R.permute_dims(R.dequantize(w, R.const(0.5, "float32"), R.const(0, "uint8"), axis=0)))
    return y


# Scales along the summed dimension, and codes as arguments.
# CHECK-LABEL: def as_it_is(
# CHECK-NOT: nbits
# CHECK: return
def as_it_is(x: f32[n, 4], c: i8[4, 3]) -> R.Tuple(f32[n, 3], f32[n, 3]):
    zero = R.const(0, "int8")
    w = R.const(5, R.Tensor((4, 3), "int8"))
    y = R.matmul(x, R.dequantize(w, R.const([1.0, 2.0, 3.0, 4.0], "float32"), zero, axis=0))
    z = R.matmul(x, R.dequantize(c, R.const(0.5, "float32"), zero, axis=0))
    return y, z
