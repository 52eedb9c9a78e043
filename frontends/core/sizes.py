# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes during import: numbers and expressions if they are known, else dynamic sizes.

A dynamic size is a 1-D tensor of one 64-bit integer. This module also has operators on tensors with size operands.
Their result types contain the known sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from ...dialects import relax
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim, SymExpr, dim_max, dim_min, sym
from ...dialects.relax.infer.slices import OPEN, slice_length
from ...emit.kernels import FreshSymbols
from ...passes.evaluate.elements import objects
from .tensors import along_axis, cast, const, info_of, joined
from .values import Held, Tensor, Value, known

#: An integer, an expression over symbols, or a tensor.
Size = Any


def is_known(*sizes: Size) -> bool:
    return all(isinstance(size, (int, SymExpr)) for size in sizes)


# ---- sources of sizes ----


def shape_tensor(x: Tensor) -> Tensor:
    return relax.shape_to_tensor(relax.shape_of(x))


def element(numbers: Tensor, index: int) -> Tensor:
    """Return one element of a 1-D tensor, as a 1-D tensor."""
    return relax.strided_slice(numbers, axes=[0], begin=[index], end=[index + 1], assume_inbound=True)


def size_of(tensor: Tensor, axis: int) -> Size:
    size = (info_of(tensor).shape or ())[axis]
    return element(shape_tensor(tensor), axis % tensor.type.rank) if size is None else size


def sizes_of(value: Value) -> list[Size]:
    shape = value.shape
    assert shape is not None
    return [element(shape_tensor(value.ssa), axis) if size is None else size for axis, size in enumerate(shape)]


def as_tensor(sizes: Sequence[Size]) -> Tensor:
    """Return sizes as the elements of a 1-D tensor."""
    if is_known(*sizes):
        return known(objects(sizes)).ssa
    return joined([as_tensor([size]) if is_known(size) else size for size in sizes])


def as_scalar(value: bool | float | Size | Value, dtype: str) -> Tensor:
    """Return a number or a size as a 0-D tensor."""
    if isinstance(value, (bool, int, float)):
        return const(value, dtype)
    if isinstance(value, Value):
        return cast(value.ssa, dtype)
    return cast(relax.reshape(as_tensor([value]), ()), dtype)


def of_scalar(value: Value) -> Size:
    """Return the element of a 0-D tensor as a size."""
    if (known := value.elements) is not None and known.size == 1:
        return known.ravel()[0] if isinstance(known.ravel()[0], SymExpr) else int(known.ravel()[0])
    return relax.reshape(cast(value.ssa, "i64"), (1,))


# ---- arithmetic ----


def _operation(name: str, known: Callable[[int | SymExpr, int | SymExpr], Dim]) -> Callable[[Size, Size], Size]:
    def apply(left: Size, right: Size) -> Size:
        if is_known(left, right):
            return known(left, right)
        return relax.dialect.ops[name](as_tensor([left]), as_tensor([right]))

    return apply


