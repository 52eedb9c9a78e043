# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of quantized numbers by tensor cores, and of weights of few bits."""

from __future__ import annotations

from typing import Any

import numpy
import onnxruntime
import pytest
from assembler import needs_ptxas
from emulated_gpu import run_emulated
from onnx import TensorProto, helper, numpy_helper
from relax_mlir.bindings.mlir import as_list
from relax_mlir.runtime import tensor, to_numpy
from relax_mlir.targets.cuda.objects.cubin import resources

import relax_mlir as rx
from relax_mlir import relax

ARCHS = ("sm_80", "sm_90a", "sm_100")
_FLOAT, _BYTES, _WORDS = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT32
_ROWS, _DEPTH, _COLUMNS = 33, 96, 40


def model(nodes: list[Any], x: tuple[int, tuple[int, ...]], y: int, held: dict[str, Any]) -> Any:
    ends = [helper.make_tensor_value_info("x", *x), helper.make_tensor_value_info("y", y, None)]
    constants = [numpy_helper.from_array(array, name) for name, array in held.items()]
    graph = helper.make_graph(nodes, "quantized", ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def weights() -> dict[str, Any]:
    random = numpy.random.default_rng(2)
    return {
        # Weights have seven bits: without VNNI onnxruntime's sums of pairs of products saturate at 16 bits.
        "w": random.integers(-64, 64, (_DEPTH, _COLUMNS)).astype("int8"),
        "ws": (0.001 + 0.01 * random.random(_COLUMNS)).astype("float32"),
        "wz": numpy.zeros(_COLUMNS, "int8"),
        "xs": numpy.float32(0.02),
        "xz": numpy.uint8(120),
        "ys": numpy.float32(0.25),
        "yz": numpy.uint8(128),
    }


def qlinear_matmul() -> Any:
    node = helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])
    return model([node], (_BYTES, (_ROWS, _DEPTH)), _BYTES, weights())


def matmul_integer() -> Any:
    held = {name: each for name, each in weights().items() if name in ("w", "xz")}
    return model([helper.make_node("MatMulInteger", ["x", "w", "xz"], ["y"])], (_BYTES, (_ROWS, _DEPTH)), _WORDS, held)


def conv_integer() -> Any:
    held = {"w": numpy.random.default_rng(3).integers(-128, 128, (32, 32, 3, 3)).astype("int8"), "xz": numpy.uint8(7)}
    node = helper.make_node("ConvInteger", ["x", "w", "xz"], ["y"], pads=[1, 1, 1, 1])
    return model([node], (_BYTES, (1, 32, 14, 14)), _WORDS, held)


def dequantized() -> Any:
    """Return a quantized model in the form of exporters."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1),
        helper.make_node("MatMul", ["xd", "wd"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "ys", "yz"], ["y"]),
    ]
    return model(nodes, (_FLOAT, (_ROWS, _DEPTH)), _BYTES, weights())


#: Number of kernels besides the product's: quantization of the input, or zeros around it.
@pytest.mark.parametrize(
    ("make", "others", "apart"),
    [(qlinear_matmul, 0, 1), (matmul_integer, 0, 0), (conv_integer, 1, 0), (dequantized, 1, 1)],
)
def test_bytes_by_tensor_cores(make: Any, others: int, apart: int) -> None:
    """Check that the epilogue is in the product's kernel. `apart` is the accepted difference by rounding."""
    made = make()
    (given,) = made.graph.input
    shape = [each.dim_value for each in given.type.tensor_type.shape.dim]
    random = numpy.random.default_rng(1)
    is_float = given.type.tensor_type.elem_type == _FLOAT
    x = random.normal(size=shape).astype("float32") if is_float else random.integers(0, 256, shape).astype("uint8")
    executable = rx.compile(rx.from_onnx(made), "cuda")
    code, *_ = executable._artifact.devices
    assert len(code.kernels) == 1 + others
    assert "mma.sync.aligned.m16n8k32" in bytes(code.data).decode()
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found = to_numpy(as_list(run_emulated(executable, tensor(x)))[0])
    (expected,) = session.run(None, {"x": x})
    assert found.dtype == expected.dtype
    assert numpy.abs(found.astype("int64") - expected.astype("int64")).max() <= apart


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("depth", [96, 70])
def test_weights_with_a_scale_for_each_column_stay_bytes(rows: int, depth: int) -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1),
        helper.make_node("MatMul", ["x", "wd"], ["y"]),
    ]
    held = {name: each for name, each in weights().items() if name in ("w", "ws", "wz")}
    held |= {"w": held["w"][:depth], "wz": numpy.random.default_rng(6).integers(-9, 9, _COLUMNS).astype("int8")}
    made = model(nodes, (_FLOAT, (rows, depth)), _FLOAT, held)
    executable = rx.compile(rx.from_onnx(made), "cuda")
    assert executable._artifact.entries[0]["memory"]["peak"] < depth * _COLUMNS * 4
    assert sum(len(each.data) for each in executable._artifact.constants) < 2 * held["w"].nbytes
    x = numpy.random.default_rng(1).normal(size=(rows, depth)).astype("float32")
    options = onnxruntime.SessionOptions()
    # Its own rewriting rounds x.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (expected,) = onnxruntime.InferenceSession(made.SerializeToString(), options).run(None, {"x": x})
    found = to_numpy(as_list(run_emulated(executable, tensor(x)))[0])
    numpy.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * numpy.abs(expected).max())


def few_bits(rows: int | str, dtype: str, bits: int, block: int, target: str) -> str:
    random, depth, columns = numpy.random.default_rng(0), 1024, 1024
    codes = random.integers(0, 256, (columns, depth // block, block * bits // 8)).astype("uint8")
    scale = random.random((columns, depth // block)).astype("float32")
    module = rx.Module()
    with module.function("main", [rx.tensor((rows, depth), dtype)]) as f:
        (x,) = f
        zeros = relax.const(numpy.full(scale.shape, 3, "uint8"))
        f.returns(relax.matmul_nbits(x, relax.const(codes), relax.const(scale), zeros, bits=bits, block_size=block))
    program = rx.compile(module, target, opt_level=3)
    return bytes(program._artifact.devices[0].data).decode().rstrip("\0")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("rows", [16, "n"])
def test_weights_are_rounded_for_tensor_cores(rows: int | str, dtype: str) -> None:
    text = few_bits(rows, dtype, 4, 32, "cuda")
    assert f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32" in text


@needs_ptxas
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("rows", "dtype", "bits", "block"),
    [(1, "f16", 4, 32), (7, "f32", 4, 32), ("n", "bf16", 4, 128), (512, "f32", 8, 32), (1, "f32", 2, 64)],
)
def test_registers(rows: int | str, dtype: str, bits: int, block: int, arch: str) -> None:
    found = resources(few_bits(rows, dtype, bits, block, f"cuda{{arch={arch}}}"), arch)
    assert found and all(each.spills == 0 for each in found.values()), found
