# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for operators that join tensors or split one."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.equalities import contradict
from ...core.infos import TensorInfo, describe
from ...core.opdef import Call
from ...core.symbols import Dim, ceildiv, dim_floordiv, dim_max, dim_min, dim_mod, dim_mul, dim_sub, equal, total
from .sizes import Shape, most_precise, normalize_axis
from .slices import OPEN, slice_length

# A number in the IR must not determine how much memory the compiler takes.
_MOST_RESULTS = 65536


def _same_dtype(call: Call) -> str:
    """Return the common element type of operand 'tensors'."""
    tensors = call.tensors
    call.require(tensors, "operand 'tensors' is empty: at least one tensor is needed")
    for index, info in enumerate(tensors):
        if info.dtype != tensors[0].dtype:
            raise call.fail(
                f"operand 'tensors' #{index} ({describe(info)}) must have {tensors[0].dtype} elements, as #0"
            )
    return tensors[0].dtype


def _merged_shape(call: Call, joined: int | None = None) -> Shape | None:
    """Return the common shape of operand 'tensors', or None if all are unranked.

    The shape is as precise as all tensors together state. The tensors may differ in dimension `joined`, and the entry
    of this dimension is then meaningless.
    """
    if not (ranked := [(index, info) for index, info in enumerate(call.tensors) if info.shape is not None]):
        return None
    first, merged = ranked[0][0], list(ranked[0][1].shape)
    for index, info in ranked[1:]:
        if len(info.shape) != len(merged):
            raise call.fail(f"operand 'tensors' #{index} ({describe(info)}) must be {len(merged)}-D, as #{first} is")
        for axis, size in enumerate(info.shape):
            if axis != joined and contradict(size, merged[axis]):
                raise call.fail(
                    f"operand 'tensors' #{index} ({describe(info)}) must have size {merged[axis]} in dimension {axis}, "
                    "as those before it"
                )
            merged[axis] = most_precise([merged[axis], size])
    return tuple(merged)


def concat(call: Call) -> TensorInfo:
    dtype = _same_dtype(call)
    if (rank := next((info.rank for info in call.tensors if info.rank is not None), None)) is None:
        return TensorInfo(None, dtype)
    axis = normalize_axis(call, "axis", rank, call.axis)
    shape = _merged_shape(call, axis)
    assert shape is not None
    joined = total([None if info.shape is None else info.shape[axis] for info in call.tensors])
    return TensorInfo((*shape[:axis], joined, *shape[axis + 1 :]), dtype)


def stack(call: Call) -> TensorInfo:
    dtype = _same_dtype(call)
    if (shape := _merged_shape(call)) is None:
        return TensorInfo(None, dtype)
    axis = normalize_axis(call, "axis", len(shape) + 1, call.axis)
    return TensorInfo((*shape[:axis], len(call.tensors), *shape[axis:]), dtype)


def meshgrid(call: Call) -> list[TensorInfo]:
    dtype = _same_dtype(call)
    sizes: list[Dim] = []
    for index, info in enumerate(call.tensors):
        if info.rank not in (0, 1, None):
            raise call.fail(f"operand 'tensors' #{index} ({describe(info)}) must be 1-D or 0-D")
        sizes.append(None if info.shape is None else info.shape[0] if info.shape else 1)
    if call.indexing == "xy":
        sizes[:2] = reversed(sizes[:2])
    return [TensorInfo(tuple(sizes), dtype)] * len(sizes)


def split(call: Call) -> list[TensorInfo]:
    sections = call.indices_or_sections
    count = _count_parts(call, sections)
    if (shape := call.x.shape) is None:
        return [call.x] * count
    axis = normalize_axis(call, "axis", len(shape), call.axis)
    lengths = (
        _section_lengths(shape[axis], count) if isinstance(sections, int) else _part_lengths(shape[axis], sections)
    )
    return [call.x.with_shape((*shape[:axis], length, *shape[axis + 1 :])) for length in lengths]


def _count_parts(call: Call, sections: int | Sequence[int]) -> int:
    shown = call.describe("indices_or_sections")
    if isinstance(sections, int):
        call.require(sections > 0, f"{shown}: the number of sections must be positive")
    else:
        ascending = list(sections) == sorted(sections) and all(index >= 0 for index in sections)
        call.require(ascending, f"{shown}: indices must not be negative and must not decrease")
    count = sections if isinstance(sections, int) else len(sections) + 1
    call.require(count <= _MOST_RESULTS, f"{shown}: no more than {_MOST_RESULTS} results are allowed")
    return count


def _section_lengths(size: Dim, count: int) -> list[Dim]:
    """Return the lengths of equal sections, rounded up, while elements remain: 5 in 4 is 2, 2, 1, 0."""
    if equal(dim_mod(size, count), 0):
        return [dim_floordiv(size, count)] * count
    length = ceildiv(size, count)
    if count == 2:  # expressible without min and max
        return [length, dim_floordiv(size, 2)]
    rests = [dim_sub(size, dim_mul(length, index)) for index in range(1, count)]
    return [length, *(dim_max(0, dim_min(length, rest)) for rest in rests)]


def _part_lengths(size: Dim, indices: Sequence[int]) -> list[Dim]:
    begins, ends = [0, *indices], [*indices, OPEN]
    return [slice_length(begin, end, 1, size) for begin, end in zip(begins, ends, strict=True)]
