# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parallel scatter operators with the results of sequential writes.

Atomic operations add 32-bit and 64-bit integers and find their maximum or minimum, because the order does not matter.
Floats are added in the order of the updates, which a sort by target provides, so that results are reproducible. A
negative index counts from the end. An index out of range raises IndexError, and nothing is written for it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from ...bindings.ir import Value
from ...emit import loops
from ...emit.broadcast import broadcast_sizes, load_broadcast, require_broadcast
from ...emit.indices import as_position, from_end, require_index
from ...emit.linalg import indices_at, place_at, product
from ...emit.loops import load, sizes, store
from ...emit.numbers import Number, Size, as_index, constant, select
from ...passes.legalize.call import LegalizeCall
from ...passes.legalize.rules import Legalized, register_legalize
from ..core.code import find_backend
from ..default.legalize_indexing import depth_of
from ..default.legalize_scatter import check_elements, check_tuples, combine_of, quotient, scattered
from .emit.placing import NOWHERE, Writes, atomic_kind, change_at_once


class _UpdatePlaces:
    """Target places of updates."""

    def __init__(self, updates: Sequence[Size], places: Sequence[Size], axes: Sequence[int], dtypes: Sequence[str]):
        """`axes` are the target axes that the indices of these dtypes select."""
        self.updates, self.places = updates, places
        self._axes, self._dtypes = axes, dtypes

    def writes(self, read: Callable[..., Sequence[Number]], target: Callable[..., Sequence[Number]]) -> Writes:
        """Return the writes.

        `read(*update)` returns the update's indices, `target(update, found)` the target with these indices.
        """
        limits = [as_index(self.places[axis]) for axis in self._axes]

        def place(write: Number) -> tuple[Number, Callable[[], None]]:
            update = indices_at(write, self.updates)
            given = [as_position(each, dtype) for each, dtype in zip(read(*update), self._dtypes, strict=True)]
            inside = [(at >= 0 - limit) & (at < limit) for at, limit in zip(given, limits, strict=True)]
            found = [from_end(at, limit) for at, limit in zip(given, limits, strict=True)]

            def check() -> None:
                for axis, at, limit in zip(self._axes, given, limits, strict=True):
                    require_index(at, axis, limit)

            whole = place_at(target(update, found), self.places)
            are_inside = functools.reduce(operator.and_, inside, constant(True, "i1"))
            return select(are_inside, whole, NOWHERE), check

        return Writes(product(self.updates), product(self.places), place)


class _Update:
    """Reduction of the updates at a place: elements of `dtype` at the inner indices."""

    def __init__(
        self,
        call: LegalizeCall,
        reduction: str,
        dtype: str,
        output: Value,
        places: _UpdatePlaces,
        read: Callable[..., Number],
    ):
        """`read(update, at)` returns the update's element at the inner indices `at`."""
        machine = find_backend(call.target.name).machine(call.target)
        self._kind = atomic_kind(reduction, dtype, machine.atomic_bits)
        self._reduction, self._dtype, self._output = reduction, dtype, output
        self._places, self._read = places, read

    def run(self, writes: Writes, inner: Sequence[Size]) -> None:
        if self._reduction == "update":
            writes.last_stays(inner, self._put)
        elif self._kind is not None:
            writes.in_any_order(inner, self._change)
        else:
            writes.in_order(inner, self._reduce)

    def _element(self, write: Number, at: Sequence[Number]) -> Number:
        return self._read(indices_at(write, self._places.updates), at)

    def _put(self, write: Number, place: Number, *at: Number) -> None:
        store(self._element(write, at), self._output, *indices_at(place, self._places.places), *at)

    def _change(self, write: Number, place: Number, *at: Number) -> None:
        assert self._kind is not None
        target = [*indices_at(place, self._places.places), *at]
        change_at_once(self._kind, self._output, target, self._element(write, at))

    def _reduce(self, writes: Callable[..., list[Number]], place: Number, *at: Number) -> None:
        is_mean = self._reduction == "mean"
        combine = combine_of("add" if is_mean else self._reduction, self._dtype)
        target = [*indices_at(place, self._places.places), *at]

        def step(write: Number, total: Number, *count: Number) -> list[Number]:
            return [combine(total, self._element(write, at)), *(number + 1 for number in count)]

        first = [load(self._output, *target), *([constant(1, "i64")] if is_mean else [])]
        total, *count = writes(step, *first)
        store(quotient(self._dtype)(total, count[0]) if is_mean else total, self._output, *target)


@register_legalize("relax.scatter_elements", target="gpu")
def scatter_elements(call: LegalizeCall) -> Legalized:
    """Scatter elements along an axis.

    A mean includes the original element and all updates. For integers the mean is rounded down.
    """
    dtype, index_dtype, reduction = call.dtype(call.operands[0]), call.dtype(call.operands[1]), call.op.reduction

    def body(data: Value, indices: Value, updates: Value, output: Value) -> None:
        axis = call.op.axis % len(data.type.shape)
        check_elements(axis, data, indices, updates)
        loops.copy(data, output)
        places = _UpdatePlaces(sizes(indices), sizes(data), [axis], [index_dtype])
        writes = places.writes(
            lambda *at: [load(indices, *at)], lambda at, found: [*at[:axis], *found, *at[axis + 1 :]]
        )
        _Update(call, reduction, dtype, output, places, lambda at, _: load(updates, *at)).run(writes, [])

    return scattered(call, ("data", "updates"), reduction, body)


@register_legalize("relax.scatter_nd", target="gpu")
def scatter_nd(call: LegalizeCall) -> Legalized:
    dtype, index_dtype, reduction = call.dtype(call.operands[0]), call.dtype(call.operands[1]), call.op.reduction
    depth = depth_of(call.operands[1], call)

    def body(data: Value, indices: Value, updates: Value, output: Value) -> None:
        outer, inner = check_tuples(data, indices, updates, depth)
        loops.copy(data, output)
        places = _UpdatePlaces(outer, sizes(data)[:depth], range(depth), [index_dtype] * depth)
        writes = places.writes(
            lambda *at: [load(indices, *at, index) for index in range(depth)], lambda _, found: found
        )
        _Update(call, reduction, dtype, output, places, lambda at, rest: load(updates, *at, *rest)).run(writes, inner)

    return scattered(call, ("data", "updates"), reduction, body)


@register_legalize("relax.index_put", target="gpu")
def index_put(call: LegalizeCall) -> Legalized:
    dtype, dtypes = call.dtype(call.operands[0]), [call.dtype(value) for value in call.operands[1:-1]]
    reduction = "add" if call.op.accumulate else "update"

    def body(data: Value, *others: Value) -> None:
        *indices, values, output = others
        count = len(indices)
        outer, inner = broadcast_sizes(indices), sizes(data)[count:]
        require_broadcast(values, [*outer, *inner])
        loops.copy(data, output)
        places = _UpdatePlaces(outer, sizes(data)[:count], range(count), dtypes)
        writes = places.writes(lambda *at: [load_broadcast(index, at) for index in indices], lambda _, found: found)
        read = lambda at, rest: load_broadcast(values, [*at, *rest])  # noqa: E731
        _Update(call, reduction, dtype, output, places, read).run(writes, inner)

    return scattered(call, ("data", "values"), reduction, body)
