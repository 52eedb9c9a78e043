# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --llvm-block-channels='target=llvm{cpu=skylake-avx512}' --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --llvm-block-channels='target=llvm{cpu=haswell}' --print-script | FileCheck %s --check-prefix=SHORT
"""Convolutions of known weights on blocks of channels with a vector's length, or on shorter blocks that divide them.

Where vectors have no masks, blocks are powers of two.
"""


# The first convolution reads images directly, operators between two follow, and the end is unchanged.
# CHECK-LABEL: def network(
# CHECK: R.nn.conv2d(
# CHECK-NEXT: x, {{.*}}, kernel_layout="OIHW16o", out_layout="NCHW16c",
# CHECK: R.nn.relu({{.*}}
# CHECK-NOT: layout_transform
# CHECK: R.nn.conv2d(
# CHECK-NEXT: {{.*}}, data_layout="NCHW16c", kernel_layout="OHWI16i12o", out_layout="NCHW12c",
# CHECK: R.layout_transform(
# CHECK: return
# SHORT-LABEL: def network(
# SHORT: kernel_layout="OIHW8o", out_layout="NCHW8c",
# SHORT: data_layout="NCHW8c", kernel_layout="OHWI8i8o",
def network(x: f32[n, 3, 9, 9]) -> f32[n, 24, 5, 5]:
    w = R.const(1.0, R.Tensor((32, 3, 3, 3), "float32"))
    y = R.nn.conv2d(x, w)
    z = R.nn.relu(y)
    v = R.const(1.0, R.Tensor((24, 32, 3, 3), "float32"))
    p = R.nn.conv2d(z, v)
    return p


# Pooling, resizing and norms follow as well.
# CHECK-LABEL: def around(
# CHECK: R.nn.conv2d(
# CHECK-NOT: layout_transform
# CHECK: R.nn.max_pool2d(
# CHECK-NEXT: y, pool_size=(2, 2), strides=(2, 2), layout="NCHW16c",
# CHECK-NOT: layout_transform
# CHECK: R.image.resize2d({{.*}}, layout="NCHW16c")
# CHECK-NOT: layout_transform
# CHECK: R.nn.conv2d(
# CHECK-NOT: layout_transform
# CHECK: R.mean({{.*}}, axis=(2, 3), keepdims=True)
# CHECK-NOT: layout_transform
# CHECK: R.nn.conv2d(
# CHECK: R.layout_transform(
# CHECK: return
def around(x: f32[n, 16, 18, 18], g: f32[32]) -> f32[n, 16, 16, 16]:
    w = R.const(1.0, R.Tensor((32, 16, 3, 3), "float32"))
    y = R.nn.conv2d(x, w)
    p = R.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2))
    q = R.image.resize2d(p, (16, 16))
    v = R.const(1.0, R.Tensor((32, 32, 1, 1), "float32"))
    z = R.nn.conv2d(q, v)
    n = R.nn.instance_norm(z, g, g, channel_axis=1, axes=[2, 3])
    u = R.const(1.0, R.Tensor((16, 32, 1, 1), "float32"))
    r = R.nn.conv2d(n, u)
    return r


# A kernel for each channel.
# CHECK-LABEL: def by_channel(
# CHECK: data_layout="NCHW16c", kernel_layout="OIHW16o",
def by_channel(x: f32[1, 48, 9, 9]) -> f32[1, 48, 7, 7]:
    w = R.const(1.0, R.Tensor((48, 1, 3, 3), "float32"))
    y = R.nn.conv2d(x, w, groups=48)
    return y


# Weights that only a call has would be packed in each; odd numbers of channels make no blocks, nor do groups.
# CHECK-LABEL: def as_it_is(
# CHECK-NOT: 16
# CHECK-NOT: layout
# CHECK: return
def as_it_is(x: f32[1, 8, 9, 9], w: f32[8, 8, 3, 3]) -> f32[1, 7, 3, 3]:
    y = R.nn.conv2d(x, w)
    v = R.const(1.0, R.Tensor((7, 8, 3, 3), "float32"))
    z = R.nn.conv2d(y, v)
    u = R.const(1.0, R.Tensor((7, 1, 3, 3), "float32"))
    p = R.nn.conv2d(z, u, groups=7)
    return p
