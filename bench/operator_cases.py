# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of bench/operators.py: ONNX nodes at sizes from models, by family."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy

_rng = numpy.random.default_rng(0)


class Case(NamedTuple):
    """Node: its inputs per call, its constants, and its attributes."""

    op: str
    given: tuple[Any, ...]
    known: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = MappingProxyType({})
    results: int = 1
    opset: int = 20
    domain: str = ""


def floats(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype("float32")


def below(limit: int, *shape: int) -> Any:
    return _rng.integers(0, limit, shape)


def ints(*values: int) -> Any:
    return numpy.array(values, "int64")


def conv(data: tuple[int, ...], weight: tuple[int, ...], op: str = "Conv", **attributes: Any) -> Case:
    return Case(op, (floats(*data),), (floats(*weight),), attributes)


def pool(op: str, data: tuple[int, ...], size: int, stride: int = 1, pad: int = 0, **attributes: Any) -> Case:
    rank = len(data) - 2
    along = {"kernel_shape": [size] * rank, "strides": [stride] * rank, "pads": [pad] * 2 * rank}
    return Case(op, (floats(*data),), (), {**along, **attributes})


def resize(mode: str, data: tuple[int, ...], scale: float, **attributes: Any) -> Case:
    none, scales = numpy.zeros(0, "float32"), numpy.array([1, 1, scale, scale], "float32")
    return Case("Resize", (floats(*data),), (none, scales), {"mode": mode, **attributes})


def sample(mode: str, data: tuple[int, ...], places: tuple[int, ...], **attributes: Any) -> Case:
    grid = numpy.clip(floats(data[0], *places, len(places)) / 2, -1, 1)
    return Case("GridSample", (floats(*data), grid), (), {"mode": mode, **attributes})


def transpose(data: tuple[int, ...], *order: int) -> Case:
    return Case("Transpose", (floats(*data),), (), {"perm": list(order)})


def reduced(op: str, data: tuple[int, ...], *axes: int) -> Case:
    return Case(op, (floats(*data),), (ints(*axes),))


def einsum(equation: str, *given: Any) -> Case:
    return Case("Einsum", given, (), {"equation": equation})


def attention(heads: int, length: int, size: int, rows: int = 0, **attributes: Any) -> Case:
    keys = (1, heads, length, size)
    given = floats(1, heads, rows or length, size), floats(*keys), floats(*keys)
    return Case("Attention", given, (), attributes, opset=23)


def recurrent(op: str, gates: int, batch: int = 1, direction: str = "forward") -> Case:
    count = 2 if direction == "bidirectional" else 1
    known = (floats(count, gates * 128, 64) / 8, floats(count, gates * 128, 128) / 16, floats(count, gates * 256))
    return Case(op, (floats(50, batch, 64),), known, {"hidden_size": 128, "direction": direction})


def cases() -> dict[str, Case]:
    return {
        **convolutions(),
        **pools(),
        **resizes(),
        **gathers(),
        **moves(),
        **norms(),
        **reductions(),
        **functions(),
        **products(),
        **detections(),
    }


def convolutions() -> dict[str, Case]:
    by_2 = {"strides": [2, 2], "pads": [1] * 4}
    return {
        "conv 3x3, 64, 56": conv((1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4),
        "conv 3x3, 512, 7": conv((1, 512, 7, 7), (512, 512, 3, 3), pads=[1] * 4),
        "conv 1x1, 256 to 64, 56": conv((1, 256, 56, 56), (64, 256, 1, 1)),
        "conv 1x1 by 2, 256 to 512, 56": conv((1, 256, 56, 56), (512, 256, 1, 1), strides=[2, 2]),
        "conv 7x7 by 2, 3 to 64, 224": conv((1, 3, 224, 224), (64, 3, 7, 7), strides=[2, 2], pads=[3] * 4),
        "conv 16x16 by 16, 3 to 768, 224": conv((1, 3, 224, 224), (768, 3, 16, 16), strides=[16, 16]),
        "conv 3x3 by 2, 128, 56": conv((1, 128, 56, 56), (128, 128, 3, 3), **by_2),
        "conv 3x3, batch 8": conv((8, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4),
        "conv depthwise 3x3, 144, 56": conv((1, 144, 56, 56), (144, 1, 3, 3), pads=[1] * 4, group=144),
        "conv depthwise 3x3 by 2": conv((1, 144, 56, 56), (144, 1, 3, 3), **by_2, group=144),
        "conv depthwise 5x5 by 2": conv((1, 240, 28, 28), (240, 1, 5, 5), strides=[2, 2], pads=[2] * 4, group=240),
        "conv depthwise 7x7, 96, 56": conv((1, 96, 56, 56), (96, 1, 7, 7), pads=[3] * 4, group=96),
        "conv 32 groups, 128, 56": conv((1, 128, 56, 56), (128, 4, 3, 3), pads=[1] * 4, group=32),
        "conv 8 groups, 256, 28": conv((1, 256, 28, 28), (256, 32, 3, 3), pads=[1] * 4, group=8),
        "conv dilated by 12, 256, 33": conv((1, 256, 33, 33), (256, 256, 3, 3), pads=[12] * 4, dilations=[12, 12]),
        "conv 5x5, 20 to 50, 28": conv((1, 20, 28, 28), (50, 20, 5, 5), pads=[2] * 4),
        "conv 1-d, 64, 1000": conv((1, 64, 1000), (64, 64, 5), pads=[2, 2]),
        "conv 1-d, 80 to 384, 3000": conv((1, 80, 3000), (384, 80, 3), pads=[1, 1]),
        "conv 1-d depthwise 31, 256, 400": conv((1, 256, 400), (256, 1, 31), pads=[15, 15], group=256),
        "conv 1-d of sound, by 160": conv((1, 1, 16000), (80, 1, 400), strides=[160]),
        "conv 1-d of sound, 10 by 5": conv((1, 1, 16000), (512, 1, 10), strides=[5]),
        "conv 3-d, 32, 16": conv((1, 32, 16, 16, 16), (32, 32, 3, 3, 3), pads=[1] * 6),
        "transposed 4x4 by 2, 256 to 128": conv((1, 256, 16, 16), (256, 128, 4, 4), "ConvTranspose", **by_2),
        "transposed 3x3 by 2, 128 to 64": conv((1, 128, 28, 28), (128, 64, 3, 3), "ConvTranspose", **by_2),
        "transposed 2x2 by 2, 128 to 64": conv((1, 128, 32, 32), (128, 64, 2, 2), "ConvTranspose", strides=[2, 2]),
        "transposed 3x3, 64, 32": conv((1, 64, 32, 32), (64, 64, 3, 3), "ConvTranspose", pads=[1] * 4),
        "transposed 1-d 16 by 8, 256 to 128": conv(
            (1, 256, 100), (256, 128, 16), "ConvTranspose", strides=[8], pads=[4, 4]
        ),
    }


def pools() -> dict[str, Case]:
    x = (1, 64, 112, 112)
    padded = {"count_include_pad": 1}
    return {
        "max pool 3x3 by 2": pool("MaxPool", x, 3, 2, 1),
        "max pool 3x3 by 2, no pads": pool("MaxPool", (1, 64, 111, 111), 3, 2),
        "max pool 2x2 by 2": pool("MaxPool", x, 2, 2),
        "max pool 3x3": pool("MaxPool", (1, 192, 28, 28), 3, 1, 1),
        "max pool 5x5": pool("MaxPool", (1, 128, 20, 20), 5, 1, 2),
        "max pool 13x13": pool("MaxPool", (1, 512, 13, 13), 13, 1, 6),
        "max pool 1-d, 3 by 2": pool("MaxPool", (1, 128, 4000), 3, 2, 1),
        "max pool 3-d, 2 by 2": pool("MaxPool", (1, 32, 16, 56, 56), 2, 2),
        "average pool 3x3": pool("AveragePool", (1, 192, 28, 28), 3, 1, 1),
        "average pool 3x3, pads counted": pool("AveragePool", (1, 192, 28, 28), 3, 1, 1, **padded),
        "average pool 2x2 by 2": pool("AveragePool", x, 2, 2),
        "average pool 3x3 by 2": pool("AveragePool", x, 3, 2, 1),
        "average pool 7x7": pool("AveragePool", (1, 1024, 7, 7), 7),
        "average pool of all": Case("GlobalAveragePool", (floats(1, 2048, 7, 7),)),
        "average pool of all, 112": Case("GlobalAveragePool", (floats(1, 64, 112, 112),)),
        "max pool of all": Case("GlobalMaxPool", (floats(1, 2048, 7, 7),)),
        "L2 pool 3x3 by 2": pool("LpPool", (1, 64, 56, 56), 3, 2, 1),
    }


def resizes() -> dict[str, Case]:
    x, corners = (1, 64, 56, 56), {"coordinate_transformation_mode": "align_corners"}
    plain = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return {
        "resize nearest": resize("nearest", x, 2),
        "resize nearest, floor": resize("nearest", x, 2, **plain),
        "resize nearest by 4": resize("nearest", (1, 64, 28, 28), 4, **plain),
        "resize nearest by 1/2": resize("nearest", x, 0.5, **plain),
        "resize linear": resize("linear", x, 2),
        "resize linear of corners": resize("linear", x, 2, **corners),
        "resize linear by 4": resize("linear", (1, 21, 33, 33), 4),
        "resize linear by 1/2": resize("linear", (1, 3, 448, 448), 0.5),
        "resize cubic": resize("cubic", (1, 16, 56, 56), 2),
        "resize cubic by 1/2": resize("cubic", (1, 3, 448, 448), 0.5),
        "grid sample": sample("linear", (1, 32, 64, 64), (64, 64)),
        "grid sample, few channels": sample("linear", (1, 3, 224, 224), (224, 224)),
        "grid sample, many heads": sample("linear", (8, 32, 40, 40), (300, 4)),
        "grid sample nearest": sample("nearest", (1, 32, 64, 64), (64, 64)),
        "grid sample cubic": sample("cubic", (1, 32, 64, 64), (64, 64)),
        "grid sample of the border": sample("linear", (1, 32, 64, 64), (64, 64), padding_mode="border"),
    }


def gathers() -> dict[str, Case]:
    cube = floats(12, 197, 64)
    return {
        "gather rows": Case("Gather", (floats(30000, 768), below(30000, 128))),
        "gather columns": Case("Gather", (floats(512, 1000), below(1000, 128)), (), {"axis": 1}),
        "gather in the middle": Case("Gather", (cube, below(197, 100)), (), {"axis": 1}),
        "gather one": Case("Gather", (floats(8, 197, 768),), (numpy.array(0),), {"axis": 1}),
        "gather elements": Case("GatherElements", (floats(512, 1000), below(512, 256, 1000))),
        "gather elements of rows": Case("GatherElements", (floats(512, 1000), below(1000, 512, 100)), (), {"axis": 1}),
        "gather places": Case("GatherND", (floats(64, 64, 64), below(64, 2000, 2))),
        "gather single places": Case("GatherND", (floats(64, 64, 64), below(64, 5000, 3))),
        "scatter places": Case("ScatterND", (floats(64, 64, 64), below(64, 2000, 2), floats(2000, 64))),
        "scatter elements": Case("ScatterElements", (floats(512, 1000), below(512, 256, 1000), floats(256, 1000))),
        "one hot": Case("OneHot", (below(1000, 512),), (numpy.array(1000), numpy.array([0, 1], "float32"))),
        "nonzero": Case("NonZero", (numpy.maximum(floats(256, 1000), 0),)),
        "compress": Case("Compress", (floats(1000, 256), floats(1000) > 0), (), {"axis": 0}),
    }


def moves() -> dict[str, Case]:
    x = floats(1, 64, 56, 56)
    return {
        "transpose to channels last": transpose((1, 64, 56, 56), 0, 2, 3, 1),
        "transpose to channels first": transpose((1, 56, 56, 64), 0, 3, 1, 2),
        "transpose heads": transpose((1, 128, 12, 64), 0, 2, 1, 3),
        "transpose keys": transpose((1, 128, 12, 64), 0, 2, 3, 1),
        "transpose inner matrices": transpose((12, 128, 64), 0, 2, 1),
        "transpose a matrix": transpose((1024, 1024), 1, 0),
        "transpose windows": transpose((1, 8, 7, 8, 7, 96), 0, 1, 3, 2, 4, 5),
        "concat channels": Case("Concat", (x, x), (), {"axis": 1}),
        "concat columns": Case("Concat", (floats(128, 768), floats(128, 768)), (), {"axis": -1}),
        "concat narrow columns": Case("Concat", tuple(floats(8400, n) for n in (4, 80)), (), {"axis": -1}),
        "concat single columns": Case("Concat", tuple(floats(8400, 1) for _ in range(4)), (), {"axis": -1}),
        "split columns": Case("Split", (floats(128, 2304),), (), {"axis": -1, "num_outputs": 3}, results=3),
        "split channels": Case("Split", (x,), (), {"axis": 1, "num_outputs": 2}, results=2),
        "slice by 2": Case("Slice", (x,), (ints(0, 0), ints(56, 56), ints(2, 3), ints(2, 2))),
        "slice columns": Case("Slice", (floats(128, 2304),), (ints(768), ints(1536), ints(1))),
        "slice backwards": Case("Slice", (floats(128, 1000),), (ints(-1), ints(-2000), ints(1), ints(-1))),
        "pad": Case("Pad", (x,), (ints(0, 0, 1, 1, 0, 0, 1, 1),)),
        "pad by reflection": Case("Pad", (x,), (ints(0, 0, 1, 1, 0, 0, 1, 1),), {"mode": "reflect"}),
        "pad by the edge": Case("Pad", (x,), (ints(0, 0, 3, 3, 0, 0, 3, 3),), {"mode": "edge"}),
        "tile": Case("Tile", (floats(64, 1, 64),), (ints(1, 64, 2),)),
        "expand heads": Case("Expand", (floats(1, 8, 1, 128, 64),), (ints(1, 8, 4, 128, 64),)),
        "depth to space": Case("DepthToSpace", (floats(1, 256, 32, 32),), (), {"blocksize": 2}),
        "depth to space, CRD": Case("DepthToSpace", (floats(1, 256, 32, 32),), (), {"blocksize": 2, "mode": "CRD"}),
        "space to depth": Case("SpaceToDepth", (x,), (), {"blocksize": 2}),
        "upper triangle": Case("Trilu", (floats(12, 256, 256),)),
        "cast to f16": Case("Cast", (floats(128, 3072),), (), {"to": 10}),
        "cast to bytes": Case("Cast", (numpy.abs(floats(1, 3, 224, 224)) * 9,), (), {"to": 2}),
        "cast from bytes": Case("Cast", (below(256, 1, 3, 224, 224).astype("uint8"),), (), {"to": 1}),
    }


def norms() -> dict[str, Case]:
    def layer(*shape: int) -> Case:
        return Case("LayerNormalization", (floats(*shape),), (floats(shape[-1]), floats(shape[-1])))

    def rms(*shape: int) -> Case:
        along = {"axis": -1, "epsilon": 1e-6}
        return Case("SimplifiedLayerNormalization", (floats(*shape),), (floats(shape[-1]),), along)

    def grouped(channels: int, size: int) -> Case:
        given = (floats(1, channels, size, size),)
        return Case("GroupNormalization", given, (floats(channels), floats(channels)), {"num_groups": 32}, opset=21)

    def softmax(*shape: int, axis: int = -1, op: str = "Softmax") -> Case:
        return Case(op, (floats(*shape),), (), {"axis": axis})

    x = floats(1, 64, 56, 56)
    channels = tuple(numpy.abs(floats(64)) for _ in range(4))
    return {
        "softmax of rows": softmax(128, 1000),
        "softmax of one row": softmax(1, 1000),
        "softmax of short rows": softmax(12 * 64, 49),
        "softmax of scores": softmax(1, 12, 128, 128),
        "softmax of 197": softmax(1, 12, 197, 197),
        "softmax of long rows": softmax(8, 32000),
        "softmax of channels": softmax(1, 21, 128, 128, axis=1),
        "log softmax": softmax(128, 1000, op="LogSoftmax"),
        "layer norm": layer(128, 768),
        "layer norm of 96": layer(3136, 96),
        "layer norm of 64": layer(1000, 64),
        "layer norm of 4096": layer(16, 4096),
        "rms norm": rms(128, 768),
        "rms norm of one row": rms(1, 4096),
        "instance norm": Case("InstanceNormalization", (x,), (floats(64), floats(64))),
        "group norm": grouped(320, 32),
        "group norm, 128, 64": grouped(128, 64),
        "batch norm": Case("BatchNormalization", (x,), channels),
        "LRN": Case("LRN", (x,), (), {"size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 1.0}),
        "L2 norm": Case("LpNormalization", (floats(128, 768),), (), {"axis": -1, "p": 2}),
        "mean and variance": Case("MeanVarianceNormalization", (x,), (), {"axes": [0, 2, 3]}),
    }


def reductions() -> dict[str, Case]:
    rows, pictures, square = (128, 768), (1, 64, 56, 56), (1024, 1024)
    return {
        "mean of pictures": reduced("ReduceMean", pictures, 2, 3),
        "mean of channels": reduced("ReduceMean", pictures, 1),
        "mean of rows": reduced("ReduceMean", rows, 1),
        "mean in the middle": reduced("ReduceMean", (8, 197, 768), 1),
        "sum of all": Case("ReduceSum", (floats(*square),), (), {"keepdims": 0}),
        "sum of rows": reduced("ReduceSum", square, 1),
        "sum of columns": reduced("ReduceSum", square, 0),
        "sum of short rows": reduced("ReduceSum", (8400, 80), 1),
        "largest of columns": reduced("ReduceMax", square, 0),
        "largest of rows": reduced("ReduceMax", square, 1),
        "largest of short rows": reduced("ReduceMax", (8400, 80), 1),
        "product of rows": reduced("ReduceProd", square, 1),
        "L2 of rows": reduced("ReduceL2", square, 1),
        "log sum exp": reduced("ReduceLogSumExp", (128, 1000), 1),
        "place of the largest": Case("ArgMax", (floats(128, 30000),), (), {"axis": -1}),
        "place of the largest channel": Case("ArgMax", (floats(1, 21, 128, 128),), (), {"axis": 1}),
        "cumulative sum": Case("CumSum", (floats(128, 1000),), (numpy.array(1),)),
        "cumulative sum of columns": Case("CumSum", (floats(128, 1000),), (numpy.array(0),)),
        "cumulative sum of integers": Case("CumSum", (below(9, 1, 512),), (numpy.array(1),)),
        "top 50": Case("TopK", (floats(1, 50000),), (ints(50),), {}, 2),
        "top 1000 of 6400": Case("TopK", (floats(6400),), (ints(1000),), {}, 2),
        "top 1000 of 6400, 4 rows": Case("TopK", (floats(4, 6400),), (ints(1000),), {}, 2),
        "top 100 of 10000": Case("TopK", (floats(1, 10000),), (ints(100),), {}, 2),
        "top 300 of 672000": Case("TopK", (floats(8400 * 80),), (ints(300),), {}, 2),
        "top 100 of columns": Case("TopK", (floats(1, 8400, 4),), (ints(100),), {"axis": 1}, 2),
        "top 5": Case("TopK", (floats(32, 1000),), (ints(5),), {}, 2),
        "sorted": Case("TopK", (floats(16, 1000),), (ints(1000),), {}, 2),
    }


def functions() -> dict[str, Case]:
    rows = floats(128, 3072)
    names = (
        "Erf Tanh Sigmoid HardSwish HardSigmoid Mish Elu Selu Softplus Softsign LeakyRelu Exp Reciprocal Neg Abs Floor"
    )
    names += " Floor Round Sin Cos Relu Celu Sign Atan Sinh Tan Ceil"
    row, bytes_ = floats(3072), below(255, 128, 3072).astype("uint8")
    scale = (numpy.float32(0.1), numpy.uint8(128))
    mask, scores = floats(1, 1, 128, 128) > 0, floats(1, 12, 128, 128)
    return {
        "gelu": Case("Gelu", (rows,)),
        "gelu by tanh": Case("Gelu", (rows,), (), {"approximate": "tanh"}),
        **{name.lower(): Case(name, (rows,)) for name in names.split()},
        "sqrt": Case("Sqrt", (numpy.abs(rows),)),
        "quick gelu": Case("QuickGelu", (rows,), domain="com.microsoft"),
        "asin": Case("Asin", (numpy.tanh(rows),)),
        "log": Case("Log", (numpy.abs(rows),)),
        "prelu": Case("PRelu", (floats(1, 64, 56, 56),), (floats(64, 1, 1),)),
        "clip": Case("Clip", (rows,), (numpy.array(0, "float32"), numpy.array(6, "float32"))),
        "power": Case("Pow", (numpy.abs(rows),), (numpy.array([2.5], "float32"),)),
        "square": Case("Pow", (rows,), (numpy.array([2], "float32"),)),
        "cube": Case("Pow", (rows,), (numpy.array([3], "float32"),)),
        "power of two": Case("Pow", (numpy.abs(rows), rows)),
        "select": Case("Where", (rows > 0, rows, rows)),
        "select one number": Case("Where", (mask, scores), (numpy.float32(-1e9),)),
        "sum": Case("Add", (rows, rows)),
        "sum with a row": Case("Add", (rows, row)),
        "sum with a column": Case("Add", (rows, floats(128, 1))),
        "sum with channels": Case("Add", (floats(1, 64, 56, 56), floats(1, 64, 1, 1))),
        "quotient": Case("Div", (rows, numpy.abs(rows) + 1)),
        "remainder": Case("Mod", (rows, numpy.abs(rows) + 1), (), {"fmod": 1}),
        "quotient of integers": Case("Div", (below(1000, 128, 1024), below(99, 128, 1024) + 1)),
        "less": Case("Less", (rows, rows)),
        "equal": Case("Equal", (below(9, 128, 3072), below(9, 128, 3072))),
        "and": Case("And", (rows > 0, rows < 1)),
        "largest of two": Case("Max", (rows, rows[::-1].copy())),
        "is nan": Case("IsNaN", (rows,)),
        "quantize": Case("QuantizeLinear", (rows,), scale),
        "dequantize": Case("DequantizeLinear", (bytes_,), scale),
    }


def products() -> dict[str, Case]:
    return {
        "product, 128 x 768 x 3072": Case("MatMul", (floats(128, 768),), (floats(768, 3072),)),
        "product, 12 x 128 x 64 x 128": Case("MatMul", (floats(12, 128, 64), floats(12, 64, 128))),
        "product, 12 x 128 x 128 x 64": Case("MatMul", (floats(12, 128, 128), floats(12, 128, 64))),
        "product with a vector": Case("MatMul", (floats(1024, 1024),), (floats(1024, 1),)),
        "product of a row": Case("MatMul", (floats(1, 1024),), (floats(1024, 1024),)),
        "product of 4 rows": Case("MatMul", (floats(4, 1024),), (floats(1024, 1024),)),
        "product of 16 rows": Case("MatMul", (floats(16, 1024),), (floats(1024, 1024),)),
        "product of few columns": Case("MatMul", (floats(1024, 256),), (floats(256, 4),)),
        "gemm, 32 rows": Case("Gemm", (floats(32, 1024),), (floats(1000, 1024), floats(1000)), {"transB": 1}),
        "gemm, 1 row": Case("Gemm", (floats(1, 2048),), (floats(1000, 2048), floats(1000)), {"transB": 1}),
        "gemm, a weight not known": Case("Gemm", (floats(32, 1024), floats(1024, 1024)), (), {"transB": 1}),
        "attention, 12 heads of 128 x 64": attention(12, 128, 64),
        "attention of one row, 12 x 1024": attention(12, 1024, 64, rows=1),
        "attention, causal, 12 x 256": attention(12, 256, 64, is_causal=1),
        "lstm, 50 steps of 128": recurrent("LSTM", 4),
        "lstm, both ways, 8 at a time": recurrent("LSTM", 4, 8, "bidirectional"),
        "gru, 50 steps of 128": recurrent("GRU", 3),
        "rnn, 50 steps of 128": recurrent("RNN", 1),
        "einsum of heads": einsum("bqhd,bkhd->bhqk", floats(1, 128, 12, 64), floats(1, 128, 12, 64)),
        "einsum of positions": einsum("bhqc,qkc->bhqk", floats(1, 12, 64, 64), floats(64, 64, 64)),
    }


def detections() -> dict[str, Case]:
    corners = (_rng.random((1, 1000, 2)) * 600).astype("float32")
    boxes, scores = numpy.concatenate([corners, corners + 40], -1), _rng.random((1, 20, 1000)).astype("float32")
    limits = (ints(100), numpy.array([0.5], "float32"), numpy.array([0.3], "float32"))
    regions = (_rng.random((100, 4)) * [20, 20, 49, 49]).astype("float32")
    picture, sizes = floats(1, 64, 50, 50), {"output_height": 7, "output_width": 7, "sampling_ratio": 2}
    in_pictures = numpy.concatenate([numpy.zeros((100, 1), "float32"), numpy.sort(regions)], 1)
    return {
        "regions": Case("RoiAlign", (picture, regions, below(1, 100)), (), sizes),
        "boxes without others over them": Case("NonMaxSuppression", (boxes, scores), limits),
        "largest boxes": Case("MaxRoiPool", (picture, in_pictures), (), {"pooled_shape": [7, 7], "spatial_scale": 1.0}),
    }