plus = _operation("add", lambda left, right: left + right)
minus = _operation("subtract", lambda left, right: left - right)
times = _operation("multiply", lambda left, right: left * right)
divided = _operation("floor_divide", lambda left, right: left // right)
larger = _operation("maximum", dim_max)
smaller = _operation("minimum", dim_min)


def product(sizes: Sequence[Size]) -> Size:
    return reduce(times, sizes, 1)


# ---- tensors of such sizes ----


def as_shape(sizes: Sequence[Size]) -> Any:
    """Return sizes as a shape operand."""
    if not is_known(*sizes):
        return relax.tensor_to_shape(as_tensor(sizes))
    if all(isinstance(size, int) and size > 0 for size in sizes):
        return tuple(sizes)
    # Not as a tuple, in which -1 and 0 have a special meaning.
    return relax.shape_expr(dims=tuple(sizes))


def _list(sizes: Sequence[Size]) -> Any:
    """Return sizes like `as_shape`, for operators to which -1 and 0 have no special meaning."""
    return tuple(sizes) if is_known(*sizes) else as_shape(sizes)


def stated(result: Tensor, sizes: Sequence[Size]) -> Tensor:
    """Return the result with the known sizes in its type. New sizes are checked at run time."""
    info = Value(ssa=result).info
    known = [size if is_known(size) else None for size in sizes]
    own = info.shape if info.shape is not None else [None] * len(known)
    merged = [mine if mine is not None else other for mine, other in zip(own, known, strict=True)]
    if info.shape is not None and list(info.shape) == merged:
        return result
    return relax.match_cast(result, ty=TensorInfo(tuple(merged), info.dtype))


def named(value: Held | None, symbols: FreshSymbols) -> Held | None:
    """Return a tensor with a new symbol for each dynamic size.

    Shape and arithmetic on its result are then known, so that the graph has no tensors of sizes. Tensors made with such
    sizes have expressions as sizes.
    """
    if not isinstance(value, Value) or not value.is_in_graph or None not in (value.shape or ()):
        return value
    sizes = [sym(symbols.next()) if size is None else size for size in value.shape or ()]
    return Value(ssa=stated(value.ssa, sizes))


def reshaped(x: Tensor, sizes: Sequence[Size]) -> Tensor:
    return stated(relax.reshape(x, as_shape(sizes)), sizes)


def with_rest(own: Sequence[Size], wanted: Sequence[Size]) -> list[Size]:
    """Return a shape in which -1 is replaced by the remaining number of elements."""
    if not any(_is(size, -1) for size in wanted):
        return list(wanted)
    given = product([size for size in wanted if not _is(size, -1)])
    rest = 0 if _is(given, 0) else divided(product(own), given)
    return [rest if _is(size, -1) else size for size in wanted]


def _is(size: Size, number: int) -> bool:
    return isinstance(size, int) and size == number


def broadcast(x: Tensor, sizes: Sequence[Size]) -> Tensor:
    return stated(relax.broadcast_to(x, _list(sizes)), sizes)


def full(sizes: Sequence[Size], value: Tensor) -> Tensor:
    """Return a tensor filled with the value of a 0-D tensor."""
    return stated(relax.full(_list(sizes), value), sizes)


def zeros(sizes: Sequence[Size], dtype: str) -> Tensor:
    return stated(relax.zeros(_list(sizes), dtype=dtype), sizes)


def count_up(size: Size, dtype: str = "i64") -> Tensor:
    """Return the numbers from 0 up to before a size."""
    if is_known(size):
        return relax.arange(0, size, 1, dtype=dtype)
    return relax.cumsum(full([size], const(1, dtype)), axis=0, exclusive=True)


def positions(sizes: Sequence[Size], axis: int, dtype: str = "i64") -> Tensor:
    """Return the index along an axis, in a shape that broadcasts to the sizes."""
    return along_axis(count_up(sizes[axis], dtype), axis, len(sizes))


def tiled(value: Value, repeats: Sequence[Size]) -> Tensor:
    """Repeat a tensor along each dimension as often as `repeats` says."""
    if all(isinstance(count, int) for count in repeats):
        return relax.tile(value.ssa, repeats=repeats)
    own = sizes_of(value)
    # Broadcast along a new dimension in front of each, then merge both.
    apart = [size for one in own for size in (1, one)]
    copied = [size for pair in zip(repeats, own, strict=True) for size in pair]
    return reshaped(broadcast(reshaped(value.ssa, apart), copied), list(map(times, repeats, own)))


# ---- slices ----


def sliced(
    value: Value, bounds: dict[int, tuple[Size, Size, int]], lengths: Mapping[int, Size] | None = None
) -> Tensor:
    """Return `value[begin:end:step]` along axes, by Python's rules.

    Bounds are sizes, steps are numbers. `lengths` are the lengths of the slices, as far as the caller knows them.
    """
    begins, ends, steps = zip(*bounds.values(), strict=True) if bounds else ((), (), ())
    if all(isinstance(bound, int) for bound in (*begins, *ends)):
        return relax.strided_slice(value.ssa, axes=list(bounds), begin=begins, end=ends, strides=steps)
    return _slice_at_run_time(value, bounds, lengths or {})


def _slice_at_run_time(value: Value, bounds: dict[int, tuple[Size, Size, int]], known: Mapping[int, Size]) -> Tensor:
    shape = value.shape
    assert shape is not None
    every = [bounds.get(axis, (0, OPEN, 1)) for axis in range(len(shape))]
    lists = [as_tensor([sizes[place] for sizes in every]) for place in range(3)]
    lengths = [
        slice_length(begin, end, step, size) if is_known(begin, end, size) else None
        for (begin, end, step), size in zip(every, shape, strict=True)
    ]
    kept = [shape[axis] if axis not in bounds else known.get(axis, length) for axis, length in enumerate(lengths)]
    return stated(relax.dynamic_strided_slice(value.ssa, *lists), kept)


def parts(value: Value, axis: int, lengths: Sequence[Size]) -> list[Tensor]:
    """Split a tensor along an axis into parts that cover it."""
    ends = list(accumulate(lengths, plus))
    if all(isinstance(end, int) for end in ends):
        found = relax.split(value.ssa, indices_or_sections=ends[:-1], axis=axis)
        return list(found) if isinstance(found, tuple) else [found]
    own = sizes_of(value)
    return [
        stated(sliced(value, {axis: (begin, end, 1)}), [*own[:axis], length, *own[axis + 1 :]])
        for begin, end, length in zip([0, *ends[:-1]], ends, lengths, strict=True)
    ]
