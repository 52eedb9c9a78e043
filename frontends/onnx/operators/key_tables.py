# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lookup of values by numeric keys that are known at import, in a perfect hash table.

The leading bits of a key times an odd number, modulo 2^64, give the key's group. The leading bits of the key times the
group's own odd number give the key's slot. The odd numbers are chosen so that no two keys share a slot. An element is
thus compared with one key, whereas binary search takes data-dependent branches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...core.values import Array
from ..prelude import Tensor, cast, const, relax

_MODULUS = 1 << 64
#: Average number of keys in a group, and minimum number of slots per key.
_OF_GROUP, _SLOTS = 4, 1.5
_TRIES = 256


class _Hash(NamedTuple):
    group_factor: int
    group_bits: int
    #: Odd factors of the groups.
    factors: Sequence[int]
    slot_bits: int
    #: Slots of the keys.
    slots: Sequence[int]


def looked_up(x: Tensor, keys: Array, values: Array, default: Array | int) -> Tensor:
    """Return the value of the key that equals each element, or the default if there is none.

    There is at least one key. Keys have the elements' type, are not NaN, and are distinct.
    """
    import numpy

    integers = f"int{8 * keys.dtype.itemsize}"
    is_zero = keys == 0
    if keys.dtype.kind == "f" and is_zero.any():
        # -0.0 equals 0.0, but has other bits.
        keys = numpy.concatenate([keys, -keys[is_zero]])
        values = numpy.concatenate([values, values[is_zero]])
    found = _hash([each % _MODULUS for each in keys.view(integers).tolist()])
    # Empty slots contain the first key. An element that equals the key looks in another slot.
    slots_of_keys, slots_of_values = (numpy.full(1 << found.slot_bits, array[0]) for array in (keys, values))
    slots_of_keys[found.slots], slots_of_values[found.slots] = keys, values

    bits = relax.bitcast(x, dtype=f"i{8 * keys.dtype.itemsize}") if keys.dtype.kind == "f" else x
    bits = cast(bits, "i64")
    group = _leading(relax.multiply(bits, _i64(found.group_factor)), found.group_bits)
    slot = _leading(relax.multiply(bits, _take(_i64(found.factors), group)), found.slot_bits)
    is_key = relax.equal(_take(const(slots_of_keys), slot), x)
    return relax.where(is_key, _take(const(slots_of_values), slot), const(numpy.array(default, values.dtype)))


def _i64(numbers: int | Sequence[int]) -> Tensor:
    import numpy

    return const(numpy.array(numbers, "uint64").view("int64"))


def _take(table: Tensor, place: Tensor) -> Tensor:
    """Gather from a table. The positions are within the table, so mode "clip" needs no check."""
    return relax.take(table, place, axis=0, mode="clip")


def _leading(product: Tensor, bits: int) -> Tensor:
    return relax.bitwise_and(relax.right_shift(product, const(64 - bits, "i64")), const((1 << bits) - 1, "i64"))


def _hash(keys: Sequence[int]) -> _Hash:
    group_bits = max(1, (len(keys) // _OF_GROUP).bit_length())
    least = max(1, (int(len(keys) * _SLOTS) - 1).bit_length())
    attempts = (_attempt(keys, factor, group_bits, least + more) for more, factor in enumerate(_odd_numbers()))
    return next(attempt for attempt in attempts if attempt is not None)


def _attempt(keys: Sequence[int], group_factor: int, group_bits: int, slot_bits: int) -> _Hash | None:
    """Try to assign slots. The largest groups get their factors first, while most slots are free."""
    groups: list[list[int]] = [[] for _ in range(1 << group_bits)]
    for key in keys:
        groups[key * group_factor % _MODULUS >> (64 - group_bits)].append(key)
    factors, slots, used = [1] * len(groups), dict[int, int](), set[int]()
    for number in sorted(range(len(groups)), key=lambda number: -len(groups[number])):
        if (factor := _factor(groups[number], slot_bits, used)) is None:
            return None
        factors[number] = factor
        slots |= {key: key * factor % _MODULUS >> (64 - slot_bits) for key in groups[number]}
        used |= set(slots[key] for key in groups[number])
    return _Hash(group_factor, group_bits, factors, slot_bits, [slots[key] for key in keys])


def _factor(group: Sequence[int], slot_bits: int, used: set[int]) -> int | None:
    """Return a factor that gives each key of a group a free slot, or None if no tried factor does."""
    for factor in itertools.islice(_odd_numbers(), _TRIES):
        slots = {key * factor % _MODULUS >> (64 - slot_bits) for key in group}
        if len(slots) == len(group) and slots.isdisjoint(used):
            return factor
    return None


def _odd_numbers() -> Iterator[int]:
    """Yield odd numbers, the same at each call."""
    number = 0x9E3779B97F4A7C15
    while True:
        yield number | 1
        number = (number * 6364136223846793005 + 1442695040888963407) % _MODULUS
