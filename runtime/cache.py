# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches, for instance of keys and values: buffers that grow in place from call to call, and functions that use
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..support.ending import ending, refuse_at_end
from .arguments import prepared
from .cache_rows import CacheRows
from .call_structure import StructuredFunction
from .foreign_types import Array, ArrayOrTensor, PackedFunction, Tensor
from .function import REFUSALS, Function
from .manifest import PassedValue, Signature
from .results import maker_of

_LEAST_ROOM = 64


class Cache:
    """Rows that calls of a function have appended so far: `function(x, cache)` appends rows and copies none.

    If there is no room for new rows, the capacity doubles, and only then are rows copied. `cache[name]` is an array of
    an argument's rows, which later calls continue to use: copy rows that must not change. A smaller `length` drops the
    last rows. Rows of a program for a device are on the device, and `cache[name]` is a copy.
    """

    def __init__(self, signature: Signature, rows: CacheRows, room: int, sizes: Mapping[str, int]) -> None:
        if not isinstance(room, int) or isinstance(room, bool) or room < 0:
            raise ValueError(f"a cache's room is a number of rows, got {room!r}")
        self._signature, self._rows, self._sizes = signature, rows, dict(sizes)
        #: Initial capacity in rows.
        self._room = max(room, _LEAST_ROOM)
        self._length = 0
        self._arrays: list[ArrayOrTensor] = []
        self._passed: list[object] = []

    @property
    def length(self) -> int:
        """Return the number of rows."""
        return self._length

    @length.setter
    def length(self, length: int) -> None:
        if not isinstance(length, int) or isinstance(length, bool) or not 0 <= length <= self._length:
            raise ValueError(
                f"cache.length = {length!r}: it has {self._length} rows, of which the last can be forgotten"
            )
        self._length = length

    @property
    def capacity(self) -> int:
        """Return the capacity in rows."""
        return self._arrays[0].shape[self._signature.grown[0].axis] if self._arrays else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the arguments that the cache replaces."""
        return tuple(self._signature.inputs[each.input].name for each in self._signature.grown)

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise KeyError(f"{name!r}: the cache has {', '.join(self.names)}")
        if not self._arrays:
            raise KeyError(f"{name!r}: nothing has been put into the cache yet")
        return self._rows.array(*self._rows_in_use(name))

    def given(self, name: str, like: object) -> Tensor:
        """Return a tensor of an argument's rows on the device of another array. Later calls do not change it."""
        return self._rows.given(*self._rows_in_use(name), like)

    def _rows_in_use(self, name: str) -> tuple[ArrayOrTensor, PassedValue, int, int]:
        """Return an argument's buffer, its description, the rows' axis and the number of rows."""
        place = self.names.index(name)
        buffer = self._signature.grown[place]
        return self._arrays[place], self._signature.inputs[buffer.input], buffer.axis, self._length

    def __repr__(self) -> str:
        return f"<cache of {self._signature.name}: {self._length} rows of {self.capacity}>"

    def reserve(self, rows: int, sizes: Mapping[str, int]) -> list[object]:
        """Return the buffers to pass, with a capacity of at least `rows`. `sizes` has the sizes of other arguments."""
        if not self._arrays or rows > self.capacity:
            capacity = max(rows, self._room if not self._arrays else 2 * self.capacity)
            self._arrays = [self._grow_to(capacity, place, sizes) for place in range(len(self._signature.grown))]
            self._passed = list(map(self._rows.passed, self._arrays))
        return self._passed

    def length_argument(self) -> ArrayOrTensor:
        """Return the argument that states the number of rows."""
        return self._rows.length(self._length)

    def fill(self, arrays: Sequence[ArrayOrTensor], room: int) -> None:
        """Copy arrays into the cache as its rows, with room for more."""
        lengths = {array.shape[buffer.axis] for array, buffer in zip(arrays, self._signature.grown, strict=True)}
        if len(lengths) != 1:
            raise ValueError(f"{self._signature.name}: {', '.join(self.names)} have to have one length, got {lengths}")
        (self._length,) = lengths
        self._room = self._length + room
        self._arrays = [self._copy(array, place, self._room) for place, array in enumerate(arrays)]
        self._passed = list(map(self._rows.passed, self._arrays))

    def added(self, rows: int) -> None:
        self._length += rows

    def _copy(self, array: ArrayOrTensor, place: int, capacity: int) -> ArrayOrTensor:
        """Return a buffer with a capacity that contains the rows of another one."""
        buffer = self._signature.grown[place]
        shape = list(array.shape)
        shape[buffer.axis] = capacity
        made = self._rows.empty(shape, self._signature.inputs[buffer.input])
        self._rows.keep(made, array, buffer.axis, self._length)
        return made

    def _grow_to(self, capacity: int, place: int, known: Mapping[str, int]) -> ArrayOrTensor:
        if self._arrays:
            return self._copy(self._arrays[place], place, capacity)
        buffer = self._signature.grown[place]
        described = self._signature.inputs[buffer.input]
        sizes = {**known, **self._sizes}
        shape = [self._size(described, size, sizes) for size in described.shape]
        shape[buffer.axis] = capacity
        return self._rows.empty(shape, described)

    def _size(self, described: PassedValue, size: int | str | None, sizes: Mapping[str, int]) -> int:
        if isinstance(size, int):
            return size
        grown = self._signature.inputs[self._signature.grown[0].input].shape[self._signature.grown[0].axis]
        if size == grown:
            return 0  # its own axis, where the caller knows the size
        if size is None or size not in sizes:
            raise ValueError(
                f"{self._signature.name}: no argument has the size {size} of '{described.name}': "
                f"make the cache with it, cache({size}=...)"
            )
        return sizes[size]


