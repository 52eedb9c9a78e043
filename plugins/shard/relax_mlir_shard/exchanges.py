# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of collectives on arrays, by the engine of the calling thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
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


def encode(attributes: Mapping[str, Any]) -> bytes:
    """Return the attributes of a collective as an operand of its call."""
    return json.dumps(attributes, sort_keys=True).encode()


@cache
def _decode(words: bytes) -> dict[str, Any]:
    attributes: dict[str, Any] = json.loads(words)
    return attributes


def run(name: str, x: Array, attributes: Mapping[str, Any]) -> Array:
    """Return the result of a collective for this rank."""
    return _FUNCTIONS[name](current(f"ccl.{name}"), x, **attributes)


def _split_groups(groups: Sequence[int], group_size: int) -> Groups:
    return tuple(tuple(groups[at : at + group_size]) for at in range(0, len(groups), group_size))


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


def _cut(x: Array, axis: int, size: int) -> Array:
    return x if size < 0 else x[(slice(None),) * (axis % x.ndim) + (slice(0, size),)]


def _all_reduce(engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, kind: str) -> Array:
    def combine(parts: Sequence[Array]) -> Array:
        return reduce(_COMBINE[kind], parts).astype(x.dtype)

    return engine.exchange(_split_groups(groups, group_size), x, combine)


def _all_gather(engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, axis: int, size: int) -> Array:
    def join(parts: Sequence[Array]) -> Array:
        return _cut(numpy.concatenate(parts, axis), axis, size)

    return engine.exchange(_split_groups(groups, group_size), x, join)


def _reduce_scatter(
    engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, axis: int, kind: str
) -> Array:
    divided = _split_groups(groups, group_size)
    index = _index(engine, divided)

    def combine(parts: Sequence[Array]) -> Array:
        mine = [part(array, axis, index, group_size) for array in parts]
        return reduce(_COMBINE[kind], mine).astype(x.dtype)

    return engine.exchange(divided, x, combine)


def _all_to_all(
    engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, split_axis: int, concat_axis: int, size: int
) -> Array:
    divided = _split_groups(groups, group_size)
    index = _index(engine, divided)

    def join(parts: Sequence[Array]) -> Array:
        mine = [part(array, split_axis, index, group_size) for array in parts]
        return _cut(numpy.concatenate(mine, concat_axis), concat_axis, size)

    return engine.exchange(divided, x, join)


def _permute(engine: Transport, x: Array, *, pairs: Sequence[int]) -> Array:
    source = dict(zip(pairs[1::2], pairs[::2], strict=True)).get(engine.rank)
    take = lambda parts: numpy.zeros_like(x) if source is None else parts[source].copy()  # noqa: E731
    return engine.exchange((tuple(range(engine.size)),), x, take)


def _broadcast(engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, root: int) -> Array:
    return engine.exchange(_split_groups(groups, group_size), x, lambda parts: parts[root].copy())


def _own_part(engine: Transport, x: Array, *, groups: Sequence[int], group_size: int, axis: int) -> Array:
    return part(x, axis, _index(engine, _split_groups(groups, group_size)), group_size)


_FUNCTIONS: Mapping[str, Callable[..., Array]] = MappingProxyType(
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
        attributes = _decode(to_numpy(words).tobytes())
        to_numpy(out)[...] = run(name, to_numpy(x), attributes)


tvm_ffi.register_error("RankError", RankError)
for _name in _FUNCTIONS:
    _register(_name)
