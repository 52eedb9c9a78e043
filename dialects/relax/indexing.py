# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that read or write elements at indices."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Attribute, Context
from ...bindings.mlir import ir, string_value
from ..core.attributes import AttributeProblem, AttrKind, Bool, Int, Ints, Str, size_of
from ..core.codec import encode_dims
from ..core.equalities import contradict
from ..core.infos import ScalarInfo, TensorInfo, describe, is_float, is_int
from ..core.opdef import Call
from ..core.symbols import Dim, Size, SymbolError, SymExpr, dim_sub, parse
from .dialect import injective_op, op
from .infer.broadcast import broadcast_shapes, check_broadcast
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import (
    Shape,
    check_rank,
    exceeds,
    most_precise,
    normalize_axis,
    ordered_axes,
    same_shape,
    same_size,
    shape_of_rank,
)
from .infer.slices import OPEN, slice_length


def take(call: Call) -> TensorInfo:
    indices = _indices_shape(call)
    shape = call.x.shape
    if call.mode == "nan" and not is_float(call.x.dtype):
        raise call.fail(f"{call.describe('mode')}: the elements of {call.describe('x')} cannot be NaN")
    if call.axis is None:
        return call.x.with_shape(indices)
    if shape is None:
        return call.x
    axis = normalize_axis(call, "axis", len(shape), call.axis)
    return call.x.with_shape(None if indices is None else (*shape[:axis], *indices, *shape[axis + 1 :]))


def _indices_shape(call: Call) -> Shape | None:
    """Return the shape of the indices: a tensor of integers, or a single integer."""
    info: TensorInfo | ScalarInfo = call.indices
    call.require(is_int(info.dtype), f"{call.describe('indices')} must have int elements")
    return info.shape if isinstance(info, TensorInfo) else ()


def strided_slice(call: Call) -> TensorInfo:
    axes, begin, end = call.axes, call.begin, call.end
    strides = (1,) * len(axes) if call.strides is None else call.strides
    for name, values in (("begin", begin), ("end", end), ("strides", strides)):
        if len(values) != len(axes):
            raise call.fail(
                f"{call.describe(name)} must have {len(axes)} entries, one for each of {call.describe('axes')}"
            )
    call.require(0 not in strides, f"{call.describe('strides')}: a stride cannot be 0")
    if call.x.shape is None:
        return call.x
    sizes = list(call.x.shape)
    for index, axis in enumerate(ordered_axes(call, "axes", len(sizes), axes)):
        if call.assume_inbound:
            _check_inbound(call, "begin", begin[index], axis)
            _check_inbound(call, "end", end[index], axis)
        sizes[axis] = slice_length(begin[index], end[index], strides[index], sizes[axis], call.assume_inbound)
    return call.x.with_shape(sizes)


def _check_inbound(call: Call, name: str, bound: Dim, axis: int) -> None:
    """Raise OpProblem for a bound outside the dimension, although the operator promises that none is."""
    size = call.x.shape[axis]
    if bound not in (OPEN, -OPEN) and (exceeds(bound, size) or exceeds(dim_sub(0, size), bound)):
        raise call.fail(f"{call.describe(name)}: {bound} is outside of dimension {axis} of {call.describe('x')}")


def dynamic_strided_slice(call: Call) -> TensorInfo:
    lists = ("begin", "end", "strides")
    for name in lists:
        check_rank(call, name, 1)
        check_dtype(call, name, "int")
    length = same_size(call, "length", begin=0, end=0, strides=0)
    shape = call.x.shape
    if shape is not None and contradict(length, len(shape)):
        described = ", ".join(call.describe(name) for name in lists)
        raise call.fail(f"{described} must have {len(shape)} elements, one for each dimension of {call.describe('x')}")
    rank = length if shape is None else len(shape)
    return call.x.with_shape((None,) * rank if isinstance(rank, int) else None)


