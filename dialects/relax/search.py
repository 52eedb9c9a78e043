# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searching, sorting and selecting."""

from __future__ import annotations

from ..core.attributes import Bool, DType, Int, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, product
from .dialect import broadcast_op, elementwise_op, injective_op, op
from .infer.broadcast import broadcast_shapes
from .infer.dtypes import (
    ANY,
    asked_dtype,
    check_dtype,
    check_flag,
    check_number,
    check_same_dtype,
    constant_flag,
    integer,
)
from .infer.sizes import Shape, check_rank, expect_size, normalize_axis, same_size


def where(call: Call) -> TensorInfo:
    check_dtype(call, "condition", "bool")
    check_same_dtype(call, "x1", "x2")
    names = ("condition", "x1", "x2")
    return TensorInfo(broadcast_shapes(call, names, [call.operands[name].shape for name in names]), call.x1.dtype)


def clip(call: Call) -> TensorInfo:
    check_dtype(call, "x", "float", "int")
    check_number(call, "min", "max")
    return call.x


def sort(call: Call) -> TensorInfo:
    check_dtype(call, "data", *ANY)
    if call.data.rank is not None:
        normalize_axis(call, "axis", call.data.rank, call.axis)
    return call.data


def argsort(call: Call) -> TensorInfo:
    return sort(call).with_dtype(asked_dtype(call, "dtype", "i32", "float", "int"))


def topk(call: Call) -> list[TensorInfo]:
    check_dtype(call, "data", *ANY)
    values = call.data.with_shape(_topk_shape(call, call.data.shape))
    positions = values.with_dtype(asked_dtype(call, "dtype", "i32", "float", "int"))
    return {"both": [values, positions], "values": [values], "indices": [positions]}[call.ret_type]


def _topk_shape(call: Call, shape: Shape | None) -> Shape | None:
    if shape is None:
        return None
    axis = normalize_axis(call, "axis", len(shape), call.axis)
    size = shape[axis]
    everything = call.k < 1 or (isinstance(size, int) and call.k > size)
    return (*shape[:axis], size if everything else call.k, *shape[axis + 1 :])


def unique(call: Call) -> list[TensorInfo]:
    """Infer the unique values, then the results that the flags request: first indices, inverse, counts."""
    check_dtype(call, "x", *ANY)
    check_flag(call, "sorted")
    axis = _known_axis(call)
    count = 1 if call.x.rank == 0 else None
    sizes = {"return_index": count, "return_inverse": _inverse_size(call, axis), "return_counts": count}
    reason = "the number of results depends on it"
    asked = [size for name, size in sizes.items() if constant_flag(call, name, reason)]
    values = call.x.with_shape(_unique_shape(call, axis, count))
    return [values, *(TensorInfo((size,), "i64") for size in asked)]


def _known_axis(call: Call) -> int | None:
    """Return the axis, counted from the front, or None if it is absent or only known at run time."""
    axis, rank = integer(call, "axis"), call.x.rank
    if not isinstance(axis, int) or rank is None:
        return None
    if not -rank <= axis < rank:
        raise call.fail(f"operand 'axis' ({axis}) is out of range for {rank} dimensions of {call.describe('x')}")
    return axis % rank


def _unique_shape(call: Call, axis: int | None, count: Dim) -> Shape | None:
    """Return the shape of the unique values: of the flattened operand without an axis, else of its unique slices."""
    shape = call.x.shape
    if call.axis is None:
        return (count,)
    if shape is None or axis is None:
        return None if shape is None else (None,) * len(shape)
    return (*shape[:axis], count, *shape[axis + 1 :])


def _inverse_size(call: Call, axis: int | None) -> Dim:
    """Return the length of the inverse: a number per element, or per slice along the axis."""
    shape = call.x.shape
    if shape is None or (axis is None and call.axis is not None):
        return None
    return product(shape) if axis is None else shape[axis]


def nonzero(call: Call) -> TensorInfo:
    """Infer a row per dimension and a column per nonzero element."""
    check_dtype(call, "x", *ANY)
    rank = call.x.rank
    return TensorInfo((None if rank is None else max(1, rank), None), "i64")


def bucketize(call: Call) -> TensorInfo:
    check_dtype(call, "input_tensor", "float", "int")
    check_dtype(call, "boundaries", "float", "int")
    check_rank(call, "boundaries", 1)
    return call.input_tensor.with_dtype("i32" if call.out_int32 else "i64")


def multinomial_from_uniform(call: Call) -> TensorInfo:
    check_dtype(call, "prob", "float")
    check_dtype(call, "uniform_sample", "float")
    check_dtype(call, "sample_indices", "int")
    for name in ("prob", "uniform_sample", "sample_indices"):
        check_rank(call, name, 2)
    expect_size(call, "uniform_sample", 1, 1, "columns")
    expect_size(call, "sample_indices", 1, 1, "columns")
    samples = same_size(call, "number of samples", uniform_sample=0, sample_indices=0)
    return TensorInfo((samples, 1), asked_dtype(call, "dtype", "i64", "float", "int"))


_ORDER = {"axis": Int(-1), "descending": Bool(False)}

broadcast_op("where", "condition x1 x2", infer=where, doc="x1 where the condition is True, else x2, with broadcasting.")
elementwise_op("clip", "x min:scalar max:scalar", flops=2, infer=clip, doc="Limits x to [min, max].")
op("sort", "data", attrs=_ORDER, infer=sort, doc="Sorts the elements along an axis.")
op("argsort", "data", attrs={**_ORDER, "dtype": DType("i32")}, infer=argsort,
   doc="Indices that sort the elements along an axis.")  # fmt: skip
op("topk", "data",
   attrs={"k": Int(1, doc="number of elements; less than 1: all"), "axis": Int(-1),
          "ret_type": Str("both", choices=("both", "values", "indices")),
          "largest": Bool(True, doc="if False, selects the smallest elements"),
          "dtype": DType("i32", doc="element type of the indices")},
   results="result indices?", infer=topk,
   doc="Selects the k largest elements along an axis, in order, and their indices.")  # fmt: skip
op("unique", "x sorted:scalar return_index:scalar return_inverse:scalar return_counts:scalar axis?:scalar",
   defaults={"sorted": True, "return_index": False, "return_inverse": False, "return_counts": False},
   results="values *others", infer=unique,
   doc="Unique elements, or slices along an axis. Constant flags add first indices, inverse and counts.")  # fmt: skip
op("nonzero", "x", infer=nonzero, doc="Indices of the nonzero elements, with a row for each dimension.")
injective_op("bucketize", "input_tensor boundaries",
   attrs={"out_int32": Bool(False, doc="if True, indices are int32 instead of int64"),
          "right": Bool(False, doc="if True, an element equal to a boundary is in the bucket after it")},
   infer=bucketize, doc="Index of each element's bucket between sorted boundaries.")  # fmt: skip
op("multinomial_from_uniform", "prob uniform_sample sample_indices", attrs={"dtype": DType("i64")},
   infer=multinomial_from_uniform,
   doc="Class that each uniform sample draws from the row of probabilities at its index.")  # fmt: skip
