# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of collectives on arrays, by the engine of the calling thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import prod
from types import MappingProxyType
from typing import Any

import numpy
import tvm_ffi
from relax_mlir.runtime.arrays import to_numpy

from .engines import Array, RankError, Transport, current
from .mesh import Groups

_COMBINE: Mapping[str, Callable[..., Array]] = MappingProxyType(
    {"sum": numpy.add, "prod": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum}
)
#: Attribute with the operator and its place in the user's program.
_PLACE = "place"


def encode(attributes: Mapping[str, Any], place: str) -> bytes:
    """Return the attributes and the place of a collective as an operand of its call."""
    return json.dumps({**attributes, _PLACE: place}, sort_keys=True).encode()


@cache
def _decode(words: bytes) -> dict[str, Any]:
    attributes: dict[str, Any] = json.loads(words)
    return attributes


def run(name: str, x: Array, attributes: Mapping[str, Any], out: Array | None = None) -> Array:
    """Write the result of a collective for this rank to `out`, and return it."""
    options = dict(attributes)
    place = options.pop(_PLACE, f"ccl.{name}")
    engine = current(place)
    if out is None:
        out = numpy.empty(_result_shape(x.shape, options), x.dtype)
    try:
        _FUNCTIONS[name](engine, numpy.asarray(x, order="C"), out, **options)
    except RankError as error:
        raise RankError(str(error).replace("a collective", place, 1)) from None
    return out


