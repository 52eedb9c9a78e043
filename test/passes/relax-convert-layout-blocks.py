# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-convert-layout='desired=relax.nn.conv2d:NCHW4c:OIHW4i4o' --print-script | FileCheck %s
"""Situations of Apache TVM's test_transform_convert_layout.py (sub-indexed), test_optimize_layout_transform.py."""


# Channels in blocks: later operators work on blocks, and broadcast parameters are blocked, too.
# CHECK-LABEL: def followed(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor((2, 2, 3, 3, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 4, 4, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: b_1: R.Tensor((1, 2, 1, 1, 4), "float32") = R.reshape(b, (1, 2, 1, 1, 4))
# CHECK-NEXT: s: R.Tensor((1, 2, 4, 4, 4), "float32") = R.add(y, b_1)
# CHECK-NEXT: r: R.Tensor((1, 2, 4, 4, 4), "float32") = R.nn.relu(s)
# CHECK-NEXT: p: R.Tensor((1, 2, 2, 2, 4), "float32") = R.nn.max_pool2d(
# CHECK-NEXT: r, pool_size=(2, 2), strides=(2, 2), layout="NCHW4c",
# CHECK-NEXT: )
# CHECK-NEXT: p_1: R.Tensor((1, 8, 2, 2), "float32") = R.layout_transform(
# CHECK-NEXT: p, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return p_1
def followed(x: f32[1, 8, 6, 6], w: f32[8, 8, 3, 3], b: f32[8, 1, 1]) -> f32[1, 8, 2, 2]:
    y = R.nn.conv2d(x, w)
    s = R.add(y, b)
    r = R.nn.relu(s)
    p = R.nn.max_pool2d(r, pool_size=(2, 2), strides=(2, 2))
    return p


# Maxima take both axes of the channels. Sums take whole channels: blocks, and so the order, differ between CPUs.
# CHECK-LABEL: def reduced(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor((2, 2, 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: largest: R.Tensor((1, 6, 6), "float32") = R.max(y, axis=(1, 4))
# CHECK-NEXT: y_1: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: y, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: mean: R.Tensor((1, 1, 6, 6), "float32") = R.mean(y_1, axis=(1,), keepdims=True)
# CHECK-NEXT: centered: R.Tensor((1, 8, 6, 6), "float32") = R.subtract(y_1, mean)
# CHECK-NEXT: return largest, centered
def reduced(x: f32[1, 8, 6, 6], w: f32[8, 8, 1, 1]) -> R.Tuple(f32[1, 6, 6], f32[1, 8, 6, 6]):
    y = R.nn.conv2d(x, w)
    largest = R.max(y, axis=[1])
    mean = R.mean(y, axis=[1], keepdims=True)
    centered = R.subtract(y, mean)
    return largest, centered


# Who goes along the channels wants them in one piece.
# CHECK-LABEL: def along_channels(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor((2, 2, 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: rows: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.softmax(y, axis=3)
# CHECK-NEXT: z: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: rows, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: z_1: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: z, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: channels: R.Tensor((1, 8, 6, 6), "float32") = R.nn.softmax(z_1, axis=1)
# CHECK-NEXT: rows_1: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: rows, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return rows_1, channels
def along_channels(x: f32[1, 8, 6, 6], w: f32[8, 8, 1, 1]) -> R.Tuple(f32[1, 8, 6, 6], f32[1, 8, 6, 6]):
    y = R.nn.conv2d(x, w)
    rows = R.nn.softmax(y, axis=3)
    z = R.nn.conv2d(rows, w)
    channels = R.nn.softmax(z, axis=1)
    return rows, channels


# Whole blocks are joined and sliced directly; 2 of 4 channels are no whole block.
# CHECK-LABEL: def joined(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor((2, 2, 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: split_0, split_1 = R.split(
# CHECK-NEXT: y, indices_or_sections=(1,), axis=1,
# CHECK-NEXT: out_sinfo=[R.Tensor((1, 1, 6, 6, 4), "float32"), R.Tensor((1, 1, 6, 6, 4), "float32")],
# CHECK-NEXT: )
# CHECK-NEXT: r: R.Tensor((1, 1, 6, 6, 4), "float32") = R.nn.relu(split_0)
# CHECK-NEXT: c: R.Tensor((1, 3, 6, 6, 4), "float32") = R.concat((r, y), axis=1)
# CHECK-NEXT: d: R.Tensor((1, 3, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: c, R.const(1.0, R.Tensor((3, 3, 1, 1, 4, 4), "float32")), data_layout="NCHW4c",
# CHECK-NEXT: kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: y, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: split_2, split_3 = R.split(
# CHECK-NEXT: y_1, indices_or_sections=(2,), axis=1,
# CHECK-NEXT: out_sinfo=[R.Tensor((1, 2, 6, 6), "float32"), R.Tensor((1, 6, 6, 6), "float32")],
# CHECK-NEXT: )
# CHECK-NEXT: d_1: R.Tensor((1, 12, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: d, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return d_1, split_2
def joined(x: f32[1, 8, 6, 6], w: f32[8, 8, 1, 1]) -> R.Tuple(f32[1, 12, 6, 6], f32[1, 2, 6, 6]):
    y = R.nn.conv2d(x, w)
    left, right = R.split(y, indices_or_sections=[4], axis=1)
    r = R.nn.relu(left)
    c = R.concat([r, y], axis=1)
    d = R.nn.conv2d(c, R.const(1.0, R.Tensor((12, 12, 1, 1), "float32")))
    few, rest = R.split(y, indices_or_sections=[2], axis=1)
    return d, few


