# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules for data movement: reshape, permute, slice, split, concat, pad, gather and resize."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.values import normal_axis, shape_of
from relax_mlir.passes.graph.parts.operator_checks import permuted_order, same
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import ALL, CHECKS, FLOATS, NetworkTensor, converts

if TYPE_CHECKING:
    from relax_mlir.passes.graph.parts.flat_graph import FlatNode


_RESIZE_MODES = {"nearest_neighbor": "NEAREST", "linear": "LINEAR"}
_COORDINATES = {"half_pixel": "HALF_PIXEL", "align_corners": "ALIGN_CORNERS", "asymmetric": "ASYMMETRIC"}
_ROUNDING = {"floor": "FLOOR", "ceil": "CEIL", "round_prefer_floor": "HALF_DOWN", "round_prefer_ceil": "HALF_UP"}


@converts("reshape", "flatten", "expand_dims", "squeeze", "nn.batch_flatten", dtypes=ALL)
def reshape(converter: Converter, node: FlatNode) -> NetworkTensor:
    return converter.reshaped(converter.tensor(node.operands[0]), node.result.dims)


@converts("permute_dims", dtypes=ALL)
def permute(converter: Converter, node: FlatNode) -> NetworkTensor:
    return converter.permuted(converter.tensor(node.operands[0]), permuted_order(node.call))


