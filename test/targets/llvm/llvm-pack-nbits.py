# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-pack-nbits='target=llvm{vector-bytes=64}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --llvm-pack-nbits='target=llvm{cpu=haswell}' --print-script | FileCheck %s --check-prefix=SHORT
"""Known weights of few bits in the order of vector loads: words of adjacent columns alternate."""


# Panels are four vectors wide, the last one is filled up; with fewer columns they are narrower.
# CHECK-LABEL: def wide(
# CHECK: R.matmul_nbits_panels(x, {{.*}}, columns=100, lanes=16, rows=6)
# SHORT-LABEL: def wide(
# SHORT: R.matmul_nbits_panels(x, {{.*}}, columns=100, lanes=8, rows=3)
def wide(x: f32[n, 32]) -> f32[n, 100]:
    w = R.const(1, R.Tensor((100, 1, 16), "uint8"))
    s = R.const(1.0, R.Tensor((100, 1), "float32"))
    y = R.matmul_nbits(x, w, s)
    return y


# Two columns: their words alternate, with zeros at the end.
# CHECK-LABEL: def order(
# CHECK: R.const({{\[\[\[}}1.0, 3.0, 0.0, {{.*}}], [2.0, 4.0, 0.0,
# CHECK: R.const({{\[\[\[}}5, 7, 0, {{.*}}], [6, 8, 0,
# CHECK: R.const({{\[\[}}0.5, 1.5, 0.0,
# CHECK: bits=8, block_size=8, columns=2, lanes=16
def order(x: f32[1, 16]) -> f32[1, 2]:
    w = R.const(
        [
            [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]],
            [[16, 17, 18, 19, 20, 21, 22, 23], [24, 25, 26, 27, 28, 29, 30, 31]],
        ],
        "uint8",
    )
    s = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
    z = R.const([[5, 6], [7, 8]], "uint8")
    b = R.const([0.5, 1.5], "float32")
    y = R.matmul_nbits(x, w, s, z, b, bits=8, block_size=8)
    return y


# Rounded rows have products of integers: panels are the same.
# CHECK-LABEL: def rounded(
# CHECK: columns=100, lanes=16, rows=6, activation_bits=8
def rounded(x: f32[n, 32]) -> f32[n, 100]:
    w = R.const(1, R.Tensor((100, 1, 16), "uint8"))
    s = R.const(1.0, R.Tensor((100, 1), "float32"))
    y = R.matmul_nbits(x, w, s, activation_bits=8)
    return y


# Weights that are arguments would be packed in each call.
# CHECK-LABEL: def as_it_is(
# CHECK: R.matmul_nbits(x, w, s)
# CHECK: R.matmul_nbits(x, R.const(1, R.Tensor((100, 1, 16), "uint8")), s)
def as_it_is(x: f32[n, 32], w: u8[100, 1, 16], s: f32[100, 1]) -> R.Tuple(f32[n, 100], f32[n, 100]):
    y = R.matmul_nbits(x, w, s)
    c = R.const(1, R.Tensor((100, 1, 16), "uint8"))
    z = R.matmul_nbits(x, c, s)
    return y, z


# A table with the codes of a product: rows come from the panels, at the positions of their bytes.
# CHECK-LABEL: def tied(
# CHECK: [[ROW:[a-z0-9_]+]]: R.Tensor(("m",), "int64") = R.take(R.const([0, 1], "int64"), i, axis=0)
# CHECK: R.floor_divide([[ROW]], R.const(16, "int64"))
# CHECK: R.floor_mod([[ROW]], R.const(16, "int64"))
# CHECK: R.take({{.*}}, mode="clip")
# CHECK: R.take(
# CHECK-NEXT: R.const({{.*}}"float32"), i, axis=0,
# CHECK: R.matmul_nbits_panels(
def tied(x: f32[n, 16], i: i32[m]) -> R.Tuple(u8[m, 2, 8], f32[m, 3], f32[n, 2]):
    w = R.const(
        [
            [[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]],
            [[16, 17, 18, 19, 20, 21, 22, 23], [24, 25, 26, 27, 28, 29, 30, 31]],
        ],
        "uint8",
    )
    s = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
    others = R.const([[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]], "float32")
    t = R.take(w, i, axis=0)
    u = R.take(others, i, axis=0)
    y = R.matmul_nbits(x, w, s, bits=8, block_size=8)
    return t, u, y


# CHECK: I.resource({{.*}}tensor<2x4x256xui8>
# CHECK: I.resource({{.*}}0x0001020310111213000000
# CHECK-SAME: 0004050607141516170000
# SHORT: I.resource({{.*}}tensor<4x4x128xui8>
