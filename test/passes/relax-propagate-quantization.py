# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: graphs %s | relax-opt - --relax-propagate-quantization --print-script | FileCheck %s
# RUN: graphs %s | relax-opt - --relax-propagate-quantization=products=false --print-script | FileCheck %s --check-prefix=REAL
"""Propagation with powers of two as scales, so that the results are exact in the text.

Results are compared in test/python/passes/test_propagate_quantization.py.
"""


# Bytes are multiplied directly, with sums in i32. The data's zero point (3 times the columns' sums) and the bias in
# the product's scale are one constant. The product's and the result's scale are one number.
# CHECK-LABEL: def product(
# CHECK-NEXT: matmul_0: {{.*}} = R.matmul(
# CHECK-NEXT: x, R.const({{\[\[1, -2\], \[2, -1\]\]}}, "int8"), out_dtype="int32",
# CHECK-NEXT: )
# CHECK-NEXT: d: {{.*}} = R.add(matmul_0, R.const({{\[\[1, 14\]\]}}, "int32"))
# CHECK-NEXT: d_1: {{.*}} = R.astype(d, dtype="float32")
# CHECK-NEXT: y: {{.*}} = R.multiply(d_1, R.const([0.5, 1.0], "float32"))
# CHECK-NEXT: y_1: {{.*}} = R.quantize(
# CHECK-NEXT: y, R.const(1.0, "float32"), R.const(5, "uint8"), axis=0, out_dtype="uint8",
# REAL-LABEL: def product(
# REAL: R.matmul(a, b)
# REAL: d, R.const(0.25, "float32"), R.const(5, "uint8")
def product(x: u8[n, 2]) -> u8[n, 2]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(3, "uint8"), axis=0)
    w = R.const([[1, -2], [2, -1]], "int8")
    b = R.dequantize(w, R.const([0.25, 0.5], "float32"), R.const([0, 0], "int8"), axis=1)
    c = R.dequantize(R.const([10, 5], "int32"), R.const([0.125, 0.25], "float32"), R.const(0, "int32"), axis=0)
    d = R.add(R.matmul(a, b), c)
    y = R.quantize(d, R.const(0.25, "float32"), R.const(5, "uint8"), axis=0, out_dtype="uint8")
    return y


# Signed bytes inside of the program become unsigned, 128 more: the zero point is 0, and so is the padding. Weights
# with a zero point lose it if they still fit bytes.
# CHECK-LABEL: def convolution(
# CHECK-NEXT: a: {{.*}} = R.quantize(
# CHECK-NEXT: x, R.const(0.5, "float32"), R.const(0, "uint8"), out_dtype="uint8",
# CHECK-NEXT: )
# CHECK-NEXT: conv2d_0: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: a, R.const({{\[\[\[\[-8\]\]\], \[\[\[7\]\]\]\]}}, "int8"), padding=(1, 1, 1, 1), out_dtype="int32",
# CHECK-NEXT: )
# CHECK-NEXT: {{.*}} = R.astype(conv2d_0
# CHECK-NEXT: {{.*}} = R.multiply(astype_0, R.const(0.25, "float32"))
# CHECK-NEXT: return
def convolution(x: f32[n, 1, 4, 4]) -> f32[n, 2, 6, 6]:
    q = R.quantize(x, R.const(0.5, "float32"), R.const(-128, "int8"))
    a = R.dequantize(q, R.const(0.5, "float32"), R.const(-128, "int8"))
    w = R.const([[[[120]]], [[[135]]]], "uint8")
    b = R.dequantize(w, R.const(0.5, "float32"), R.const(128, "uint8"))
    return R.nn.conv2d(a, b, padding=[1, 1, 1, 1])


# Padded data of convolutions lie within their zero point. Weights that do not fit bytes without their zero point
# keep it: a sum over each window's elements and all channels corrects for it.
# CHECK-LABEL: def padded(
# CHECK-NEXT: pad_0: {{.*}} = R.nn.pad(
# CHECK-NEXT: x, pad_width=(0, 0, 0, 0, 1, 1, 1, 1), pad_value=7.0,
# CHECK-NEXT: )
# CHECK-NEXT: conv2d_0: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: pad_0, R.const({{\[\[\[\[-124\]\]\], \[\[\[77\]\]\]\]}}, "int8"), padding=(0, 0, 0, 0), out_dtype="int32",
# CHECK-NEXT: )
# CHECK-NEXT: {{.*}} = R.astype(pad_0, dtype="int32")
# CHECK-NEXT: {{.*}} = R.sum(astype_0, axis=(1,), keepdims=True)
# CHECK-NEXT: conv2d_1: {{.*}} = R.nn.conv2d(
# CHECK-NEXT: sum_0, R.const({{\[\[\[\[1\]\]\]\]}}, "int32"), padding=(0, 0, 0, 0), out_dtype="int32",
# CHECK-NEXT: )
# CHECK-NEXT: {{.*}} = R.multiply(conv2d_1, R.const(128, "int32"))
# CHECK-NEXT: {{.*}} = R.add(conv2d_0, multiply_0)
# CHECK-NEXT: {{.*}} = R.add(add_0, R.const({{\[\[\[-28\]\], \[\[-1435\]\]\]}}, "int32"))
def padded(x: u8[n, 1, 4, 4]) -> f32[n, 2, 6, 6]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(7, "uint8"))
    w = R.const([[[[4]]], [[[205]]]], "uint8")
    b = R.dequantize(w, R.const(0.5, "float32"), R.const(0, "uint8"))
    return R.nn.conv2d(a, b, padding=[1, 1, 1, 1])


