# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ONNX graphs: common operators with drawn attributes, and any node of ONNX's own suite in between."""

from __future__ import annotations

import functools
from random import Random
from typing import Any, NamedTuple

import known_failures
import node_suite
import numpy
import onnx
import onnx_nodes
from drawing import Value
from graphs import Graph, Undefined
from onnx_drawing import OnnxDrawing, tensor_type
from recipes import ONNX as recipe

_LARGEST_SAMPLE = 2000


def draw(random: Random) -> Graph:
    """Draw a graph with defined results for the inputs of all calls."""
    drawing = OnnxDrawing(random)
    recipe.grow(drawing, onnx.defs.SchemaError)
    return drawing.graph(drawing.opset) if drawing.nodes else draw(random)


# ---- nodes of ONNX's suite ----


class Sample(NamedTuple):
    node: onnx.NodeProto
    opset: int
    inputs: list[Any]


_NOT_SAMPLED = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial Dropout ImageDecoder Gradient "
    "Constant Adagrad Adam Momentum".split()
)


@functools.cache
def samples() -> list[Sample]:
    """Return the cases of one node on small tensors of numbers, without known failures."""
    known = known_failures.read()
    return [
        Sample(case.model.graph.node[0], case.model.opset_import[0].version, case.inputs)
        for case in node_suite.cases()
        if len(case.model.graph.node) == 1
        and case.name not in known
        and not case.operators & _NOT_SAMPLED
        and all(
            isinstance(each, numpy.ndarray) and each.dtype.kind not in "OSU" for each in [*case.inputs, *case.outputs]
        )
        and sum(each.size for each in case.inputs) <= _LARGEST_SAMPLE
        and not case.model.graph.node[0].domain
    ]


@recipe(20)
def _sample(d: OnnxDrawing) -> None:
    sample = d.random.choice(samples())
    op = sample.node.op_type
    version = onnx.defs.get_schema(op, sample.opset).since_version
    if onnx.defs.get_schema(op, d.opset).since_version != version:
        raise Undefined("another version of the operator")
    arrays = iter(sample.inputs)
    inputs = [_sample_input(d, next(arrays)) if name else None for name in sample.node.input]
    outputs = sum(bool(name) for name in sample.node.output)
    d.add(op, inputs, outputs, **{onnx_nodes.PROTO: sample.node.SerializeToString()})


def _sample_input(d: OnnxDrawing, array: Any) -> Value:
    """Return the suite's input, or one computed from it. Integers often are sizes, and are constants in most models."""
    if array.dtype.kind in "iu" and d.random.random() < 0.6:
        return d.constant(array, "fixed")
    fitting = [each for each in d.values if each.dtype == array.dtype.name and each.arrays[0].shape == array.shape]
    if fitting and array.dtype.kind == "f" and d.random.random() < 0.5:
        return d.random.choice(fitting)
    value = d.given(array.shape, [array] * len(d.symbols))
    if array.dtype.name in ("float32", "float64") and d.random.random() < 0.4:
        d.add(d.random.choice(("Abs", "Neg", "Relu", "Sigmoid", "Identity")), [value])
        return d.values[-1]
    return value


# ---- operators with drawn attributes ----

_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor HardSigmoid HardSwish IsInf IsNaN Log Neg "
    "Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh Elu Celu LeakyRelu Mish Not "
    "BitwiseNot Identity ThresholdedRelu Gelu Shrink"
).split()
_BINARY = (
    "Add Sub Mul Div Pow Mod Max Min Sum Mean Equal Less LessOrEqual Greater GreaterOrEqual And Or Xor BitwiseAnd "
    "BitwiseOr BitwiseXor PRelu"
).split()
_REDUCE = (
    "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split()
)


@recipe(6)
def _unary(d: OnnxDrawing) -> None:
    op = d.random.choice(_UNARY)
    d.add(op, [d.typed(op)])


