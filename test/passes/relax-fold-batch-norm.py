# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-fold-batch-norm --print-script | FileCheck %s
"""Folding with powers of two as numbers, so that folded numbers are exact in the text.

Results are compared in test/python/passes/test_fold_batch_norm.py. Counterpart in Apache TVM:
test_transform_fold_batch_norm_to_conv2d.py.
"""


# (x * w - mean) / sqrt(variance) * gamma + beta, where gamma / sqrt(variance) is 2 for both channels.
# CHECK-LABEL: def convolution(
# CHECK-NEXT: conv2d_0: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: x, R.const({{\[\[\[\[2.0\]\]\], \[\[\[6.0\]\]\]\]}}, "float32"),
# CHECK-NEXT: )
# CHECK-NEXT: add_0: {{.*}} = R.add(conv2d_0, R.const({{\[\[\[\[1.0\]\], \[\[0.0\]\]\]\]}}, "float32"))
# CHECK-NEXT: return add_0
def convolution(x: f32[n, 1, 8, 8]) -> f32[n, 2, 8, 8]:
    w = R.const([[[[1.0]]], [[[3.0]]]], "float32")
    gamma = R.const([4.0, 8.0], "float32")
    beta = R.const([1.0, 2.0], "float32")
    mean = R.const([0.0, 1.0], "float32")
    variance = R.const([4.0, 16.0], "float32")
    c = R.nn.conv2d(x, w)
    y, m, v = R.nn.batch_norm(c, gamma, beta, mean, variance, axis=1, epsilon=0.0, training=False)
    return y


# A bias in between is scaled, too, so that a single addition is left. Moving mean and variance of inference stay
# unchanged.
# CHECK-LABEL: def bias(
# CHECK: x, R.const({{\[\[\[\[2.0\]\]\], \[\[\[6.0\]\]\]\]}}, "float32"), data_layout="NHWC",
# CHECK-NEXT: )
# CHECK-NEXT: add_0: {{.*}} = R.add(conv2d_0, R.const({{\[\[\[\[21.0, 41.0\]\]\]\]}}, "float32"))
# CHECK-NEXT: return add_0, R.const(0.0, {{.*}}), R.const([4.0, 16.0], "float32")
def bias(x: f32[1, 8, 8, 1]) -> R.Tuple(f32[1, 8, 8, 2], f32[2], f32[2]):
    w = R.const([[[[1.0]]], [[[3.0]]]], "float32")
    b = R.const([10.0, 20.0], "float32")
    gamma = R.const([4.0, 8.0], "float32")
    beta = R.const([1.0, 1.0], "float32")
    mean = R.const([0.0, 0.0], "float32")
    variance = R.const([4.0, 16.0], "float32")
    c = R.nn.conv2d(x, w, data_layout="NHWC")
    d = R.add(b, c)
    y, m, v = R.nn.batch_norm(d, gamma, beta, mean, variance, axis=-1, epsilon=0.0, training=False)
    return y, m, v


# Without weights before it, the norm is a scale and a shift. A following convolution takes the scale, and without
# padding the shift: 8 * 2 + 2 * 3.
# CHECK-LABEL: def before_weights(
# CHECK: r: {{.*}} = R.nn.relu(x)
# CHECK-NEXT: y: {{.*}} = R.nn.conv2d(r, R.const({{\[\[\[\[2.0\]\], \[\[4.0\]\]\]\]}}, "float32"))
# CHECK-NEXT: y_1: {{.*}} = R.add(y, R.const({{\[\[\[\[22.0\]\]\]\]}}, "float32"))
# CHECK-NEXT: return y_1
def before_weights(x: f32[1, 2, 8, 8]) -> f32[1, 1, 8, 8]:
    w = R.const([[[[1.0]], [[2.0]]]], "float32")
    r = R.nn.relu(x)
    scaled = R.multiply(r, R.const([[[2.0]], [[2.0]]], "float32"))
    shifted = R.add(scaled, R.const([[[8.0]], [[7.0]]], "float32"))
    y = R.nn.conv2d(shifted, w)
    return y


