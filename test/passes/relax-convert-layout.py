# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-convert-layout='desired=relax.nn.conv2d:NHWC:OHWI' --print-script | FileCheck %s
"""Situations of Apache TVM's test_transform_convert_layout.py."""


# Data, kernel and result are converted. Signatures of functions stay unchanged.
# CHECK-LABEL: def convolution(
# CHECK: x_1: R.Tensor((2, 28, 28, 3), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((4, 5, 5, 3), "float32") = R.permute_dims(w, axes=(0, 2, 3, 1))
# CHECK-NEXT: y: R.Tensor((2, 24, 24, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((2, 4, 24, 24), "float32") = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: return y_1
def convolution(x: f32[2, 3, 28, 28], w: f32[4, 3, 5, 5]) -> f32[2, 4, 24, 24]:
    y = R.nn.conv2d(x, w)
    return y


# Later operators follow: the conversion moves to the end, where another layout is needed.
# CHECK-LABEL: def followed(
# CHECK: x_1: R.Tensor((2, 28, 28, 3), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((4, 5, 5, 3), "float32") = R.permute_dims(w, axes=(0, 2, 3, 1))
# CHECK-NEXT: y: R.Tensor((2, 24, 24, 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: z: R.Tensor((2, 24, 24, 4), "float32") = R.nn.relu(y)
# CHECK-NEXT: s: R.Tensor((2, 24, 24, 4), "float32") = R.add(z, R.const(1.0, "float32"))
# CHECK-NEXT: t: R.Tensor((2, 24, 24, 4), "float32") = R.multiply(s, z)
# CHECK-NEXT: t_1: R.Tensor((2, 4, 24, 24), "float32") = R.permute_dims(t, axes=(0, 3, 1, 2))
# CHECK-NEXT: return t_1
def followed(x: f32[2, 3, 28, 28], w: f32[4, 3, 5, 5]) -> f32[2, 4, 24, 24]:
    y = R.nn.conv2d(x, w)
    z = R.nn.relu(y)
    s = R.add(z, R.const(1.0, "float32"))
    t = R.multiply(s, z)
    return t


# One conversion serves all who want the same. Constants are converted now. Where only axes of size 1 change places,
# it is a reshape, which moves nothing.
# CHECK-LABEL: def shared(
# CHECK: r: R.Tensor((1, 2, 4, 4), "float32") = R.nn.relu(x)
# CHECK-NEXT: r_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(r, axes=(0, 2, 3, 1))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(
# CHECK-NEXT: r_1, R.const({{\[\[}}{{\[\[}}1.0, 2.0]]], {{\[\[}}[3.0, 4.0]]]], "float32"), data_layout="NHWC",
# CHECK-NEXT: kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: b: R.Tensor((1, 4, 4, 1), "float32") = R.nn.conv2d(
# CHECK-NEXT: r_1, R.const({{\[\[}}{{\[\[}}5.0, 6.0]]]], "float32"), data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: a_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(a, axes=(0, 3, 1, 2))
# CHECK-NEXT: b_1: R.Tensor((1, 1, 4, 4), "float32") = R.reshape(b, (1, 1, 4, 4))
# CHECK-NEXT: return a_1, b_1
def shared(x: f32[1, 2, 4, 4]) -> R.Tuple(f32[1, 2, 4, 4], f32[1, 1, 4, 4]):
    r = R.nn.relu(x)
    a = R.nn.conv2d(r, R.const([[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]], "float32"))
    b = R.nn.conv2d(r, R.const([[[[5.0]], [[6.0]]]], "float32"))
    return a, b


# Shortcuts: one conversion in, one out.
# CHECK-LABEL: def residual(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: s: R.Tensor((1, 4, 4, 2), "float32") = R.add(a, x_1)
# CHECK-NEXT: b: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(s, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: t: R.Tensor((1, 4, 4, 2), "float32") = R.add(b, s)
# CHECK-NEXT: y: R.Tensor((1, 4, 4, 2), "float32") = R.nn.relu(t)
# CHECK-NEXT: y_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: return y_1
def residual(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1]) -> f32[1, 2, 4, 4]:
    a = R.nn.conv2d(x, w)
    s = R.add(a, x)
    b = R.nn.conv2d(s, w)
    t = R.add(b, s)
    y = R.nn.relu(t)
    return y