def _result_shape(shape: Sequence[int], options: Mapping[str, Any]) -> list[int]:
    """Return the shape of a collective's result by its attributes."""
    sizes, count = list(shape), options.get("group_size", 1)
    if "split_axis" in options or ("axis" in options and "size" not in options):
        axis = options.get("split_axis", options.get("axis", 0))
        sizes[axis] = -(-sizes[axis] // count)
    if "size" in options:
        axis = options.get("concat_axis", options.get("axis", 0))
        sizes[axis] = sizes[axis] * count if options["size"] < 0 else options["size"]
    return sizes


@cache
def _cached_groups(groups: tuple[int, ...], group_size: int) -> Groups:
    return tuple(groups[at : at + group_size] for at in range(0, len(groups), group_size))


def _split_groups(groups: Sequence[int], group_size: int) -> Groups:
    return _cached_groups(tuple(groups), group_size)


def _index(engine: Transport, groups: Groups) -> int:
    """Return the place of this rank in its group."""
    return next(group.index(engine.rank) for group in groups if engine.rank in group)


def part(x: Array, axis: int, index: int, count: int) -> Array:
    """Return part `index` of `count` along an axis. A part behind the end repeats the last element."""
    size = x.shape[axis]
    step = -(-size // count)
    first = index * step
    if first + step <= size:
        return x[(slice(None),) * (axis % x.ndim) + (slice(first, first + step),)]
    return x.take(numpy.minimum(numpy.arange(first, first + step), size - 1), axis)


def _pieces(engine: Transport, x: Array, out: Array) -> Iterator[tuple[Array, Array]]:
    """Yield pieces of an array and of a result of the same shape that the engine moves without a copy more."""
    step = max(engine.piece // x.itemsize, 1)
    if x.size <= step:
        yield x, out
        return
    source, target = x.reshape(-1), out.reshape(-1)
    for at in range(0, x.size, step):
        yield source[at : at + step], target[at : at + step]


def _accumulate(kind: str, parts: Sequence[Array], out: Array) -> None:
    """Combine parts in their order."""
    if len(parts) == 1:
        out[...] = parts[0]
    for index, array in enumerate(parts[1:]):
        _COMBINE[kind](out if index else parts[0], array, out=out)


def _all_reduce(engine: Transport, x: Array, out: Array, *, groups: Sequence[int], group_size: int, kind: str) -> None:
    for piece, result in _pieces(engine, x, out):
        engine.exchange(_split_groups(groups, group_size), piece, partial(_accumulate, kind, out=result))


def gathered_blocks(shape: Sequence[int], axis: int, itemsize: int, piece: int) -> tuple[int, int, int, int]:
    """Return the rows and columns of a part for all_gather, and the rows and columns of a block that moves at once."""
    rows, columns = prod(shape[: axis % len(shape)]), prod(shape[axis % len(shape) :])
    width = min(max(piece // itemsize, 1), max(columns, 1))
    return rows, columns, max(piece // itemsize // width, 1), width


def _all_gather(
    engine: Transport, x: Array, out: Array, *, groups: Sequence[int], group_size: int, axis: int, size: int
) -> None:
    """Join the parts: in rows of the dimensions in front of the axis, each has some columns."""
    divided = _split_groups(groups, group_size)
    rows, columns, height, width = gathered_blocks(x.shape, axis, x.itemsize, engine.piece)
    source, target = x.reshape(rows, columns), out.reshape(rows, prod(out.shape[axis % x.ndim :]))

    def join(row: int, column: int, parts: Sequence[Array]) -> None:
        for index, array in enumerate(parts):
            first = index * columns + column
            place = target[row : row + height, first : first + array.shape[1]]
            place[...] = array[:, : place.shape[1]]

    for row in range(0, rows, height):
        for column in range(0, columns, width):
            piece = source[row : row + height, column : column + width]
            engine.exchange(divided, piece, partial(join, row, column))


def _reduce_scatter(
    engine: Transport, x: Array, out: Array, *, groups: Sequence[int], group_size: int, axis: int, kind: str
) -> None:
    divided = _split_groups(groups, group_size)
    index = _index(engine, divided)

    def combine(parts: Sequence[Array]) -> None:
        _accumulate(kind, [part(array, axis, index, group_size) for array in parts], out)

    engine.exchange(divided, x, combine)


def _all_to_all(
    engine: Transport,
    x: Array,
    out: Array,
    *,
    groups: Sequence[int],
    group_size: int,
    split_axis: int,
    concat_axis: int,
    size: int,
) -> None:
    divided = _split_groups(groups, group_size)
    index = _index(engine, divided)

    def join(parts: Sequence[Array]) -> None:
        whole = numpy.concatenate([part(array, split_axis, index, group_size) for array in parts], concat_axis)
        out[...] = whole[tuple(map(slice, out.shape))]

    engine.exchange(divided, x, join)


def _permute(engine: Transport, x: Array, out: Array, *, pairs: Sequence[int]) -> None:
    source = dict(zip(pairs[1::2], pairs[::2], strict=True)).get(engine.rank)
    for piece, result in _pieces(engine, x, out):
        engine.exchange((tuple(range(engine.size)),), piece, partial(_copy, source, out=result))


def _broadcast(engine: Transport, x: Array, out: Array, *, groups: Sequence[int], group_size: int, root: int) -> None:
    for piece, result in _pieces(engine, x, out):
        engine.exchange(_split_groups(groups, group_size), piece, partial(_copy, root, out=result))


def _copy(source: int | None, parts: Sequence[Array], out: Array) -> None:
    out[...] = 0 if source is None else parts[source]


def _own_part(engine: Transport, x: Array, out: Array, *, groups: Sequence[int], group_size: int, axis: int) -> None:
    out[...] = part(x, axis, _index(engine, _split_groups(groups, group_size)), group_size)


_FUNCTIONS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "all_reduce": _all_reduce,
        "all_gather": _all_gather,
        "reduce_scatter": _reduce_scatter,
        "all_to_all": _all_to_all,
        "permute": _permute,
        "broadcast": _broadcast,
        "part": _own_part,
    }
)


def _register(name: str) -> None:
    @tvm_ffi.register_global_func(f"ccl.{name}", override=True)
    def call(x: Any, words: Any, out: Any) -> None:
        run(name, _view(x), _decode(numpy.from_dlpack(words).tobytes()), _view(out))


def _view(tensor: Any) -> Array:
    """Return a tensor as an array, in a fifth of the time of `to_numpy` if NumPy knows its type."""
    try:
        return numpy.from_dlpack(tensor)
    except (BufferError, RuntimeError):
        return to_numpy(tensor)


tvm_ffi.register_error("RankError", RankError)
for _name in _FUNCTIONS:
    _register(_name)