# Zeros of padding are not shifted; they are scaled like everything else.
# CHECK-LABEL: def padded(
# CHECK: t: {{.*}} = R.add(x,
# CHECK-NEXT: one: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: t, R.const({{\[\[\[\[1.0\]\]\]\]}}, "float32"), padding=(1, 1),
# CHECK-NEXT: )
# CHECK-NEXT: other: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: x, R.const({{\[\[\[\[2.0\]\]\]\]}}, "float32"), padding=(1, 1),
def padded(x: f32[1, 1, 8, 8], z: f32[1, 1, 8, 8]) -> R.Tuple(f32[1, 1, 10, 10], f32[1, 1, 10, 10]):
    w = R.const([[[[1.0]]]], "float32")
    t = R.add(x, R.const(3.0, "float32"))
    one = R.nn.conv2d(t, w, padding=(1, 1))
    s = R.multiply(x, R.const(2.0, "float32"))
    other = R.nn.conv2d(s, w, padding=(1, 1))
    return one, other


# A product of matrices: its columns are channels.
# CHECK-LABEL: def product(
# CHECK-NEXT: y: {{.*}} = R.matmul(x, R.const({{\[\[2.0, 4.0\], \[6.0, 8.0\]\]}}, "float32"))
# CHECK-NEXT: return y
def product(x: f32[n, 2]) -> f32[n, 2]:
    w = R.const([[1.0, 2.0], [3.0, 4.0]], "float32")
    h = R.matmul(x, w)
    y = R.divide(h, R.const(0.5, "float32"))
    return y


# A convolution with other users is not computed twice: the norm is a scale and a shift.
# CHECK-LABEL: def used_twice(
# CHECK: c: {{.*}} = R.nn.conv2d(
# CHECK: multiply_0: {{.*}} = R.multiply(
# CHECK-NEXT: c, R.const({{\[\[\[\[2.0\]\], \[\[1.0\]\]\]\]}}, "float32"),
# CHECK: add_0: {{.*}} = R.add(
# CHECK-NEXT: multiply_0, R.const({{\[\[\[\[-4.0\]\], \[\[0.0\]\]\]\]}}, "float32"),
# CHECK: return c, add_0
def used_twice(x: f32[1, 1, 8, 8]) -> R.Tuple(f32[1, 2, 8, 8], f32[1, 2, 8, 8]):
    gamma = R.const([4.0, 4.0], "float32")
    variance = R.const([4.0, 16.0], "float32")
    c = R.nn.conv2d(x, R.const([[[[1.0]]], [[[3.0]]]], "float32"))
    y, m, v = R.nn.batch_norm(c, gamma, gamma, gamma, variance, axis=1, epsilon=0.0, training=False)
    return c, y


# A norm in training stays, one with run-time parameters, and one with an unknown number of channels: the scale
# would expand a single one.
# CHECK-LABEL: def stays(
# CHECK: R.nn.batch_norm(
# CHECK: R.nn.batch_norm(
# CHECK: R.nn.batch_norm(
# CHECK-NOT: R.add
def stays(x: f32[1, 2, 8], g: f32[2], u: f32[1, c, 8]) -> R.Tuple(f32[1, 2, 8], f32[1, 2, 8], f32[1, c, 8]):
    k = R.const([4.0, 8.0], "float32")
    a, m, v = R.nn.batch_norm(x, k, k, k, k, axis=1)
    b, m1, v1 = R.nn.batch_norm(x, g, k, k, k, axis=1, training=False)
    c, m2, v2 = R.nn.batch_norm(u, k, k, k, k, axis=1, training=False)
    return a, b, c


# Not of channels: one number for each row. Not of floats: division rounds.
# CHECK-LABEL: def others(
# CHECK: R.nn.conv1d(
# CHECK: R.multiply(
# CHECK: R.matmul(
# CHECK: R.divide(
def others(x: f32[1, 1, 2], i: i32[2, 2]) -> R.Tuple(f32[1, 1, 2], i32[2, 2]):
    c = R.nn.conv1d(x, R.const([[[3.0]]], "float32"))
    s = R.multiply(c, R.const([1.0, 2.0], "float32"))
    h = R.matmul(i, R.const([[1, 2], [3, 4]], "int32"))
    d = R.divide(h, R.const(2, "int32"))
    return s, d
