# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-winograd='target=llvm{winograd=4 vector-bytes=64 caches=32K,1M cores=1}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --llvm-winograd='target=llvm{winograd=2 vector-bytes=64 caches=32K,1M cores=1}' --print-script | FileCheck %s --check-prefix=SMALL
# RUN: graphs %s | relax-opt - --llvm-winograd='target=llvm{vector-bytes=64}' --print-script | FileCheck %s --check-prefix=NONE
"""Convolutions of 3x3 taps by tiles, if the target's option requests it and it is faster."""

# NONE-NOT: winograd


# Tiles of 6x6 numbers, panels of two vectors; of 196 tiles 14 are worked on at once, half of them in registers.
# CHECK-LABEL: def plain(
# CHECK: R.nn.conv2d_winograd(
# CHECK-NEXT: x, {{.*}}, padding=(1, 1, 1, 1), rows=7, tiles=14,
# SMALL-LABEL: def plain(
# SMALL: R.nn.conv2d_winograd(
# SMALL-NEXT: x, {{.*}}, padding=(1, 1, 1, 1), rows=8, tiles=16,
def plain(x: f32[1, 4, 56, 56, 16]) -> f32[1, 4, 56, 56, 16]:
    w = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "float32"))
    y = R.nn.conv2d(x, w, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    return y


# A number for each channel, another tensor from either side, and a relu become part of it.
# CHECK-LABEL: def with_more(
# CHECK: R.nn.conv2d_winograd(
# CHECK-NEXT: x, {{.*}}, R.const(0.5, R.Tensor((2, 32), "float32")), other, padding=(1, 1, 0, 0), relu=True, rows=7,
# CHECK-NEXT: tiles=49,
# CHECK-NEXT: )
# CHECK-NEXT: return
def with_more(x: f32[1, 4, 28, 29, 16], other: f32[1, 4, 27, 28, 16]) -> f32[1, 4, 27, 28, 16]:
    w = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "float32"))
    b = R.const(0.5, R.Tensor((1, 4, 1, 1, 16), "float32"))
    y = R.nn.conv2d(x, w, padding=(1, 1, 0, 0), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    z = R.add(b, y)
    v = R.add(other, z)
    p = R.nn.relu(v)
    return p


# A tensor with other readers stays, with its users, and so does a tensor that is added to itself.
# CHECK-LABEL: def read_twice(
# CHECK: [[W:w.*]] = I.const(I.resource(
# CHECK: [[Y:y.*]]: {{.*}} = R.nn.conv2d_winograd(
# CHECK-NEXT: x, [[W]], padding=(1, 1, 1, 1), rows=10, tiles=20,
# CHECK: z: {{.*}} = R.nn.relu([[Y]])
# CHECK-NEXT: R.add([[Y]], z)
# CHECK-NEXT: [[V:y2.*]]: {{.*}} = R.nn.conv2d_winograd(
# CHECK-NEXT: p, [[W]],
# CHECK: R.add([[V]], [[V]])
def read_twice(x: f32[n, 4, h, 14, 16]) -> f32[n, 4, h, 14, 16]:
    w = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "float32"))
    y = R.nn.conv2d(x, w, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    z = R.nn.relu(y)
    p = R.add(y, z)
    y2 = R.nn.conv2d(p, w, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    q = R.add(y2, y2)
    return q


# Four tiles do not make up for reading four times as much of a kernel, more tiles of fewer results do; or nothing.
# CHECK-LABEL: def few_tiles(
# CHECK: R.nn.conv2d_winograd(
# CHECK-NEXT: x, {{.*}}, padding=(1, 1, 1, 1), rows=8, tiles=16,
# CHECK-NOT: winograd
# CHECK: return
def few_tiles(x: f32[1, 4, 7, 7, 16], z: f32[1, 4, 3, 3, 16]) -> R.Tuple(f32[1, 4, 7, 7, 16], f32[1, 4, 3, 3, 16]):
    w = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "float32"))
    y = R.nn.conv2d(x, w, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    v = R.nn.conv2d(z, w, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    return (y, v)


# Other steps, taps, gaps, paddings, element types, groups, layouts; a kernel that only a call has.
# CHECK-LABEL: def as_they_are(
# CHECK-NOT: winograd
# CHECK: return
def as_they_are(
    x: f32[1, 4, 28, 28, 16], k: f32[4, 3, 3, 4, 16, 16], half: bf16[1, 4, 28, 28, 16], rows: f32[1, 64, 28, 28]
) -> R.Tuple(
    f32[1, 4, 14, 14, 16],
    f32[1, 4, 26, 26, 16],
    f32[1, 4, 26, 26, 16],
    f32[1, 4, 30, 30, 16],
    bf16[1, 4, 28, 28, 16],
    f32[1, 4, 28, 28, 16],
    f32[1, 64, 28, 28],
    f32[1, 4, 28, 28, 16],
):
    w = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "float32"))
    w5 = R.const(0.0, R.Tensor((4, 5, 5, 4, 16, 16), "float32"))
    wh = R.const(0.0, R.Tensor((4, 3, 3, 4, 16, 16), "bfloat16"))
    wg = R.const(0.0, R.Tensor((4, 1, 3, 3, 16), "float32"))
    wr = R.const(0.0, R.Tensor((64, 64, 3, 3), "float32"))
    a = R.nn.conv2d(x, w, strides=(2, 2), padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    b = R.nn.conv2d(x, w5, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    c = R.nn.conv2d(x, w, dilation=(2, 2), padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    d = R.nn.conv2d(x, w, padding=(2, 2, 2, 2), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    e = R.nn.conv2d(half, wh, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    f = R.nn.conv2d(x, wg, padding=(1, 1, 1, 1), groups=64, data_layout="NCHW16c", kernel_layout="OIHW16o")
    g = R.nn.conv2d(rows, wr, padding=(1, 1, 1, 1))
    h = R.nn.conv2d(x, k, padding=(1, 1, 1, 1), data_layout="NCHW16c", kernel_layout="OHWI16i16o")
    return (a, b, c, d, e, f, g, h)
