# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with integers, quantized or plain, and with half floats."""

from __future__ import annotations

import numpy
from relax_mlir.bindings.ir import Value
from relax_mlir.dialects import relax

from ..core.cases import Range
from ..core.networks import Weights, model

_CODES = Range(-127, 128)


def scale(number: float) -> Value:
    return relax.const(numpy.float32(number))


def zero(number: int = 0, dtype: str = "int8") -> Value:
    return relax.const(numpy.array(number, dtype))


def through(x: Value, step: float = 0.05, at: int = 0, dtype: str = "i8") -> Value:
    """Quantize and dequantize."""
    zero_point = zero(at, "uint8" if dtype == "ui8" else "int8")
    codes = relax.quantize(x, scale(step), zero_point, out_dtype=dtype)
    return relax.dequantize(codes, scale(step), zero_point)


def weights_of(w: Weights, *shape: int, axis: int = 0) -> Value:
    """Return a constant of integers, with a scale per output."""
    count = shape[axis]
    codes, scales = w(*shape, dtype="i8", among=_CODES), w(count, among=Range(0.001, 0.004))
    return relax.dequantize(codes, scales, relax.const(numpy.zeros(count, "int8")), axis=axis)


@model("qdq_cnn", "batch,3,10,10:f32", batch=(2, 1))
def qdq_cnn(w: Weights, x: Value) -> Value:
    x = through(x, 0.03, 3)
    x = relax.nn.conv2d(x, weights_of(w, 8, 3, 3, 3), padding=1)
    x = through(relax.nn.relu(relax.add(x, w(8, 1, 1))), 0.02, -128)
    y = relax.nn.conv2d(x, weights_of(w, 8, 8, 3, 3), padding=1)
    x = through(relax.add(x, through(relax.add(y, w(8, 1, 1)), 0.04)), 0.05)
    x = relax.nn.max_pool2d(x, pool_size=2, strides=2)
    x = through(relax.mean(x, axis=[2, 3]), 0.02)
    return through(relax.add(relax.matmul(x, weights_of(w, 8, 5, axis=1)), w(5)), 0.03)


@model("qdq_transformer", "batch,length,16:f32", batch=(2, 1), length=(5, 3))
def qdq_transformer(w: Weights, x: Value) -> Value:
    sizes = ("batch", "length")
    x = through(x, 0.03, 120, "ui8")
    query, key, value = (
        relax.reshape(through(relax.matmul(x, weights_of(w, 16, 16, axis=1)), 0.04), (*sizes, 2, 8)) for _ in range(3)
    )
    seen = relax.reshape(relax.nn.attention(query, key, value), (*sizes, 16))
    y = relax.matmul(through(seen, 0.02), weights_of(w, 16, 16, axis=1))
    x = through(relax.nn.layer_norm(relax.add(x, y), w.positive(16), w(16), axes=[-1]), 0.03)
    y = relax.nn.gelu(relax.add(relax.matmul(x, weights_of(w, 16, 32, axis=1)), w(32)))
    return relax.add(x, relax.matmul(through(y, 0.02), weights_of(w, 32, 16, axis=1)))


@model(
    "dynamic_quantization", "rows,16:f32", rows=(4, 1),
    whole_batch="ONNX computes the scale from all rows",
)  # fmt: skip
def dynamic_quantization(w: Weights, x: Value) -> Value:
    """Quantization with a scale computed from the input."""
    step = relax.add(relax.divide(relax.max(relax.abs(x)), relax.const(127.0)), relax.const(1e-6))
    codes = relax.quantize(x, step, zero(), out_dtype="i8")
    total = relax.matmul(codes, w(16, 12, dtype="i8", among=_CODES), out_dtype="i32")
    y = relax.multiply(relax.astype(total, "float32"), relax.multiply(step, w.positive(12)))
    return relax.nn.relu(relax.multiply(y, relax.const(0.01)))


@model("four_bits", "rows,64:f32", rows=(1, 5))
def four_bits(w: Weights, x: Value) -> Value:
    """Products with 4-bit weights: one scale per block of 32 codes, and zero points in the second product."""
    codes = Range(0, 256)
    y = relax.matmul_nbits(x, w(32, 2, 16, dtype="ui8", among=codes), w(32, 2, among=Range(0.01, 0.05)))
    zeros = w(24, 1, dtype="ui8", among=Range(0, 16))
    scales, bias = w(24, 1, among=Range(0.01, 0.05)), w(24)
    return relax.matmul_nbits(
        relax.nn.silu(y), w(24, 1, 16, dtype="ui8", among=codes), scales, zeros, bias
    )  # fmt: skip


@model("mixed_precision", "batch,3,8,8:f32", batch=(2, 1))
def mixed_precision(w: Weights, x: Value) -> Value:
    """A convolution in f16, a matrix product in bf16, the rest in f32."""
    y = relax.nn.conv2d(relax.astype(x, "float16"), w(8, 3, 3, 3, dtype="f16"), padding=1)
    y = relax.nn.relu(relax.add(y, w(8, 1, 1, dtype="f16")))
    y = relax.mean(relax.astype(y, "float32"), axis=[2, 3])
    y = relax.nn.layer_norm(y, w.positive(8), w(8), axes=[-1])
    y = relax.matmul(relax.astype(y, "bfloat16"), w(8, 12, dtype="bf16"))
    return relax.nn.softmax(relax.astype(relax.add(y, w(12, dtype="bf16")), "float32"))


@model("halves", "length,16:f16", length=(3, 6))
def halves(w: Weights, x: Value) -> Value:
    """A model completely in f16."""
    y = relax.nn.rms_norm(x, w.positive(16, dtype="f16"))
    gated = relax.multiply(
        relax.nn.silu(relax.matmul(y, w(16, 24, dtype="f16"))), relax.matmul(y, w(16, 24, dtype="f16"))
    )
    return relax.add(x, relax.matmul(gated, w(24, 16, dtype="f16")))


@model("integers", "batch,6,8:i32 batch,8:i64[0,8]", batch=(2, 1))
def integers(w: Weights, x: Value, places: Value) -> tuple[Value, ...]:
    """Integers and booleans only."""
    y = relax.matmul(x, w(8, 8, dtype="i32"))
    y = relax.where(relax.greater(y, relax.const(0, "int32")), relax.right_shift(y, relax.const(1, "int32")), y)
    y = relax.bitwise_xor(relax.floor_mod(y, relax.const(7, "int32")), relax.const(3, "int32"))
    counts = relax.sum(relax.one_hot(places, relax.prim_value(1), relax.prim_value(0), 8), axis=[1])
    ordered, order = relax.sort(y, axis=-1), relax.argsort(places, axis=-1)
    return ordered, relax.cumsum(counts, axis=1), order, relax.max(y, axis=[1, 2])
