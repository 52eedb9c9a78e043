# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for norms, softmax, reductions and top-k."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.known_constants import NUMPY_NAME
from relax_mlir.dialects.relax.values import normal_axis
from relax_mlir.passes.graph.parts.operator_checks import normal_axes, refuse_reduction
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import CHECKS, FLOATS, NUMBERS, NetworkTensor, converts
from .tensor_dims import mask

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode


REDUCTIONS = {"max": "MAX", "min": "MIN", "sum": "SUM", "prod": "PROD"}
#: TensorRT's limit for K.
_MOST_LARGEST = 3840


# ---- norms ----


@converts("nn.batch_norm", refuse=CHECKS.batch_norm)
def batch_norm(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to (x - mean) / sqrt(variance + epsilon) * gamma + beta, or to a scale layer if all are constants."""
    rank, call = len(node.operands[0].dims), node.call
    axis = normal_axis(call.axis, rank)
    names = ("gamma", "beta", "moving_mean", "moving_var")
    arrays = [array for name in names if (array := converter.array(node.operand(name))) is not None]
    data = converter.tensor(node.operands[0])
    if rank >= 4 and axis == 1 and len(arrays) == len(names):
        return _scale(converter, node, data, arrays)
    channels = node.operands[2].dims[0]
    along = [channels if index == axis else 1 for index in range(rank)]
    shaped = {name: converter.reshaped(converter.tensor(node.operand(name)), along) for name in names}
    spread = converter.binary(shaped["moving_var"], converter.number(call.epsilon, node.operands[0]), "SUM")
    y = converter.binary(data, shaped["moving_mean"], "SUB")
    y = converter.binary(y, converter.unary(spread, "SQRT"), "DIV")
    y = converter.binary(y, shaped["gamma"], "PROD") if call.scale else y
    return converter.binary(y, shaped["beta"], "SUM") if call.center else y


def _scale(converter: Converter, node: FlatNode, data: NetworkTensor, arrays: Sequence[ndarray]) -> NetworkTensor:
    import numpy

    gamma, beta, mean, variance = (array.astype("float64") for array in arrays)
    scale = (gamma if node.call.scale else 1.0) / numpy.sqrt(variance + node.call.epsilon)
    shift = (beta if node.call.center else 0.0) - mean * scale
    dtype = NUMPY_NAME[node.operands[0].info.dtype]
    weights = [converter.weights(each.astype(dtype)) for each in (shift, scale, numpy.ones_like(scale))]
    return converter.network.add_scale_nd(data, converter.trt.ScaleMode.CHANNEL, *weights, 1).get_output(0)


def _affine(converter: Converter, node: FlatNode, tensor: NetworkTensor, shape: Sequence[Dim]) -> NetworkTensor:
    """Multiply by gamma and add beta, if the norm has them."""
    for name, is_used, kind in (("gamma", node.call.scale, "PROD"), ("beta", node.call.center, "SUM")):
        if is_used:
            given = converter.reshaped(converter.tensor(node.operand(name)), shape)
            tensor = converter.binary(tensor, given, kind)
    return tensor


def _add_normalization(
    converter: Converter, node: FlatNode, data: NetworkTensor, rank: int, sizes: Sequence[int]
) -> NetworkTensor:
    """Normalize over the last dimensions, which have these sizes. The layer requires scale and bias inputs."""
    import numpy

    shape = (*(1,) * (rank - len(sizes)), *sizes)
    dtype = NUMPY_NAME[node.operands[0].info.dtype]
    ones, zeros = (converter.constant(numpy.full(shape, number, dtype)) for number in (1, 0))
    layer = converter.network.add_normalization(data, ones, zeros, mask(range(rank - len(sizes), rank)))
    layer.epsilon = node.call.epsilon
    return layer.get_output(0)


@converts("nn.layer_norm", refuse=CHECKS.layer_norm)
def layer_norm(converter: Converter, node: FlatNode) -> NetworkTensor:
    dims = node.operands[0].dims
    axes = normal_axes(node.call)
    sizes = [size for size in dims[axes[0] :] if isinstance(size, int)]
    y = _add_normalization(converter, node, converter.tensor(node.operands[0]), len(dims), sizes)
    return _affine(converter, node, y, [*(1,) * axes[0], *sizes])


@converts("nn.group_norm", "nn.instance_norm", refuse=CHECKS.group_norm)
def group_norm(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Normalize each group as a row, because versions of TensorRT define the scale and bias of groups differently."""
    batch, *sizes = node.operands[0].dims
    known = [size for size in sizes if isinstance(size, int)]
    groups = node.call.attributes.get("num_groups", known[0])
    count = prod(known) // groups
    rows = converter.reshaped(converter.tensor(node.operands[0]), [batch, groups, count])
    y = converter.reshaped(_add_normalization(converter, node, rows, 3, [count]), [batch, *sizes])
    return _affine(converter, node, y, [1, known[0], *(1 for _ in known[1:])])


@converts("nn.rms_norm")
def rms_norm(converter: Converter, node: FlatNode) -> NetworkTensor:
    data, weight = node.operands
    x, axes = converter.tensor(data), normal_axes(node.call)
    mean = converter.reduce(converter.binary(x, x, "PROD"), "AVG", axes)
    root = converter.unary(converter.binary(mean, converter.number(node.call.epsilon, data), "SUM"), "SQRT")
    sizes = [size if axis in axes else 1 for axis, size in enumerate(data.dims)]
    given = converter.reshaped(converter.tensor(weight), sizes)
    return converter.binary(converter.binary(x, root, "DIV"), given, "PROD")


@converts("nn.softmax")
def softmax(converter: Converter, node: FlatNode) -> NetworkTensor:
    layer = converter.network.add_softmax(converter.tensor(node.operands[0]))
    layer.axes = mask([normal_axis(node.call.axis, len(node.operands[0].dims))])
    return layer.get_output(0)


@converts("nn.log_softmax")
def log_softmax(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Subtract the maximum first, to keep precision where softmax underflows to 0."""
    x, axes = converter.tensor(node.operands[0]), [normal_axis(node.call.axis, len(node.operands[0].dims))]
    x = converter.binary(x, converter.reduce(x, "MAX", axes), "SUB")
    total = converter.reduce(converter.unary(x, "EXP"), "SUM", axes)
    return converter.binary(x, converter.unary(total, "LOG"), "SUB")


# ---- reductions ----


def _reduce(converter: Converter, node: FlatNode, kind: str) -> NetworkTensor:
    rank, axis = len(node.operands[0].dims), node.call.axis
    axes = range(rank) if axis is None else [normal_axis(each, rank) for each in axis]
    return converter.reduce(converter.tensor(node.operands[0]), kind, axes, keep=node.call.keepdims)


@converts(*REDUCTIONS, refuse=refuse_reduction, dtypes=NUMBERS)
def reduction(converter: Converter, node: FlatNode) -> NetworkTensor:
    return _reduce(converter, node, REDUCTIONS[node.operator])


@converts("mean", refuse=refuse_reduction, dtypes=FLOATS)
def mean(converter: Converter, node: FlatNode) -> NetworkTensor:
    return _reduce(converter, node, "AVG")


# ---- top-k ----


def _refuse_largest(op: Operation, call: Call) -> str:
    if not (shape := call.x.shape) or call.axis is None:
        return "TensorRT searches along one axis, and this operator has none"
    size = shape[normal_axis(call.axis, len(shape))]
    return "" if isinstance(size, int) else "TensorRT needs a static size of the searched axis"


@converts("argmax", "argmin", refuse=_refuse_largest, dtypes=FLOATS)
def largest(converter: Converter, node: FlatNode) -> NetworkTensor:
    kind = {"argmax": "MAX", "argmin": "MIN"}[node.operator]
    found = _top(converter, node, kind, 1, normal_axis(node.call.axis, len(node.operands[0].dims)))[1]
    cast = converter.network.add_cast(found, converter.dtype(node.result.info.dtype)).get_output(0)
    return cast if node.call.keepdims else converter.reshaped(cast, node.result.dims)


def _refuse_topk(op: Operation, call: Call) -> str:
    shape = call.data.shape
    size = shape[normal_axis(call.axis, len(shape))] if shape else None
    k = size if call.k < 1 else call.k
    if not isinstance(k, int) or not isinstance(size, int) or not 1 <= k <= _MOST_LARGEST:
        return f"TensorRT selects a constant number of elements, from 1 to {_MOST_LARGEST}"
    return ""


@converts("topk", refuse=_refuse_topk)
def topk(converter: Converter, node: FlatNode) -> NetworkTensor | tuple[NetworkTensor, NetworkTensor]:
    call, dims = node.call, node.operands[0].dims
    axis = normal_axis(call.axis, len(dims))
    size = node.result.dims[axis]
    assert isinstance(size, int)
    values, indices = _top(converter, node, "MAX" if call.largest else "MIN", size, axis)
    if call.ret_type == "values":
        return values
    cast = converter.network.add_cast(indices, converter.dtype(node.results[-1].info.dtype)).get_output(0)
    return cast if call.ret_type == "indices" else (values, cast)


def _top(converter: Converter, node: FlatNode, kind: str, count: int, axis: int) -> tuple[NetworkTensor, NetworkTensor]:
    """Return values and i32 indices of the `count` largest or smallest elements, in sorted order."""
    operation = getattr(converter.trt.TopKOperation, kind)
    layer = converter.network.add_topk(converter.tensor(node.operands[0]), operation, count, mask([axis]))
    return layer.get_output(0), layer.get_output(1)
