# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations, softmax, reductions, and the largest elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ....bindings.ir import Operation
from ....bindings.navigation import use_count
from ....dialects.core.opdef import Call
from ....dialects.core.symbols import Dim
from ....dialects.relax.known_constants import NUMPY_NAME
from ....dialects.relax.values import normal_axis
from .rules import FLOATS, NUMBERS, converts
from .tensor_dims import dims_of, mask

if TYPE_CHECKING:
    from ..core.flatten import FlatNode
    from .converter import Converter

REDUCTIONS = {"max": "MAX", "min": "MIN", "sum": "SUM", "prod": "PROD"}
#: TensorRT's limit for K.
_MOST_LARGEST = 3840


def _axes(call: Call, rank: int) -> list[int]:
    return sorted(normal_axis(axis, rank) for axis in call.axes)


# ---- norms ----


def _refuse_batch_norm(op: Operation, call: Call) -> str:
    if call.training:
        return "TensorRT is used for inference, and this norm takes the statistics of the batch"
    if any(use_count(each) for each in list(op.results)[1:]):
        return "the new mean and variance are used, which TensorRT does not give"
    return ""


@converts("nn.batch_norm", refuse=_refuse_batch_norm)
def batch_norm(converter: Converter, node: FlatNode) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, in whose place a scale layer is where all are constants."""
    rank, call = len(dims_of(node.operands[0])), node.call
    axis = normal_axis(call.axis, rank)
    names = ("gamma", "beta", "moving_mean", "moving_var")
    arrays = [converter.array(node.operand(name)) for name in names]
    data = converter.tensor(node.operands[0])
    if rank >= 4 and axis == 1 and all(each is not None for each in arrays):
        return _scale(converter, node, data, arrays)
    channels = dims_of(node.operands[2])[0]
    along = [channels if each == axis else 1 for each in range(rank)]
    shaped = {name: converter.reshaped(converter.tensor(node.operand(name)), along) for name in names}
    spread = converter.binary(shaped["moving_var"], converter.number(call.epsilon, node.operands[0]), "SUM")
    y = converter.binary(data, shaped["moving_mean"], "SUB")
    y = converter.binary(y, converter.unary(spread, "SQRT"), "DIV")
    y = converter.binary(y, shaped["gamma"], "PROD") if call.scale else y
    return converter.binary(y, shaped["beta"], "SUM") if call.center else y


def _scale(converter: Converter, node: FlatNode, data: Any, arrays: Sequence[Any]) -> Any:
    import numpy

    gamma, beta, mean, variance = (each.astype("float64") for each in arrays)
    scale = (gamma if node.call.scale else 1.0) / numpy.sqrt(variance + node.call.epsilon)
    shift = (beta if node.call.center else 0.0) - mean * scale
    dtype = NUMPY_NAME[node.operands[0].info.dtype]
    weights = [converter.weights(each.astype(dtype)) for each in (shift, scale, numpy.ones_like(scale))]
    return converter.network.add_scale_nd(data, converter.trt.ScaleMode.CHANNEL, *weights, 1).get_output(0)


def _affine(converter: Converter, node: FlatNode, tensor: object, shape: Sequence[Dim]) -> Any:
    """Times gamma, plus beta, where the norm has them."""
    for name, is_used, kind in (("gamma", node.call.scale, "PROD"), ("beta", node.call.center, "SUM")):
        if is_used:
            given = converter.reshaped(converter.tensor(node.operand(name)), shape)
            tensor = converter.binary(tensor, given, kind)
    return tensor


def _normalized(converter: Converter, node: FlatNode, data: Any, rank: int, sizes: Sequence[int]) -> Any:
    """Over the last dimensions, of these sizes; scale and bias are inputs of the layer that have to be there."""
    import numpy

    shape = (*(1,) * (rank - len(sizes)), *sizes)
    dtype = NUMPY_NAME[node.operands[0].info.dtype]
    ones, zeros = (converter.constant(numpy.full(shape, number, dtype)) for number in (1, 0))
    layer = converter.network.add_normalization(data, ones, zeros, mask(range(rank - len(sizes), rank)))
    layer.epsilon = node.call.epsilon
    return layer.get_output(0)


def _refuse_layer_norm(op: Operation, call: Call) -> str:
    shape, axes = call.data.shape, _axes(call, len(call.data.shape))
    if axes != [*range(len(shape) - len(axes), len(shape))]:
        return f"TensorRT normalizes over the last dimensions, not over {tuple(call.axes)}"
    return _refuse_unknown(shape[axes[0] :])


def _refuse_unknown(sizes: Sequence[Dim]) -> str:
    is_known = all(isinstance(size, int) for size in sizes)
    return "" if is_known else "TensorRT has to know the sizes that are normalized"


@converts("nn.layer_norm", refuse=_refuse_layer_norm)
def layer_norm(converter: Converter, node: FlatNode) -> Any:
    dims = dims_of(node.operands[0])
    axes = _axes(node.call, len(dims))
    sizes = [size for size in dims[axes[0] :] if isinstance(size, int)]
    y = _normalized(converter, node, converter.tensor(node.operands[0]), len(dims), sizes)
    return _affine(converter, node, y, [*(1,) * axes[0], *sizes])


def _refuse_groups(op: Operation, call: Call) -> str:
    rank = len(call.data.shape)
    if normal_axis(call.channel_axis, rank) != 1 or _axes(call, rank) != [*range(2, rank)]:
        return "TensorRT normalizes groups of channels where these are dimension 1, over all that follow"
    return _refuse_unknown(call.data.shape[1:])


@converts("nn.group_norm", "nn.instance_norm", refuse=_refuse_groups)
def group_norm(converter: Converter, node: FlatNode) -> Any:
    """Each group as a row: what scale and bias of a group are differs between versions of TensorRT."""
    batch, *sizes = dims_of(node.operands[0])
    known = [size for size in sizes if isinstance(size, int)]
    groups = node.call.attributes.get("num_groups", known[0])
    count = prod(known) // groups
    rows = converter.reshaped(converter.tensor(node.operands[0]), [batch, groups, count])
    y = converter.reshaped(_normalized(converter, node, rows, 3, [count]), [batch, *sizes])
    return _affine(converter, node, y, [1, known[0], *(1 for _ in known[1:])])


@converts("nn.rms_norm")
def rms_norm(converter: Converter, node: FlatNode) -> Any:
    data, weight = node.operands
    x, rank = converter.tensor(data), len(dims_of(data))
    axes = _axes(node.call, rank)
    mean = converter.reduce(converter.binary(x, x, "PROD"), "AVG", axes)
    root = converter.unary(converter.binary(mean, converter.number(node.call.epsilon, data), "SUM"), "SQRT")
    sizes = [size if axis in axes else 1 for axis, size in enumerate(dims_of(data))]
    given = converter.reshaped(converter.tensor(weight), sizes)
    return converter.binary(converter.binary(x, root, "DIV"), given, "PROD")


@converts("nn.softmax")
def softmax(converter: Converter, node: FlatNode) -> Any:
    layer = converter.network.add_softmax(converter.tensor(node.operands[0]))
    layer.axes = mask([normal_axis(node.call.axis, len(dims_of(node.operands[0])))])
    return layer.get_output(0)


@converts("nn.log_softmax")
def log_softmax(converter: Converter, node: FlatNode) -> Any:
    """From the largest element, so that nothing is lost where softmax would be 0."""
    x, axes = converter.tensor(node.operands[0]), [normal_axis(node.call.axis, len(dims_of(node.operands[0])))]
    x = converter.binary(x, converter.reduce(x, "MAX", axes), "SUB")
    total = converter.reduce(converter.unary(x, "EXP"), "SUM", axes)
    return converter.binary(x, converter.unary(total, "LOG"), "SUB")


# ---- reductions ----


def _refuse_reduction(op: Operation, call: Call) -> str:
    if not call.x.shape:
        return "there is nothing to reduce"
    return "" if call.axis is None or call.axis else "no axis is reduced"


def _reduce(converter: Converter, node: FlatNode, kind: str) -> Any:
    rank, axis = len(dims_of(node.operands[0])), node.call.axis
    axes = range(rank) if axis is None else [normal_axis(each, rank) for each in axis]
    return converter.reduce(converter.tensor(node.operands[0]), kind, axes, keep=node.call.keepdims)


@converts(*REDUCTIONS, refuse=_refuse_reduction, dtypes=NUMBERS)
def reduction(converter: Converter, node: FlatNode) -> Any:
    return _reduce(converter, node, REDUCTIONS[node.name.removeprefix("relax.")])


@converts("mean", refuse=_refuse_reduction, dtypes=FLOATS)
def mean(converter: Converter, node: FlatNode) -> Any:
    return _reduce(converter, node, "AVG")


# ---- the largest ----


def _refuse_largest(op: Operation, call: Call) -> str:
    shape = call.x.shape
    if not shape or call.axis is None:
        return "TensorRT looks along one axis"
    size = shape[normal_axis(call.axis, len(shape))]
    return "" if isinstance(size, int) else "TensorRT has to know the size that it looks along"


@converts("argmax", "argmin", refuse=_refuse_largest, dtypes=FLOATS)
def largest(converter: Converter, node: FlatNode) -> Any:
    kind = {"argmax": "MAX", "argmin": "MIN"}[node.name.removeprefix("relax.")]
    axis = normal_axis(node.call.axis, len(dims_of(node.operands[0])))
    found = _top(converter, node, kind, 1, axis)[1]
    cast = converter.network.add_cast(found, converter.dtype(node.result.info.dtype)).get_output(0)
    return cast if node.call.keepdims else converter.reshaped(cast, dims_of(node.result))


def _refuse_topk(op: Operation, call: Call) -> str:
    shape = call.data.shape
    size = shape[normal_axis(call.axis, len(shape))] if shape else None
    k = size if call.k < 1 else call.k
    if not isinstance(k, int) or not isinstance(size, int) or not 1 <= k <= _MOST_LARGEST:
        return f"TensorRT gives up to {_MOST_LARGEST} elements, a number that is known when it compiles"
    return ""


@converts("topk", refuse=_refuse_topk)
def topk(converter: Converter, node: FlatNode) -> Any:
    call, dims = node.call, dims_of(node.operands[0])
    axis = normal_axis(call.axis, len(dims))
    size = dims_of(node.result)[axis]
    assert isinstance(size, int)
    values, indices = _top(converter, node, "MAX" if call.largest else "MIN", size, axis)
    if call.ret_type == "values":
        return values
    cast = converter.network.add_cast(indices, converter.dtype(node.results[-1].info.dtype)).get_output(0)
    return cast if call.ret_type == "indices" else (values, cast)


def _top(converter: Converter, node: FlatNode, kind: str, count: int, axis: int) -> tuple[Any, Any]:
    """Values and indices of i32, the largest first."""
    operation = getattr(converter.trt.TopKOperation, kind)
    layer = converter.network.add_topk(converter.tensor(node.operands[0]), operation, count, mask([axis]))
    return layer.get_output(0), layer.get_output(1)