def gather_elements(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    data, indices = call.data.shape, call.indices.shape
    if data is not None:
        check_indices_within(call, "axis")
    if indices is None and data is not None:
        return call.data.with_shape([None] * len(data))
    return call.data.with_shape(indices)


def check_indices_within(call: Call, axis_name: str) -> None:
    """Raise OpProblem for indices, one per element of the result, that exceed the data outside of the axis."""
    data, indices = call.data.shape, call.indices.shape
    chosen = normalize_axis(call, axis_name, len(data), call.attributes[axis_name])
    if indices is None:
        return
    if len(indices) != len(data):
        raise call.fail(f"{call.describe('indices')} must be {len(data)}-D, as {call.describe('data')}")
    for axis, (size, limit) in enumerate(zip(indices, data, strict=True)):
        if axis != chosen and exceeds(size, limit):
            raise call.fail(
                f"{call.describe('indices')} must not be larger than {call.describe('data')} in dimension {axis}"
            )


def gather_nd(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    batch, data, indices = call.batch_dims, call.data.shape, call.indices.shape
    call.require(batch >= 0, f"{call.describe('batch_dims')} cannot be negative")
    for name, least in (("data", batch), ("indices", batch + 1)):
        if (rank := call.operands[name].rank) is not None and rank < least:
            raise call.fail(f"{call.describe(name)} must have at least {least} dimensions for batch_dims = {batch}")
    depth = None if indices is None else indices[-1]
    if data is None or indices is None:
        return call.data.with_shape(None)
    check_depth(call, depth, len(data) - batch)
    shared = [_batch_size(call, axis) for axis in range(batch)]
    if not isinstance(depth, int):
        return call.data.with_shape(None)
    return call.data.with_shape((*shared, *indices[batch:-1], *data[batch + depth :]))


def check_depth(call: Call, depth: Dim, rank: int) -> None:
    """Raise OpProblem for index tuples with more entries than the data has axes.

    The last dimension of operand 'indices' is the length of the tuples.
    """
    if exceeds(depth, rank):
        indices, data = call.describe("indices"), call.describe("data")
        raise call.fail(f"{indices}: its last dimension must be at most {rank}, as many as {data} has axes to index")


def _batch_size(call: Call, axis: int) -> Dim:
    sizes = call.data.shape[axis], call.indices.shape[axis]
    if contradict(*sizes):
        raise call.fail(
            f"{call.describe('data')} and {call.describe('indices')} must have the same size in batch dimension {axis}"
        )
    return most_precise(sizes)


def index_tensor(call: Call) -> TensorInfo:
    return call.data.with_shape(indexed_shape(call))


def indexed_shape(call: Call) -> Shape | None:
    """Return the shape of `data[indices]`: the indices' broadcast shape, then the other dimensions."""
    indices: Sequence[TensorInfo] = call.indices
    call.require(indices, "operand 'indices' is empty: at least one tensor is needed")
    for position, info in enumerate(indices):
        if not is_int(info.dtype):
            raise call.fail(f"operand 'indices' #{position} ({describe(info)}) must have int elements")
    shape = call.data.shape
    if shape is not None and len(indices) > len(shape):
        raise call.fail(
            f"operand 'indices' holds {len(indices)} tensors, but {call.describe('data')} is {len(shape)}-D"
        )
    common = broadcast_shapes(call, ["indices"] * len(indices), [info.shape for info in indices])
    return None if common is None or shape is None else (*common, *shape[len(indices) :])


def reverse_sequence(call: Call) -> TensorInfo:
    check_dtype(call, "seq_lengths", "int")
    (length,) = shape_of_rank(call, "seq_lengths", 1)
    if (shape := call.data.shape) is None:
        return call.data
    sequence = normalize_axis(call, "seq_axis", len(shape), call.seq_axis)
    batch = normalize_axis(call, "batch_axis", len(shape), call.batch_axis)
    call.require(sequence != batch, f"{call.describe('seq_axis')} and {call.describe('batch_axis')} must differ")
    if contradict(length, shape[batch]):
        lengths, data = call.describe("seq_lengths"), call.describe("data")
        raise call.fail(f"{lengths} must have one element for each of dimension {batch} of {data}")
    return call.data.with_shape((*shape[:batch], most_precise([shape[batch], length]), *shape[batch + 1 :]))


def index_put(call: Call) -> TensorInfo:
    check_same_dtype(call, "data", "values")
    places = indexed_shape(call)
    if places is not None and call.values.shape is not None:
        check_broadcast(call, "values", call.values.shape, "indices", places)
    return call.data


def scatter_elements(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    check_same_dtype(call, "data", "updates")
    same_shape(call, "updates", call.indices.shape, f"the shape of {call.describe('indices')}")
    if call.data.shape is not None:
        check_indices_within(call, "axis")
    return call.data


def scatter_nd(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    check_same_dtype(call, "data", "updates")
    data, indices = call.data.shape, call.indices.shape
    if indices is None:
        return call.data
    call.require(indices, f"{call.describe('indices')} must have at least one dimension")
    depth = indices[-1]
    if data is None or not isinstance(depth, int):
        return call.data
    check_depth(call, depth, len(data))
    places = (*indices[:-1], *data[depth:])
    same_shape(call, "updates", places, f"shape {_show(places)}: indices.shape[:-1] + data.shape[{depth}:]")
    return call.data


def _show(shape: Shape) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def slice_scatter(call: Call) -> TensorInfo:
    check_same_dtype(call, "input", "src")
    for name in ("start", "end", "step"):
        scalar: ScalarInfo = call.operands[name]
        call.require(is_int(scalar.dtype), f"{call.describe(name)} must be an integer")
    step = call.step.value
    if exceeds(1, step):
        raise call.fail(f"operand 'step' must be positive, got {step}")
    if (target := call.input.shape) is None:
        return call.input
    axis = normalize_axis(call, "axis", len(target), call.axis)
    taken = _slice_of(call, target[axis])
    places = (*target[:axis], taken, *target[axis + 1 :])
    same_shape(call, "src", places, f"shape {_show(places)}, as the slice of {call.describe('input')}")
    return call.input


def _slice_of(call: Call, size: Dim) -> Dim:
    step = call.step.value
    return None if not isinstance(step, int) else slice_length(call.start.value, call.end.value, step, size)


class _Bounds(AttrKind):
    """Integers and expressions over symbols. The IR stores plain integers, or text if there is an expression."""

    expects = "a list of integers and expressions over symbols"
    label = "bounds"
    hint = "Sequence[BoundLike]"

    def normalize(self, value: object) -> tuple[Size, ...]:
        if isinstance(value, (bytes, str, SymExpr)) or not hasattr(value, "__iter__"):
            value = (value,)
        try:
            return tuple(map(size_of, value))
        except SymbolError as error:
            raise AttributeProblem(f"expects {self.expects}: {error}") from None
        except AttributeProblem:
            raise self.refuse(value) from None

    def encode(self, value: tuple[Size, ...], context: Context) -> Attribute:
        if all(isinstance(bound, int) for bound in value):
            return Ints().encode(value, context)
        return encode_dims(value, context)

    def decode(self, attribute: Attribute) -> tuple[Size, ...]:
        if not isinstance(attribute, ir.ArrayAttr):
            return Ints().decode(attribute)
        try:
            return tuple(
                parse(string_value(item)) if isinstance(item, ir.StringAttr) else Int().decode(item)
                for item in attribute
            )
        except (AttributeProblem, SymbolError, UnicodeDecodeError):
            raise self.refuse(attribute) from None


# ---- read ----
injective_op("take", "x indices:tensor_or_scalar", attrs={"axis": Int(None, doc="default: flatten the tensor first"),
   "mode": Str("fast", choices=("fast", "nan", "wrap", "clip"), doc="treatment of indices out of bounds")},
   infer=take, doc="Selects slices of x along an axis.")  # fmt: skip
injective_op("strided_slice", "x", attrs={
   "axes": Ints(), "begin": _Bounds(), "end": _Bounds(doc="2**63 - 1 or its negation: no bound"),
   "strides": Ints(None, doc="default: 1"), "assume_inbound": Bool(False, doc="if True, no bound is out of range")},
   infer=strided_slice, doc="x[begin:end:strides] along the axes, as in Python.")  # fmt: skip
op("dynamic_strided_slice", "x begin end strides", infer=dynamic_strided_slice,
   doc="x[begin:end:strides] with dynamic bounds and strides, one for each dimension.")  # fmt: skip
injective_op("gather_elements", "data indices", attrs={"axis": Int(0)}, infer=gather_elements,
   doc="Selects an element along the axis for each index, as numpy.take_along_axis.")  # fmt: skip
injective_op("gather_nd", "data indices", attrs={"batch_dims": Int(0)}, infer=gather_nd,
   doc="Selects elements or slices by the index tuples in the last dimension of indices.")  # fmt: skip
injective_op("index_tensor", "data *indices", infer=index_tensor, doc="data[indices[0], indices[1], ...].")
injective_op("reverse_sequence", "data seq_lengths", attrs={"seq_axis": Int(1), "batch_axis": Int(0)},
   infer=reverse_sequence, doc="Reverses the first seq_lengths elements of each batch.")  # fmt: skip

# ---- write ----
op("index_put", "data *indices values", attrs={"accumulate": Bool(False, doc="add to the elements")},
   infer=index_put, doc="Copy of data with data[indices[0], indices[1], ...] = values.")  # fmt: skip
op("scatter_elements", "data indices updates", attrs={"axis": Int(0),
   "reduction": Str("update", choices=("update", "add", "mul", "mean", "max", "min"))}, infer=scatter_elements,
   doc="Copy of data with each update written at its index along the axis.")  # fmt: skip
op("scatter_nd", "data indices updates", attrs={
   "reduction": Str("update", choices=("update", "add", "mul", "max", "min"))}, infer=scatter_nd,
   doc="Copy of data with updates written at the index tuples in the last dimension of indices.")  # fmt: skip
op("slice_scatter", "input src start:scalar end:scalar step:scalar", attrs={"axis": Int(0)},
   infer=slice_scatter, doc="Copy of input with input[start:end:step] = src along the axis.")  # fmt: skip