@recipe(8)
def _binary(d: OnnxDrawing) -> None:
    op = d.random.choice(_BINARY)
    x = d.typed(op)
    pair = [x, d.broadcast(x)]
    if op != "PRelu":
        d.random.shuffle(pair)
    given = {"fmod": 1} if op == "Mod" and x.kind == "f" else {}
    d.add(op, pair, **given)


@recipe(2)
def _where(d: OnnxDrawing) -> None:
    x = d.typed("Abs")
    d.add("Where", [d.broadcast(x, "bool"), x, d.broadcast(x)])


@recipe(1)
def _clip(d: OnnxDrawing) -> None:
    x = d.typed("Clip", "fi")
    d.add("Clip", [x, d.fixed(d.random.choice((0, 1)), x.dtype), d.random.choice((None, d.fixed(4, x.dtype)))])


@recipe(2)
def _cast(d: OnnxDrawing) -> None:
    target = d.random.choice(("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool", "bfloat16"))
    d.add("Cast", [d.some()], to=tensor_type(target))


@recipe(5)
def _reduce(d: OnnxDrawing) -> None:
    op = d.random.choice(_REDUCE)
    x = d.typed(op, "fi", least=d.random.choice((0, 1, 1)))
    axes = None if d.random.random() < 0.2 else d.fixed(d.axes(x))
    d.add(op, [x, axes], keepdims=d.random.choice((0, 1)))


@recipe(1)
def _search(d: OnnxDrawing) -> None:
    op = d.random.choice(("ArgMax", "ArgMin"))
    x = d.typed(op, "fi", least=1)
    d.add(op, [x], axis=d.axis(x), keepdims=d.random.choice((0, 1)), select_last_index=d.random.choice((0, 0, 1)))


@recipe(1)
def _top(d: OnnxDrawing) -> None:
    x = d.typed("TopK", "fi", least=1)
    d.add("TopK", [x, d.fixed([d.random.choice((1, 2))])], 2, axis=d.axis(x), largest=d.random.choice((0, 1)))


@recipe(2)
def _softmax(d: OnnxDrawing) -> None:
    x = d.some("f", least=1)
    d.add(d.random.choice(("Softmax", "LogSoftmax", "Hardmax")), [x], axis=d.axis(x))


@recipe(1)
def _cumsum(d: OnnxDrawing) -> None:
    x = d.typed("CumSum", "fi", least=1)
    flags = {name: d.random.choice((0, 1)) for name in ("exclusive", "reverse")}
    d.add("CumSum", [x, d.fixed(d.axis(x))], **flags)


@recipe(2)
def _norm(d: OnnxDrawing) -> None:
    x = d.some("f", least=1)
    axis = d.random.randrange(x.rank)
    weight = d.like(x, x.sizes[axis:])
    d.add("LayerNormalization", [x, weight, d.random.choice((None, d.like(x, x.sizes[axis:])))], axis=axis)


@recipe(4)
def _matmul(d: OnnxDrawing) -> None:
    x = d.typed("MatMul", "fi", least=1)
    lead = x.sizes[:-2] if d.random.random() < 0.4 else ()
    vector = d.random.random() < 0.15
    d.add("MatMul", [x, d.like(x, (x.sizes[-1],) if vector else (*lead, x.sizes[-1], d.size()))])


@recipe(2)
def _gemm(d: OnnxDrawing) -> None:
    x = d.some("f", rank=2)
    left, right = d.random.choice((0, 1)), d.random.choice((0, 1))
    rows, inner = (x.sizes[1], x.sizes[0]) if left else x.sizes
    columns = d.size()
    y = d.like(x, (columns, inner) if right else (inner, columns))
    bias = d.random.choice((None, (columns,), (rows, columns), (1,), (rows, 1)))
    added = None if bias is None else d.like(x, bias)
    d.add(
        "Gemm",
        [x, y, added],
        transA=left,
        transB=right,
        alpha=d.random.choice((1.0, 0.5)),
        beta=d.random.choice((1.0, 2.0)),
    )