class GrowingFunction(Function):
    """Function with arguments that grow in place: `function(x, cache)`.

    If the caller passes arrays for these arguments, the arrays are copied, and the grown arrays are returned as in the
    model.
    """

    def __init__(self, packed: PackedFunction, signature: Signature, rows: CacheRows) -> None:
        super().__init__(packed, _public(signature))
        self._rows = rows
        self._below = signature
        places = {each.input for each in signature.grown}
        places.add(signature.grown[0].length)
        self._others = [place for place in range(len(signature.inputs)) if place not in places]
        #: Signature without the arguments in the cache.
        self._other_signature = signature._replace(inputs=tuple(signature.inputs[place] for place in self._others))
        self._names = [input_.name for input_ in self._other_signature.inputs]
        #: Function of these arguments, which caches conversions by argument types.
        self._known = Function(packed, self._other_signature)

    def cache(self, room: int = 0, **sizes: int) -> Cache:
        """Return an empty cache with initial room for `room` rows. `sizes` are sizes that no other argument has."""
        return Cache(self._below, self._rows, room, sizes)

    def __call__(self, *arguments: object, **named: object) -> Any:
        if ending.has_begun:
            refuse_at_end(f"a call of {self.__name__}")
        cache, others = self._split_arguments(arguments, named)
        return self._with_arrays(others) if cache is None else self._with_cache(cache, others)

    def prepared(self, *arguments: object, **named: object) -> list[object]:
        """Return the arguments of `packed` for these arguments: buffers, and a tensor for their length."""
        cache, others = self._split_arguments(arguments, named)
        if cache is None:
            return prepared(self._below, others)
        return self._passed(cache, prepared(self._other_signature, others))[0]

    def _split_arguments(
        self, arguments: tuple[object, ...], named: Mapping[str, object]
    ) -> tuple[Cache | None, tuple[object, ...]]:
        """Return the cache and the other arguments, or None and all arguments."""
        if not (caches := [argument for argument in (*arguments, *named.values()) if isinstance(argument, Cache)]):
            return None, self._in_order(arguments, named) if named else arguments
        if len(caches) > 1 or caches[0]._signature is not self._below:
            reason = "one cache stands for all that grows" if len(caches) > 1 else "the cache is another function's"
            raise TypeError(f"{self.__name__}: {reason}: {self.__name__}.cache() makes one")
        others = tuple([argument for argument in arguments if argument is not caches[0]])
        by_name = {name: value for name, value in named.items() if value is not caches[0]}
        if by_name or len(others) != len(self._names):
            others = self._all_others(others, by_name)
        return caches[0], others

    def _all_others(self, others: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
        given = dict(zip(self._names, others, strict=False))
        if len(others) > len(self._names) or given.keys() & named.keys() or {*given, *named} != {*self._names}:
            raise TypeError(
                f"{self.__name__}: with a cache it takes {', '.join(self._names) or 'nothing'}; got "
                f"{len(others)} by place and {', '.join(named) or 'none'} by name"
            )
        return tuple({**given, **named}[name] for name in self._names)

    def _with_cache(self, cache: Cache, others: tuple[object, ...]) -> object:
        give, others = self._known._looked_at(others)
        below, new = self._passed(cache, others)
        try:
            result = self.packed(*below)
        except REFUSALS:
            copies = prepared(self._other_signature, others)
            if all(one is other for one, other in zip(others, copies, strict=True)):
                raise
            result = self.packed(*self._passed(cache, copies)[0])
        cache.added(new)
        return give(result)

    def _passed(self, cache: Cache, others: Sequence[object]) -> tuple[list[object], int]:
        """Return the arguments of the packed function, and the number of new rows."""
        sizes = _sizes_of(self._other_signature.inputs, others)
        new = self._new_rows(sizes)
        buffers = cache.reserve(cache.length + new, sizes)
        below: list[object] = [None] * len(self._below.inputs)
        for place, value in zip(self._others, others, strict=True):
            below[place] = value
        for grown, value in zip(self._below.grown, buffers, strict=True):
            below[grown.input] = value
        below[self._below.grown[0].length] = cache.length_argument()
        return below, new

    def _new_rows(self, sizes: Mapping[str, int]) -> int:
        added = self._below.grown[0].added
        if added.isdecimal():
            return int(added)
        if added not in sizes:
            raise TypeError(f"{self.__name__}: no argument says how many rows are new ({added})")
        return sizes[added]

    def _with_arrays(self, arguments: tuple[object, ...]) -> object:
        """Call with the model's own arguments and results. Growing arguments are copied."""
        import numpy

        if len(arguments) != len(self._described.inputs):
            names = ", ".join(input_.name for input_ in self._described.inputs)
            raise TypeError(
                f"{self.__name__}: expected {len(self._described.inputs)} arguments ({names}), or a cache for those "
                f"that grow, got {len(arguments)}"
            )
        whole, cache = list(arguments), self.cache()
        whole.insert(self._below.grown[0].length, None)
        given = [whole[each.input] for each in self._below.grown]
        described = [self._below.inputs[each.input] for each in self._below.grown]
        arrays = [self._rows.taken(self.__name__, *pair) for pair in zip(described, given, strict=True)]
        others = tuple(whole[place] for place in self._others)
        sizes = _sizes_of(self._other_signature.inputs, prepared(self._other_signature, others))
        cache.fill(arrays, self._new_rows(sizes))
        result, count = self._with_cache(cache, others), len(self._below.outputs)
        results = list(result) if isinstance(result, tuple) else [result][:count]
        like = next((each for each in given if hasattr(each, "__dlpack__")), numpy.empty(0))
        make = maker_of(like)
        kept = zip(self._below.grown, cache.names, strict=True)
        for place, name in sorted((each.result, name) for each, name in kept if each.result >= 0):
            results.insert(place, make(cache.given(name, like)))
        return tuple(results) if len(results) > 1 else results[0]


def function_of(packed: PackedFunction, signature: Signature, rows: CacheRows) -> Function:
    """Return the function for Python callers. Caches keep their rows in `rows`."""
    if signature.grown:
        return GrowingFunction(packed, signature, rows)
    return Function(packed, signature) if signature.structure is None else StructuredFunction(packed, signature)


def _public(signature: Signature) -> Signature:
    """Return the signature of the model: rows without spare capacity, and grown results."""
    inputs, outputs = list(signature.inputs), list(signature.outputs)
    for each in signature.grown:
        described = inputs[each.input]
        shape = list(described.shape)
        shape[each.axis] = inputs[each.length].shape[0]
        inputs[each.input] = described._replace(shape=tuple(shape), written=False)
    for each in sorted(signature.grown, key=lambda each: each.result):
        if each.result >= 0:
            described = inputs[each.input]
            shape = list(described.shape)
            shape[each.axis] = f"{shape[each.axis]} + {each.added}"
            outputs.insert(each.result, described._replace(name=each.name, shape=tuple(shape)))
    del inputs[signature.grown[0].length]
    return signature._replace(inputs=tuple(inputs), outputs=tuple(outputs))


def _sizes_of(inputs: Sequence[PassedValue], arguments: Sequence[object]) -> dict[str, int]:
    """Return the values of the symbols in arguments' shapes."""
    sizes: dict[str, int] = {}
    for described, argument in zip(inputs, arguments, strict=False):
        for name, size in zip(described.shape, getattr(argument, "shape", ()), strict=False):
            if isinstance(name, str):
                sizes.setdefault(name, int(size))
    return sizes