# A depthwise one would do all of its work twice: its weights have 16 bits.
# CHECK-LABEL: def depthwise(
# CHECK: R.const({{\[\[\[\[4\]\]\], \[\[\[205\]\]\]\]}}, "int16")
# CHECK-NOT: R.sum
# CHECK: return
def depthwise(x: u8[n, 2, 4, 4]) -> f32[n, 2, 4, 4]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(7, "uint8"))
    w = R.const([[[[4]]], [[[205]]]], "uint8")
    b = R.dequantize(w, R.const(0.5, "float32"), R.const(0, "uint8"))
    return R.nn.conv2d(a, b, groups=2)


# Nothing is constant here: both zero points need sums of the other operand.
# CHECK-LABEL: def attention(
# CHECK: c: {{.*}} = R.permute_dims(k, axes=(0, 2, 1))
# CHECK-NEXT: matmul_0: {{.*}} = R.matmul(q, c, out_dtype="int32")
# CHECK-NEXT: {{.*}} = R.astype(q, dtype="int32")
# CHECK-NEXT: {{.*}} = R.sum(astype_0, axis=(2,), keepdims=True)
# CHECK-NEXT: {{.*}} = R.multiply(sum_0, R.const(5, "int32"))
# CHECK-NEXT: {{.*}} = R.add(matmul_0, multiply_0)
# CHECK-NEXT: {{.*}} = R.astype(c, dtype="int32")
# CHECK-NEXT: {{.*}} = R.subtract(astype_1, R.const(-5, "int32"))
# CHECK-NEXT: {{.*}} = R.sum(subtract_0, axis=(1,), keepdims=True)
# CHECK-NEXT: {{.*}} = R.multiply(sum_1, R.const(-3, "int32"))
# CHECK-NEXT: {{.*}} = R.add(add_0, multiply_1)
# CHECK-NEXT: {{.*}} = R.astype(add_1, dtype="float32")
# CHECK-NEXT: {{.*}} = R.multiply(astype_2, R.const(0.125, "float32"))
# CHECK-NEXT: return
def attention(q: u8[2, n, 8], k: i8[2, m, 8]) -> f32[2, n, m]:
    a = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "uint8"), axis=0)
    b = R.dequantize(k, R.const(0.25, "float32"), R.const(-5, "int8"), axis=0)
    c = R.permute_dims(b, axes=[0, 2, 1])
    return R.matmul(a, c)


# Whole numbers less their zero points, as QOperator graphs have them.
# CHECK-LABEL: def integers(
# CHECK-NEXT: {{.*}} = R.matmul(
# CHECK-NEXT: x, R.const({{\[\[1, -1\], \[2, -1\]\]}}, "int8"), out_dtype="int32",
# CHECK-NEXT: )
# CHECK-NEXT: {{.*}} = R.add(matmul_0, R.const({{\[\[-6, 4\]\]}}, "int32"))
# CHECK-NEXT: return
# REAL-LABEL: def integers(
# REAL: R.add(matmul_0, R.const({{\[\[-6, 4\]\]}}, "int32"))
def integers(x: u8[n, 2]) -> i32[n, 2]:
    a = R.subtract(R.astype(x, dtype="int32"), R.const(2, "int32"))
    return R.matmul(a, R.const([[1, -1], [2, -1]], "int8"), out_dtype="int32")


# Operators that move numbers move bytes: rows of a table, a window's maximum, ReLU, padding.
# CHECK-LABEL: def moves(
# CHECK: R.take(x, rows, axis=0)
# CHECK-NEXT: {{.*}} = R.permute_dims(take_0
# CHECK-NEXT: {{.*}} = R.nn.max_pool2d(b
# CHECK-NEXT: {{.*}} = R.maximum(max_pool2d_0, R.const(-3, "int8"))
# CHECK-NEXT: {{.*}} = R.nn.pad(
# CHECK-NEXT: c, pad_width=(0, 0, 0, 0, 0, 1, 0, 0), pad_value=-3.0,
# CHECK-NEXT: )
# CHECK-NEXT: {{.*}} = R.dequantize(
# CHECK-NEXT: pad_0, R.const(0.5, "float32"), R.const(-3, "int8"), axis=0,
# CHECK-NEXT: )
# CHECK-NEXT: return
def moves(x: i8[9, 3, 4, 4], rows: i64[n]) -> f32[n, 4, 3, 3]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(-3, "int8"))
    b = R.permute_dims(R.take(a, rows, axis=0), axes=[0, 2, 1, 3])
    c = R.nn.relu(R.nn.max_pool2d(b, pool_size=[2, 2]))
    return R.nn.pad(c, pad_width=[0, 0, 0, 0, 0, 1, 0, 0])