# Three channels do not fill a block, nor do 10; n blocks of 4 do.
# CHECK-LABEL: def not_full(
# CHECK: y: R.Tensor((1, 10, 6, 6), "float32") = R.nn.conv2d(x, w)
# CHECK-NEXT: return y
def not_full(x: f32[1, 3, 6, 6], w: f32[10, 3, 1, 1]) -> f32[1, 10, 6, 6]:
    y = R.nn.conv2d(x, w)
    return y


# CHECK-LABEL: def any_size(
# CHECK: y: R.Tensor((1, 8, 6, 6), "float32") = R.nn.conv2d(x, w)
# CHECK-NEXT: return y
def any_size(x: f32[1, c, 6, 6], w: f32[8, c, 1, 1]) -> f32[1, 8, 6, 6]:
    y = R.nn.conv2d(x, w)
    return y


# CHECK-LABEL: def symbolic_blocks(
# CHECK: x_1: R.Tensor((1, "n", 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor(("2*n", "n", 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, "2*n", 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, "8*n", 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: y, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return y_1
def symbolic_blocks(x: f32[1, 4 * n, 6, 6], w: f32[8 * n, 4 * n, 1, 1]) -> f32[1, 8 * n, 6, 6]:
    y = R.nn.conv2d(x, w)
    return y


# A pair of layout_transforms around a convolution that is already blocked, and operators between two such
# convolutions.
# CHECK-LABEL: def in_blocks(
# CHECK: b: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: b, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: r: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.relu(y)
# CHECK-NEXT: z: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: r, R.const(1.0, R.Tensor((2, 2, 1, 1, 4, 4), "float32")), data_layout="NCHW4c",
# CHECK-NEXT: kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: s: R.Tensor((1, 2, 6, 6, 4), "float32") = R.exp(z)
# CHECK-NEXT: v: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: s, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: q: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: v, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return q
def in_blocks(x: f32[1, 8, 6, 6], w: f32[2, 2, 1, 1, 4, 4]) -> f32[1, 8, 6, 6]:
    b = R.layout_transform(x, index_map=I.attr("affine_map<(n, c, h, w) -> (n, c floordiv 4, h, w, c mod 4)>"))
    y = R.nn.conv2d(b, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o")
    p = R.layout_transform(y, index_map=I.attr("affine_map<(n, c, h, w, k) -> (n, c * 4 + k, h, w)>"))
    r = R.nn.relu(p)
    z = R.nn.conv2d(r, R.const(1.0, R.Tensor((8, 8, 1, 1), "float32")))
    s = R.exp(z)
    c = R.layout_transform(s, index_map=I.attr("affine_map<(n, c, h, w) -> (n, c floordiv 4, h, w, c mod 4)>"))
    v = R.nn.conv2d(c, w, data_layout="NCHW4c", kernel_layout="OIHW4i4o")
    q = R.layout_transform(v, index_map=I.attr("affine_map<(n, c, h, w, k) -> (n, c * 4 + k, h, w)>"))
    return q


# From another layout.
# CHECK-LABEL: def from_channels_last(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d3 floordiv 4, d1, d2, d3 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: w_1: R.Tensor((2, 2, 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: w,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d3 floordiv 4, d1, d2, d3 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, 6, 6, 8), "float32") = R.layout_transform(
# CHECK-NEXT: y, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d1 * 4 + d4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: return y_1
def from_channels_last(x: f32[1, 6, 6, 8], w: f32[8, 1, 1, 8]) -> f32[1, 6, 6, 8]:
    y = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI")
    return y


# A group has two channels, which fill no block.
# CHECK-LABEL: def groups(
# CHECK: x_1: R.Tensor((1, 2, 6, 6, 4), "float32") = R.layout_transform(
# CHECK-NEXT: x, index_map=I.attr("affine_map<(d0, d1, d2, d3) -> (d0, d1 floordiv 4, d2, d3, d1 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: v_1: R.Tensor((2, 2, 1, 1, 4, 4), "float32") = R.layout_transform(
# CHECK-NEXT: v,
# CHECK-NEXT: index_map=I.attr("affine_map<{{.*}} -> (d0 floordiv 4, d1 floordiv 4, d2, d3, d1 mod 4, d0 mod 4)>"),
# CHECK-NEXT: )
# CHECK-NEXT: y: R.Tensor((1, 2, 6, 6, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, v_1, data_layout="NCHW4c", kernel_layout="OIHW4i4o",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, 8, 6, 6), "float32") = R.layout_transform(
# CHECK-NEXT: y, index_map=I.attr("affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 4 + d4, d2, d3)>"),
# CHECK-NEXT: )
# CHECK-NEXT: z: R.Tensor((1, 8, 6, 6), "float32") = R.nn.conv2d(y_1, w, groups=4)
# CHECK-NEXT: return z
def groups(x: f32[1, 8, 6, 6], w: f32[8, 2, 1, 1], v: f32[8, 8, 1, 1]) -> f32[1, 8, 6, 6]:
    y = R.nn.conv2d(x, v)
    z = R.nn.conv2d(y, w, groups=4)
    return z