@converts("broadcast_to", dtypes=ALL)
def broadcast(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to a slice with stride 0 along broadcast dimensions."""
    dims = node.result.dims
    given = node.operands[0].dims
    given = (*(1,) * (len(dims) - len(given)), *given)
    steps = [0 if one == 1 and other != 1 else 1 for one, other in zip(given, dims, strict=True)]
    source = converter.with_rank(node.operands[0], len(dims))
    return converter.sliced(source, [0] * len(dims), dims, steps).get_output(0)


@converts("concat", dtypes=ALL)
def concat(converter: Converter, node: FlatNode) -> NetworkTensor:
    layer = converter.network.add_concatenation([converter.tensor(operand) for operand in node.operands])
    layer.axis = normal_axis(node.call.axis, len(node.result.dims))
    return layer.get_output(0)


@converts("split", refuse=CHECKS.split, dtypes=ALL)
def split(converter: Converter, node: FlatNode) -> tuple[NetworkTensor, ...]:
    source, rank = converter.tensor(node.operands[0]), len(node.operands[0].dims)
    axis, at, parts = normal_axis(node.call.axis, rank), 0, []
    for ref in node.results:
        start = [at if index == axis else 0 for index in range(rank)]
        parts.append(converter.sliced(source, start, ref.dims, [1] * rank).get_output(0))
        size = ref.dims[axis]
        assert isinstance(size, int)
        at += size
    return tuple(parts)


def _refuse_slice(op: Operation, call: Call) -> str:
    if not all(isinstance(each, int) for each in [*call.begin, *call.end]):
        return "TensorRT needs constant bounds, not computed sizes"
    sizes = [call.x.shape[axis] for axis in call.axes]
    return (
        "" if all(isinstance(size, int) for size in sizes) else "TensorRT needs static sizes of the sliced dimensions"
    )


@converts("strided_slice", refuse=_refuse_slice, dtypes=ALL)
def strided_slice(converter: Converter, node: FlatNode) -> NetworkTensor:
    call, dims = node.call, node.operands[0].dims
    start, steps = [0] * len(dims), [1] * len(dims)
    strides = call.strides or (1,) * len(call.axes)
    for axis, begin, end, step in zip(call.axes, call.begin, call.end, strides, strict=True):
        start[axis], steps[axis] = _cut(begin, end, step, dims[axis])
    return converter.sliced(converter.tensor(node.operands[0]), start, node.result.dims, steps).get_output(0)


def _cut(begin: int, end: int, step: int, size: Dim) -> tuple[int, int]:
    assert isinstance(size, int)
    first, _, stride = slice(begin, end, step).indices(size)
    return first, stride


def _refuse_pad(op: Operation, call: Call) -> str:
    if call.pad_mode != "constant":
        return f"TensorRT pads with a number only, not in mode '{call.pad_mode}'"
    if min(call.pad_width) < 0:
        return "TensorRT does not support negative padding"
    sizes = zip(call.data.shape, call.pad_width[0::2], call.pad_width[1::2], strict=True)
    is_known = all(isinstance(size, int) or before + after == 0 for size, before, after in sizes)
    return "" if is_known else "TensorRT needs static sizes of the padded dimensions"


@converts("nn.pad", refuse=_refuse_pad)
def pad(converter: Converter, node: FlatNode) -> NetworkTensor:
    """Convert to a slice that starts before the tensor, ends after the tensor, and fills with a number."""
    rank = len(node.result.dims)
    before = [-width for width in node.call.pad_width[0::2]]
    layer = converter.sliced(converter.tensor(node.operands[0]), before, node.result.dims, [1] * rank)
    layer.mode = converter.trt.SampleMode.FILL
    layer.set_input(4, _number(converter, node))
    return layer.get_output(0)


def _number(converter: Converter, node: FlatNode) -> NetworkTensor:
    import numpy
    from relax_mlir.dialects.relax.known_constants import NUMPY_NAME

    return converter.constant(numpy.array(node.call.pad_value, NUMPY_NAME[node.result.info.dtype]))


def _refuse_take(op: Operation, call: Call) -> str:
    if call.mode != "fast":
        return f"TensorRT does not support mode '{call.mode}' for indices out of bounds"
    if getattr(call.indices, "shape", None) is None:
        return "TensorRT needs a tensor of indices"
    return (
        ""
        if call.axis is not None or len(call.x.shape) == 1
        else "TensorRT gathers along one axis, and this operator has none"
    )


@converts("take", refuse=_refuse_take, dtypes=ALL)
def take(converter: Converter, node: FlatNode) -> NetworkTensor:
    data, indices = (converter.tensor(operand) for operand in node.operands)
    axis = normal_axis(node.call.axis or 0, len(node.operands[0].dims))
    return converter.network.add_gather(data, indices, axis).get_output(0)


def _refuse_resize(op: Operation, call: Call) -> str:
    if call.layout != "NCHW":
        return f"TensorRT resizes the last two dimensions, not those of layout {call.layout}"
    if call.method not in _RESIZE_MODES:
        return f"TensorRT's method '{call.method}' uses other weights"
    if call.coordinate_transformation_mode not in _COORDINATES:
        return f"TensorRT does not support coordinates '{call.coordinate_transformation_mode}'"
    if call.method == "nearest_neighbor" and call.rounding_method not in _ROUNDING:
        return f"TensorRT does not round by '{call.rounding_method}'"
    if call.out_dtype not in (None, call.data.dtype):
        return f"TensorRT computes a result of {call.data.dtype} from data of {call.data.dtype}, not {call.out_dtype}"
    shape = shape_of(op.results[0]) or ()
    return (
        "" if all(isinstance(size, int) for size in shape[2:]) else "TensorRT needs static sizes of the resized image"
    )


@converts("image.resize2d", refuse=_refuse_resize, dtypes=FLOATS)
def resize(converter: Converter, node: FlatNode) -> NetworkTensor:
    call, trt, dims = node.call, converter.trt, node.result.dims
    if same(dims, node.operands[0].dims):
        return converter.tensor(node.operands[0])
    layer = converter.network.add_resize(converter.tensor(node.operands[0]))
    known = [dim for dim in dims if isinstance(dim, int)]
    if len(known) == len(dims):
        layer.shape = tuple(known)
    else:
        layer.set_input(1, converter.shape(dims))
    layer.resize_mode = getattr(trt.InterpolationMode, _RESIZE_MODES[call.method])
    name = _COORDINATES[call.coordinate_transformation_mode]
    layer.coordinate_transformation = getattr(trt.ResizeCoordinateTransformation, name)
    if call.method == "nearest_neighbor":
        layer.nearest_rounding = getattr(trt.ResizeRoundMode, _ROUNDING[call.rounding_method])
    return layer.get_output(0)
