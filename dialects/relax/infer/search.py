# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for searching, sorting and selecting. What depends on the data has an unknown size."""

from __future__ import annotations

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import Dim, product
from .axes import normalize_axis
from .broadcast import broadcast_shapes
from .dtypes import ANY, asked_dtype, check_dtype, check_same_dtype
from .ranks import check_rank
from .scalars import check_flag, check_number, constant_flag, integer
from .sizes import expect_size, same_size

Shape = tuple[Dim, ...]


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
    """The values, then what the flags ask for: where they first are, which each element is, how many."""
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
    """The axis, counted from the front; None where it is absent, or is only known at run time."""
    axis, rank = integer(call, "axis"), call.x.rank
    if not isinstance(axis, int) or rank is None:
        return None
    if not -rank <= axis < rank:
        raise call.fail(f"operand 'axis' ({axis}) is out of range for {rank} dimensions of {call.describe('x')}")
    return axis % rank


def _unique_shape(call: Call, axis: int | None, count: Dim) -> Shape | None:
    """Without an axis the values of the flattened operand, with one its unique slices."""
    shape = call.x.shape
    if call.axis is None:
        return (count,)
    if shape is None or axis is None:
        return None if shape is None else (None,) * len(shape)
    return (*shape[:axis], count, *shape[axis + 1 :])


def _inverse_size(call: Call, axis: int | None) -> Dim:
    """A number for each element, or for each slice along the axis."""
    shape = call.x.shape
    if shape is None or (axis is None and call.axis is not None):
        return None
    return product(shape) if axis is None else shape[axis]


def nonzero(call: Call) -> TensorInfo:
    """A row for each dimension, a column for each element that is not zero."""
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
