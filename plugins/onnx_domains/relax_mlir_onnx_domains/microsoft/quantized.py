# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft operators on quantized tensors, which onnxruntime's quantizer inserts.

Each quantized tensor has three consecutive inputs: elements, scale, and zero point, which is optional if it is 0.
"""

from __future__ import annotations

from relax_mlir.bindings.ir import Value
from relax_mlir.frontends.onnx.operators.products import as_f32, shifted, with_bias
from relax_mlir.frontends.onnx.operators.quantization import dynamic_quantized
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Tensor, const, register_onnx, relax

from .as_onnx import as_onnx, as_onnx_of_images

_DOMAIN = "com.microsoft"


def _real(node: OnnxNode, at: int) -> Tensor:
    """Dequantize the quantized tensor with its elements in input #at."""
    return relax.dequantize(
        node.tensor(at), node.tensor(at + 1), _zero_point(node, at + 2, node.value(at).dtype), axis=0, out_dtype="f32"
    )


def _quantize(node: OnnxNode, real: Tensor, scale: int, dtype: str) -> Tensor:
    """Quantize real numbers. The inputs are the scale and the zero point behind it."""
    return relax.quantize(real, node.tensor(scale), _zero_point(node, scale + 1, dtype), axis=0, out_dtype=dtype)


def _zero_point(node: OnnxNode, index: int, dtype: str) -> Value:
    if not node.has(index):
        return const(0, dtype)
    if node.value(index).dtype != dtype:
        raise node.fail(f"input #{index} is a zero point of type {node.value(index).dtype}, the elements are {dtype}")
    return node.tensor(index)


# ---- elementwise operators and data movement ----


@register_onnx(_DOMAIN, ["QLinearAdd", "QLinearMul"])
def arithmetic(node: OnnxNode) -> Outputs:
    name = "add" if node.op == "QLinearAdd" else "multiply"
    return _quantize(node, relax.dialect.ops[name](_real(node, 0), _real(node, 3)), 6, node.value(0).dtype)


# Versions of the corresponding ONNX operators.
_VERSIONS = {"LeakyRelu": 16, "ReduceMean": 13, "Sigmoid": 13}


@register_onnx(_DOMAIN, [*(f"QLinear{name}" for name in _VERSIONS), "QLinearSoftmax"])
def of_one(node: OnnxNode) -> Outputs:
    """Convert a unary operator. For Softmax, the attribute 'opset' decides which dimensions are merged."""
    name = node.op.removeprefix("QLinear")
    version = node.int("opset", 13) if name == "Softmax" else _VERSIONS[name]
    return _quantize(node, as_onnx(node, name, _real(node, 0), version=version), 3, node.value(0).dtype)


@register_onnx(_DOMAIN, "QLinearConcat")
def concat(node: OnnxNode) -> Outputs:
    if not (parts := [_real(node, at) for at in range(2, len(node.inputs), 3)]):
        raise node.fail("there is nothing to join")
    dtype = node.value(1).dtype if node.has(1) else node.value(2).dtype
    return _quantize(node, as_onnx(node, "Concat", *parts), 0, dtype)


@register_onnx(_DOMAIN, "QLinearWhere")
def where(node: OnnxNode) -> Outputs:
    return _quantize(node, relax.where(node.tensor(0), _real(node, 1), _real(node, 4)), 7, node.value(1).dtype)


@register_onnx(_DOMAIN, ["QLinearAveragePool", "QLinearGlobalAveragePool"])
def average_pool(node: OnnxNode) -> Outputs:
    name, are_last = node.op.removeprefix("QLinear"), bool(node.int("channels_last", 0))
    pooled = as_onnx_of_images(node, name, _real(node, 0), are_last=are_last)
    return _quantize(node, pooled, 3, node.value(0).dtype)


@register_onnx(_DOMAIN, "QLinearConv")
def conv(node: OnnxNode) -> Outputs:
    return as_onnx_of_images(node, "QLinearConv", *node.inputs, are_last=bool(node.int("channels_last", 0)))


# ---- products ----


@register_onnx(_DOMAIN, "QGemm")
def gemm(node: OnnxNode) -> Outputs:
    """Convert QGemm: sums in 32 bits, including C. Without a scale of the result, it is a tensor of real numbers."""
    sums = _integer_product(node, 3, 2, bool(node.int("transA", 0)), bool(node.int("transB", 0)))
    if node.has(6):
        sums = with_bias(node, sums, 6, node.tensor(6))
    scale = relax.multiply(as_f32(node, 1), as_f32(node, 4))
    scale = relax.multiply(scale, const(node.float("alpha", 1.0), "f32"))
    real = relax.multiply(relax.astype(sums, dtype="f32"), scale)
    if not node.has(7):
        return real
    return _quantize(node, real, 7, node.value(8).dtype if node.has(8) else "ui8")


@register_onnx(_DOMAIN, "MatMulIntegerToFloat")
def matmul_integer_to_float(node: OnnxNode) -> Outputs:
    if node.rank(2) and node.value(2).shape != (1,):
        raise node.fail("several scales of the first input are not supported")
    return _scale(node, _integer_product(node, 1, 4), node.tensor(2), 3, 6)


@register_onnx(_DOMAIN, "DynamicQuantizeMatMul")
def dynamic_quantize_matmul(node: OnnxNode) -> Outputs:
    """Convert DynamicQuantizeMatMul. The first input is quantized as in DynamicQuantizeLinear."""
    data, scale, zero_point = dynamic_quantized(node.tensor(0))
    left = relax.subtract(relax.astype(data, dtype="i32"), relax.astype(zero_point, dtype="i32"))
    return _scale(node, relax.matmul(left, shifted(node, 1, 3), out_dtype="i32"), scale, 2, 4)


def _scale(node: OnnxNode, sums: Tensor, left_scale: int | Tensor, right_scale: int, bias: int) -> Tensor:
    """Convert 32-bit sums to real numbers of the right scale's type."""
    scale = relax.dialect.ops["multiply"](left_scale, node.tensor(right_scale))
    real = relax.multiply(relax.astype(sums, dtype=node.value(right_scale).dtype), scale)
    return with_bias(node, real, bias, node.tensor(bias)) if node.has(bias) else real


def _integer_product(
    node: OnnxNode, right: int, left_zero: int, trans_a: bool = False, trans_b: bool = False
) -> Tensor:
    """Multiply two matrices minus their zero points in 32 bits. The right one may have a zero point per column."""
    first, second = shifted(node, 0, left_zero), _without_zero_points(node, right, 5, trans_b)
    if trans_a:
        first = relax.permute_dims(first)
    return relax.matmul(first, relax.permute_dims(second) if trans_b else second, out_dtype="i32")


def _without_zero_points(node: OnnxNode, index: int, zero_point: int, in_rows: bool) -> Tensor:
    """Return a matrix minus its zero points. In a matrix that is transposed later, they belong to rows."""
    several = node.has(zero_point) and node.rank(zero_point) == 1 and node.value(zero_point).shape != (1,)
    return shifted(node, index, zero_point, behind=int(several and in_rows))