@recipe(3)
def _reshape(d: OnnxDrawing) -> None:
    x = d.some()
    choice = d.random.random()
    shape: list[int] = [0] * x.rank
    if choice < 0.3 and x.rank > 1:
        at = d.random.randrange(x.rank - 1)
        shape[at:] = [-1, *(int(size) for size in x.arrays[0].shape[at + 2 :])]
    elif choice < 0.6:
        shape = [-1] if d.random.random() < 0.5 else [-1, 1]
    elif x.rank:
        size = x.arrays[0].shape[-1]
        shape[-1:] = [2, -1] if size % 2 == 0 and size else [-1, 1]
    d.add("Reshape", [x, d.fixed(shape)])


@recipe(3)
def _movement(d: OnnxDrawing) -> None:
    x = d.some(least=1)
    choice = d.random.randrange(4)
    if choice <= 1:
        d.add("Transpose", [x], perm=d.random.sample(range(x.rank), x.rank))
    elif choice == 2:
        d.add("Flatten", [x], axis=d.random.randint(-x.rank, x.rank))
    else:
        d.add("Tile", [x, d.fixed([d.random.choice((1, 1, 2, 3)) for _ in range(x.rank)])])


@recipe(2)
def _dimensions(d: OnnxDrawing) -> None:
    x = d.some()
    ones = [axis for axis in range(x.rank) if all(each.shape[axis] == 1 for each in x.arrays)]
    if ones and d.random.random() < 0.6:
        return d.add("Squeeze", [x, d.fixed([d.random.choice(ones)])])
    return d.add("Unsqueeze", [x, d.fixed([d.random.randrange(x.rank + 1)])])


@recipe(1.5)
def _expand(d: OnnxDrawing) -> None:
    x = d.some()
    if d.random.random() < 0.5:
        d.add("Shape", [d.some()])
        return d.add("Expand", [x, d.values[-1]])
    return d.add("Expand", [x, d.fixed([d.random.choice((1, 2, 3))] + [1] * x.rank)])


@recipe(4)
def _join(d: OnnxDrawing) -> None:
    x = d.some(least=1)
    axis = d.axis(x)
    parts = [x]
    for _ in range(d.random.choice((1, 1, 2))):
        sizes = list(x.sizes)
        sizes[axis] = d.random.choice((sizes[axis], d.size()))
        parts.append(d.like(x, sizes))
    d.random.shuffle(parts)
    d.add("Concat", parts, axis=axis)


@recipe(2)
def _split(d: OnnxDrawing) -> None:
    x = d.some(least=1)
    d.add("Split", [x], 2, axis=d.axis(x), num_outputs=2)


@recipe(5)
def _slice(d: OnnxDrawing) -> None:
    x = d.some(least=1)
    axes = d.axes(x)
    far = (2**63 - 1, -(2**63), 2**31 - 1)
    starts = [d.random.choice((d.random.randint(-20, 20), d.random.randint(-4, 4))) for _ in axes]
    ends = [d.random.choice((d.random.choice(far), d.random.randint(-6, 9))) for _ in axes]
    steps = [d.random.choice((1, 1, 2, 3, -1, -2)) for _ in axes]
    bounds = [starts, ends, axes, steps]
    if d.random.random() < 0.2:
        return d.add(
            "Slice", [x, *(d.given((len(axes),), [numpy.array(each, "int64")] * len(d.symbols)) for each in bounds)]
        )
    return d.add("Slice", [x, *map(d.fixed, bounds)])


@recipe(2)
def _gather(d: OnnxDrawing) -> None:
    x = d.some(least=1)
    axis = d.axis(x)
    bound = min(each.shape[axis] for each in x.arrays)
    if not bound:
        raise Undefined("nothing to gather")
    shape = d.random.choice(((), (1,), (3,), (2, 3), (0,)))
    indices = numpy.array([d.random.randrange(-bound, bound) for _ in range(int(numpy.prod(shape)))]).reshape(shape)
    d.add("Gather", [x, d.fixed(indices)], axis=axis)