# Parts of one scale are joined directly, and others are rescaled before. Halves have the scale of the whole.
# CHECK-LABEL: def parts(
# CHECK-NEXT: a: {{.*}} = R.concat((x, x), axis=1)
# CHECK-NEXT: split_0, split_1 = R.split(
# CHECK: exp_0: {{.*}} = R.exp(dequantize_0)
# CHECK-NEXT: quantize_0: {{.*}} = R.quantize(
# CHECK-NEXT: exp_0,
# CHECK: R.concat((quantize_0, quantize_1), axis=1)
# CHECK-NEXT: return
def parts(x: i8[2, 3]) -> i8[2, 6]:
    s = R.const(0.5, "float32")
    z = R.const(1, "int8")
    a = R.concat([R.dequantize(x, s, z), R.dequantize(x, s, z)], axis=1)
    b, c = R.split(a, 2, axis=1)
    return R.quantize(R.concat([R.exp(b), c], axis=1), s, z)


# 16 bits: their products need more than 32. Scales of rows that are summed. More rows than 32 bits have room for.
# CHECK-LABEL: def left_alone(
# CHECK: R.matmul(a, c)
# CHECK-NEXT: {{.*}} = R.matmul(c, b)
# CHECK: R.matmul(d, dequantize_0)
def left_alone(x: i16[2, 2], y: i8[2, 2], z: i8[2, 40000]) -> f32[2, 2]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "int16"))
    b = R.dequantize(y, R.const([0.5, 1.0], "float32"), R.const(0, "int8"), axis=0)
    c = R.dequantize(y, R.const(0.5, "float32"), R.const(0, "int8"))
    d = R.dequantize(z, R.const(0.5, "float32"), R.const(0, "int8"))
    e = R.add(R.matmul(a, c), R.matmul(c, b))
    return R.add(e, R.matmul(d, R.permute_dims(d)))


# The scale of the result divides the constants of all steps between it and the sums.
# CHECK-LABEL: def steps(
# CHECK: {{.*}} = R.multiply(astype_0, R.const(1.0, "float32"))
# CHECK-NEXT: {{.*}} = R.add(multiply_0, R.const([4.0, 8.0], "float32"))
# CHECK-NEXT: {{.*}} = R.nn.relu(add_0)
# CHECK-NEXT: {{.*}} = R.maximum(relu_0, R.const(4.0, "float32"))
# CHECK-NEXT: {{.*}} = R.maximum(maximum_0, R.const(0.0, "float32"))
# CHECK-NEXT: {{.*}} = R.minimum(maximum_1, R.const(16.0, "float32"))
# CHECK-NEXT: {{.*}} = R.minimum(minimum_0, R.const(8.0, "float32"))
# CHECK-NEXT: {{.*}} = R.quantize(
# CHECK-NEXT: minimum_1, R.const(1.0, "float32"), R.const(5, "uint8")
def steps(x: u8[n, 2]) -> u8[n, 2]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "uint8"), axis=0)
    b = R.dequantize(R.const([[1, -2], [2, -1]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"), axis=0)
    c = R.add(R.matmul(a, b), R.const([1.0, 2.0], "float32"))
    d = R.clip(R.maximum(R.nn.relu(c), R.const(1.0, "float32")), T.float32(0.0), T.float32(4.0))
    e = R.minimum(d, R.const(2.0, "float32"))
    return R.quantize(e, R.const(0.25, "float32"), R.const(5, "uint8"), axis=0, out_dtype="uint8")


# Not propagated: a step of unknown size, or another reader of an intermediate result.
# CHECK-LABEL: def unknown(
# CHECK: R.multiply(astype_0, R.const(0.25, "float32"))
# CHECK: c, R.const(0.25, "float32"), R.const(5, "uint8")
def unknown(x: u8[n, 2], y: f32[2]) -> u8[n, 2]:
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "uint8"), axis=0)
    b = R.dequantize(R.const([[1, -2], [2, -1]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"), axis=0)
    c = R.add(R.matmul(a, b), y)
    return R.quantize(c, R.const(0.25, "float32"), R.const(5, "uint8"), axis=0, out_dtype="uint8")


# CHECK-LABEL: def wanted(
# CHECK: R.multiply(astype_0, R.const(0.25, "float32"))
# CHECK: c, R.const(0.25, "float32"), R.const(5, "uint8")
def wanted(x: u8[n, 2]) -> R.Tuple(u8[n, 2], f32[n, 2]):
    a = R.dequantize(x, R.const(0.5, "float32"), R.const(0, "uint8"), axis=0)
    b = R.dequantize(R.const([[1, -2], [2, -1]], "int8"), R.const(0.5, "float32"), R.const(0, "int8"), axis=0)
    c = R.nn.relu(R.matmul(a, b))
    return R.quantize(c, R.const(0.25, "float32"), R.const(5, "uint8"), axis=0, out_dtype="uint8"), c
