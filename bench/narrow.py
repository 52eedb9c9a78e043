# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Speed of products and convolutions by element type, with constant weights, compiled here and in onnxruntime.

    python bench/narrow.py              prints the table
    python bench/narrow.py --only conv  cases with this text in their names

Figures are billions of multiplications and additions per second on one thread: f32, bf16 and f16 with sums of f32,
unsigned or signed times signed bytes with sums of i32. onnxruntime's are f32 and MatMulInteger or QLinearConv, as it
has no bf16 on CPUs. All take turns in one run. Each figure is the fastest call, by its thread's CPU time. Results of
unsigned bytes are compared with onnxruntime's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy
import onnxruntime
from kernels import GIGA, fastest  # first: it sets the number of NumPy's threads
from onnx import TensorProto, helper, numpy_helper

import relax_mlir as rx
from relax_mlir import relax

#: Columns: the types of data, weights and sums.
F32, BF16 = ("float32", "float32", "float32"), ("bfloat16", "bfloat16", "float32")
F16 = ("float16", "float16", "float32")
UNSIGNED, SIGNED = ("uint8", "int8", "int32"), ("int8", "int8", "int32")


class Shape(NamedTuple):
    """Product of m rows, or convolution of pictures of m by m with filters of `taps` by `taps`."""

    m: int
    k: int
    n: int
    taps: int = 0

    @property
    def name(self) -> str:
        kernel = f"conv {self.taps}x{self.taps} {self.k}->{self.n} {self.m}x{self.m}"
        return kernel if self.taps else f"matmul {self.m}x{self.k}x{self.n}"

    @property
    def work(self) -> int:
        return 2 * self.k * self.n * (self.m * self.m * self.taps * self.taps if self.taps else self.m)

    def arrays(self, types: tuple[str, str, str]) -> list[Any]:
        data, weights = ((1, self.k, self.m, self.m), (self.n, self.k, self.taps, self.taps))
        shapes = (data, weights) if self.taps else ((self.m, self.k), (self.k, self.n))
        return [_numbers(shape, dtype) for shape, dtype in zip(shapes, types, strict=False)]


SHAPES = (
    *(Shape(1024, 1024, 1024), Shape(128, 768, 768), Shape(128, 768, 3072), Shape(512, 3072, 768)),
    Shape(1, 4096, 4096),
    *(Shape(56, 64, 64, 3), Shape(28, 128, 128, 3), Shape(14, 256, 256, 3)),
    *(Shape(56, 256, 64, 1), Shape(14, 1024, 256, 1)),
)


def _numbers(shape: tuple[int, ...], dtype: str) -> Any:
    random = numpy.random.default_rng(0)
    if dtype.endswith("int8"):
        return random.integers(-128 if dtype == "int8" else 0, 128, shape).astype(dtype)
    return random.normal(size=shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def ours(shape: Shape, types: tuple[str, str, str]) -> Callable[[], Any]:
    x, weights = shape.arrays(types)
    module = rx.Module()
    with module.function("main", [rx.tensor(x.shape, types[0])]) as f:
        operator = relax.nn.conv2d if shape.taps else relax.matmul
        how: dict[str, Any] = {"padding": [shape.taps // 2] * 4} if shape.taps else {}
        f.returns(operator(*f, relax.const(weights), out_dtype=types[2], **how))
    function = rx.compile(module)["main"]
    return lambda: function(x)


def onnxruntimes(shape: Shape, types: tuple[str, str, str]) -> Callable[[], Any]:
    x, weights = shape.arrays(types)
    is_float = types[0] == "float32"
    ones = {"s": numpy.array(1, "float32"), "zu": numpy.array(0, "uint8"), "zs": numpy.array(0, "int8")}
    how: dict[str, Any] = {"pads": [shape.taps // 2] * 4} if shape.taps else {}
    if is_float:
        node = helper.make_node("Conv" if shape.taps else "MatMul", ["x", "w"], ["y"], **how)
    elif shape.taps:
        node = helper.make_node("QLinearConv", ["x", "s", "zu", "w", "s", "zs", "s", "zu"], ["y"], **how)
    else:
        node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    result = TensorProto.FLOAT if is_float else TensorProto.UINT8 if shape.taps else TensorProto.INT32
    given = {"w": weights, **ones}
    known = [numpy_helper.from_array(given[name], name) for name in dict.fromkeys(node.input) if name in given]
    data = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    graph = helper.make_graph([node], "g", [data], [helper.make_tensor_value_info("y", result, None)], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def check(shape: Shape, got: Any, expected: Any) -> None:
    """Check sums of bytes. The result of a quantized convolution is clipped to a byte."""
    sums = numpy.from_dlpack(got)
    limited = numpy.clip(sums, 0, 255) if shape.taps else sums
    if (limited != expected).any():
        raise SystemExit(f"{shape.name}: the result of bytes is wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed by element type.")
    parser.add_argument("--only", default="", help="the shapes with this in their names")
    options = parser.parse_args()
    heads = ("f32", "bf16", "f16", "u8 s8", "s8 s8", "ort f32", "ort int8")
    heads += ("bf16/f32", "f16/f32", "int8/f32", "int8/ort")
    print(f"{'':<26}" + "".join(f"{head:>9}" for head in heads))
    for shape in SHAPES:
        if options.only not in shape.name:
            continue
        calls = [*(ours(shape, types) for types in (F32, BF16, F16, UNSIGNED, SIGNED))]
        calls += [onnxruntimes(shape, F32), onnxruntimes(shape, UNSIGNED)]
        check(shape, calls[3](), calls[6]())
        rates = [shape.work / seconds / GIGA for seconds in fastest(list(calls))]
        ratios = [*(rate / rates[0] for rate in rates[1:4]), rates[3] / rates[6]]
        cells = [f"{rate:9.1f}" for rate in rates] + [f"{ratio:9.2f}" for ratio in ratios]
        print(f"{shape.name:<26}{''.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