@recipe(1.5)
def _pad(d: OnnxDrawing) -> None:
    x = d.typed("Pad", "fi", least=1)
    mode = d.random.choice(("constant", "constant", "reflect", "edge", "wrap"))
    d.add("Pad", [x, d.fixed([d.random.choice((0, 0, 1, 2)) for _ in range(2 * x.rank)])], mode=mode)


@recipe(0.7)
def _triangle(d: OnnxDrawing) -> None:
    d.add("Trilu", [d.some(least=2), d.fixed(d.random.randint(-2, 2))], upper=d.random.choice((0, 1)))


@recipe(3)
def _convolution(d: OnnxDrawing) -> None:
    spatial = d.random.choice((1, 2, 2, 2, 3))
    x = d.some("f", rank=spatial + 2)
    channels, groups = x.sizes[1], 1
    if not isinstance(channels, int):
        raise Undefined("channels of no known number")
    if channels > 1 and d.random.random() < 0.3:
        groups = channels
    window = [d.random.choice((1, 2, 3)) for _ in range(spatial)]
    outputs = groups * d.random.choice((1, 2)) if groups > 1 else d.random.choice((1, 3, 8))
    weight = d.like(x, (outputs, channels // groups, *window))
    given: dict[str, Any] = {
        "strides": [d.random.choice((1, 1, 2)) for _ in window],
        "dilations": [d.random.choice((1, 1, 2)) for _ in window],
        "group": groups,
    }
    if d.random.random() < 0.3:
        given["auto_pad"] = d.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    else:
        given["pads"] = [d.random.choice((0, 1, 2)) for _ in range(2 * spatial)]
    d.add("Conv", [x, weight, d.random.choice((None, d.like(x, (outputs,))))], **given)


@recipe(2)
def _pool(d: OnnxDrawing) -> None:
    spatial = d.random.choice((1, 2, 2, 3))
    op = d.random.choice(("MaxPool", "AveragePool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool"))
    x = d.typed(op, "f", rank=spatial + 2)
    if op.startswith("Global"):
        return d.add(op, [x])
    window = [d.random.choice((1, 2, 3)) for _ in range(spatial)]
    given: dict[str, Any] = {"kernel_shape": window, "strides": [d.random.choice((1, 2, 3)) for _ in window]}
    given["ceil_mode"] = d.random.choice((0, 0, 1))
    if d.random.random() < 0.3:
        given["auto_pad"] = d.random.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    else:
        given["pads"] = [d.random.randrange(size) for size in window * 2]
    if op == "AveragePool":
        given["count_include_pad"] = d.random.choice((0, 1))
    return d.add(op, [x], **given)


@recipe(1.5)
def _batch_norm(d: OnnxDrawing) -> None:
    x = d.some("f", least=2)
    given = [d.like(x, x.sizes[1:2]) for _ in range(3)]
    d.add("Abs", [d.like(x, x.sizes[1:2])])
    d.add("BatchNormalization", [x, *given, d.values[-1]])


@recipe(1)
def _quantize(d: OnnxDrawing) -> None:
    x = d.some("f", dtypes=("float32",))
    kind = d.random.choice(("int8", "uint8"))
    scale, zero = d.fixed(0.0625, "float32"), d.fixed(d.random.choice((0, 3)), kind)
    d.add("QuantizeLinear", [x, scale, zero])
    d.add("DequantizeLinear", [d.values[-1], scale, zero])


@recipe(0.5)
def _nonzero(d: OnnxDrawing) -> None:
    d.add("NonZero", [d.some(least=1)])


@recipe(1)
def _resize(d: OnnxDrawing) -> None:
    x = d.some("f", rank=4, dtypes=("float32",))
    scales = [1.0, 1.0, *(d.random.choice((1.0, 2.0, 0.5, 1.5)) for _ in range(2))]
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    mode = d.random.choice(("nearest", "linear", "cubic"))
    d.add(
        "Resize",
        [x, None, d.fixed(scales, "float32")],
        mode=mode,
        coordinate_transformation_mode=d.random.choice(modes),
    )