# A sum in NHWC would need a conversion of z, and one of the result. Converting the first operand is cheaper.
# CHECK-LABEL: def cheaper_back(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: r: R.Tensor((1, 4, 4, 2), "float32") = R.nn.relu(a)
# CHECK-NEXT: r_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(r, axes=(0, 3, 1, 2))
# CHECK-NEXT: s: R.Tensor((1, 2, 4, 4), "float32") = R.add(r_1, z)
# CHECK-NEXT: y: R.Tensor((1, 2, 4, 4), "float32") = R.nn.relu(s)
# CHECK-NEXT: return y
def cheaper_back(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1], z: f32[1, 2, 4, 4]) -> f32[1, 2, 4, 4]:
    a = R.nn.conv2d(x, w)
    r = R.nn.relu(a)
    s = R.add(r, z)
    y = R.nn.relu(s)
    return y


# The number of bytes decides: an image is converted before it grows, and after it has shrunk. A mean needs no
# conversion.
# CHECK-LABEL: def small_ones(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: large: R.Tensor((1, 8, 8, 2), "float32") = R.image.resize2d(x_1, (8, 8), layout="NHWC")
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: c: R.Tensor((1, 8, 8, 2), "float32") = R.nn.conv2d(
# CHECK-NEXT: large, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: p: R.Tensor((1, 4, 4, 2), "float32") = R.nn.max_pool2d(
# CHECK-NEXT: c, pool_size=(2, 2), strides=(2, 2), layout="NHWC",
# CHECK-NEXT: )
# CHECK-NEXT: m: R.Tensor((1, 2), "float32") = R.mean(p, axis=(1, 2))
# CHECK-NEXT: return m
def small_ones(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1]) -> f32[1, 2]:
    large = R.image.resize2d(x, R.shape((8, 8)))
    c = R.nn.conv2d(large, w)
    p = R.nn.max_pool2d(c, pool_size=(2, 2), strides=(2, 2))
    m = R.mean(p, axis=[2, 3])
    return m


# A broadcast operand gets its missing dimensions.
# CHECK-LABEL: def biases(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: b_1: R.Tensor((1, 1, 1, 2), "float32") = R.reshape(b, (1, 1, 1, 2))
# CHECK-NEXT: s: R.Tensor((1, 4, 4, 2), "float32") = R.add(a, b_1)
# CHECK-NEXT: t: R.Tensor((1, 4, 4, 2), "float32") = R.multiply(s, R.const({{\[\[}}{{\[\[}}1.0, 2.0]]]], "float32"))
# CHECK-NEXT: rows_1: R.Tensor((1, 4, 4, 1), "float32") = R.reshape(rows, (1, 4, 4, 1))
# CHECK-NEXT: u: R.Tensor((1, 4, 4, 2), "float32") = R.subtract(rows_1, t)
# CHECK-NEXT: u_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(u, axes=(0, 3, 1, 2))
# CHECK-NEXT: return u_1
def biases(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1], b: f32[2, 1, 1], rows: f32[4, 4]) -> f32[1, 2, 4, 4]:
    a = R.nn.conv2d(x, w)
    s = R.add(a, b)
    t = R.multiply(s, R.const([[[[1.0]], [[2.0]]]], "float32"))
    u = R.subtract(rows, t)
    return u


# Transposes that are there already are taken for conversions.
# CHECK-LABEL: def cancelled(
# CHECK: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: r: R.Tensor((1, 4, 4, 2), "float32") = R.nn.relu(a)
# CHECK-NEXT: return r
def cancelled(x: f32[1, 4, 4, 2], w: f32[2, 2, 1, 1]) -> f32[1, 4, 4, 2]:
    n = R.permute_dims(x, axes=[0, 3, 1, 2])
    a = R.nn.conv2d(n, w)
    r = R.nn.relu(a)
    y = R.permute_dims(r, axes=[0, 2, 3, 1])
    return y


# Behind a global pool nothing has to be moved.
# CHECK-LABEL: def pooled(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: p: R.Tensor((1, 1, 1, 2), "float32") = R.nn.adaptive_avg_pool2d(a, output_size=(1, 1), layout="NHWC")
# CHECK-NEXT: p_1: R.Tensor((1, 2, 1, 1), "float32") = R.reshape(p, (1, 2, 1, 1))
# CHECK-NEXT: f: R.Tensor((1, 2), "float32") = R.reshape(p_1, (1, 2))
# CHECK-NEXT: return f
def pooled(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1]) -> f32[1, 2]:
    a = R.nn.conv2d(x, w)
    p = R.nn.adaptive_avg_pool2d(a, output_size=(1, 1))
    f = R.reshape(p, R.shape((1, 2)))
    return f


# Control flow keeps its types. Outer values that are used inside are converted once, at their definition.
# CHECK-LABEL: def control(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: if c:
# CHECK-NEXT: a: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, 4, 4, 2), "float32") = R.nn.relu(a)
# CHECK-NEXT: y_2: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(y_1, axes=(0, 3, 1, 2))
# CHECK-NEXT: y = y_2
# CHECK-NEXT: else:
# CHECK-NEXT: b: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: y_1: R.Tensor((1, 4, 4, 2), "float32") = R.exp(b)
# CHECK-NEXT: y_2: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(y_1, axes=(0, 3, 1, 2))
# CHECK-NEXT: y = y_2
# CHECK-NEXT: y_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(y, axes=(0, 2, 3, 1))
# CHECK-NEXT: z: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(y_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: z_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(z, axes=(0, 3, 1, 2))
# CHECK-NEXT: return z_1
def control(c: T.bool, x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1]) -> f32[1, 2, 4, 4]:
    if c:
        a = R.nn.conv2d(x, w)
        y = R.nn.relu(a)
    else:
        b = R.nn.conv2d(x, w)
        y = R.exp(b)
    z = R.nn.conv2d(y, w)
    return z


# CHECK-LABEL: def repeated(
# CHECK: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: for i in range(8):
# CHECK-NEXT: permute_dims_0: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(
# CHECK-NEXT: permute_dims_0, w_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: x_2: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(x_1, axes=(0, 3, 1, 2))
# CHECK-NEXT: x = x_2
# CHECK-NEXT: return x
def repeated(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1]) -> f32[1, 2, 4, 4]:
    for i in range(0, 8):
        x = R.nn.conv2d(x, w)
    return x


# Sizes with names, and without.
# CHECK-LABEL: def symbols(
# CHECK: x_1: R.Tensor(("n", "h", "w", "c"), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: k_1: R.Tensor((4, 3, 3, "c"), "float32") = R.permute_dims(k, axes=(0, 2, 3, 1))
# CHECK-NEXT: y: R.Tensor(("n", "h - 2", "w - 2", 4), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, k_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: z: R.Tensor(("n", "h - 2", "w - 2", 4), "float32") = R.nn.relu(y)
# CHECK-NEXT: z_1: R.Tensor(("n", 4, "h - 2", "w - 2"), "float32") = R.permute_dims(z, axes=(0, 3, 1, 2))
# CHECK-NEXT: return z_1
def symbols(x: f32[n, c, h, w], k: f32[4, c, 3, 3]) -> f32[n, 4, h - 2, w - 2]:
    y = R.nn.conv2d(x, k)
    z = R.nn.relu(y)
    return z


# CHECK-LABEL: def only_rank(
# CHECK: x_1: R.Tensor(("?", "?", "?", "?"), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: k_1: R.Tensor(("?", "?", "?", "?"), "float32") = R.permute_dims(k, axes=(0, 2, 3, 1))
# CHECK-NEXT: y: R.Tensor(("?", "?", "?", "?"), "float32") = R.nn.conv2d(
# CHECK-NEXT: x_1, k_1, data_layout="NHWC", kernel_layout="OHWI",
# CHECK-NEXT: )
# CHECK-NEXT: z = R.match_cast(y, out_sinfo=R.Tensor(("n", "?", "?", 4), "float32"))
# CHECK-NEXT: z_1: R.Tensor(("n", 4, "?", "?"), "float32") = R.permute_dims(z, axes=(0, 3, 1, 2))
# CHECK-NEXT: return z_1
def only_rank(x: f32["?", "?", "?", "?"], k: f32["?", "?", "?", "?"]) -> f32[n, 4, "?", "?"]:
    y = R.nn.conv2d(x, k)
    z: f32[n, 4, "?", "?"] = R.match_cast(y)
    return z


# A tensor without a rank stays unchanged.
# CHECK-LABEL: def no_rank(
# CHECK: x_1: R.Tensor((1, 4, 4, 2), "float32") = R.permute_dims(x, axes=(0, 2, 3, 1))
# CHECK-NEXT: w_1: R.Tensor((2, 1, 1, 2), "float32") = R.reshape(w, (2, 1, 1, 2))
# CHECK-NEXT: y: R.Tensor((1, 4, 4, 2), "float32") = R.nn.conv2d(x_1, w_1, data_layout="NHWC", kernel_layout="OHWI")
# CHECK-NEXT: y_1: R.Tensor((1, 2, 4, 4), "float32") = R.permute_dims(y, axes=(0, 3, 1, 2))
# CHECK-NEXT: z: R.Tensor("float32") = R.add(u, y_1)
# CHECK-NEXT: return z
def no_rank(x: f32[1, 2, 4, 4], w: f32[2, 2, 1, 1], u: R.Tensor("float32")) -> R.Tensor("float32"):
    y = R.nn.conv2d(x, w)
    z = R.add(u, y)
    return z
