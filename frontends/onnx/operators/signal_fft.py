# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms in stages, one for each factor of the length: for short ones, and for those too long for a table.

The stages and their sums are in numpy's order, so that what is left of a zero is what ONNX's reference has there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....dialects.relax import const, dialect
from ..graph_tensors import info_of, part

relax = dialect.ops

# Between these a product with a table is faster.
_SHORT, _LONG = 32, 2048
_LARGEST_FACTOR = 13

#: The real and the imaginary part of a tensor.
Pair = tuple[Any, Any]


def goes_in_stages(length: int, is_complex: bool) -> bool:
    """Of short transforms those of complex data: for real ones numpy has another way."""
    return (1 < length < _SHORT and is_complex or length > _LONG) and max(_factors(length)) <= _LARGEST_FACTOR


def _factors(length: int) -> list[int]:
    """Fours, with a two in front where one is left, then odd primes."""
    found = []
    while length % 4 == 0:
        found.append(4)
        length //= 4
    if length % 2 == 0:
        found.insert(0, 2)
        length //= 2
    factor = 3
    while length > 1:
        if factor * factor > length:
            factor = length
        while length % factor == 0:
            found.append(factor)
            length //= factor
        factor += 2
    return found


def in_stages(parts: Pair, length: int, inverse: bool) -> Pair:
    """The transforms of rows [rows, length] of f32 or f64."""
    dtype, sign, before = info_of(parts[0]).dtype, 1 if inverse else -1, 1
    for factor in _factors(length):
        behind = length // (before * factor)
        split = [relax["reshape"](half, (-1, before, factor, behind)) for half in parts]
        taken = [tuple(part(half, 2, place, place + 1, drop=True) for half in split) for place in range(factor)]
        made = _turned(_butterfly(taken, sign, dtype), before, behind, length, sign, dtype)
        before *= factor
        parts = _joined(made, 0, length), _joined(made, 1, length)
    return _scaled(parts, 1 / length, dtype) if inverse else parts


def _joined(pairs: Sequence[Pair], side: int, length: int) -> Any:
    return relax["reshape"](relax["stack"](*(pair[side] for pair in pairs), axis=1), (-1, length))


def _turned(pairs: Sequence[Pair], before: int, behind: int, length: int, sign: int, dtype: str) -> list[Pair]:
    """Each part turned as far as its place in the whole asks for."""
    import numpy

    if behind == 1:
        return list(pairs)
    result = [pairs[0]]
    for number, (real, imaginary) in enumerate(pairs[1:], 1):
        angles = 2 * math.pi * number * before * numpy.arange(behind) / length
        cos, sin = const(numpy.cos(angles), dtype), const(sign * numpy.sin(angles), dtype)
        turned = _minus(_times(real, cos), _times(imaginary, sin)), _plus(_times(real, sin), _times(imaginary, cos))
        result.append(turned)
    return result


def _butterfly(x: Sequence[Pair], sign: int, dtype: str) -> list[Pair]:
    """The transform of as many elements as there are."""
    if len(x) == 2:
        return [_both(_plus, x[0], x[1]), _both(_minus, x[0], x[1])]
    if len(x) == 4:
        even, odd = _butterfly(x[::2], sign, dtype), _butterfly(x[1::2], sign, dtype)
        real, imaginary = odd[1]
        quarter = (_negative(imaginary), real) if sign > 0 else (imaginary, _negative(real))
        return [
            _both(operation, even[side], (odd[0], quarter)[side]) for operation in (_plus, _minus) for side in (0, 1)
        ]
    half = range(1, (len(x) + 1) // 2)
    sums, differences = ([_both(operation, x[at], x[-at]) for at in half] for operation in (_plus, _minus))
    first = x[0]
    for each in sums:
        first = _both(_plus, first, each)
    result = [first] * len(x)
    for number in half:
        angles = [2 * math.pi * number * at / len(x) for at in half]
        along = x[0]
        for angle, each in zip(angles, sums, strict=True):
            along = _both(_plus, along, _scaled(each, math.cos(angle), dtype))
        across = [_scaled(each, sign * math.sin(angle), dtype) for angle, each in zip(angles, differences, strict=True)]
        total = across[0]
        for each in across[1:]:
            total = _both(_plus, total, each)
        side = _negative(total[1]), total[0]
        result[number], result[-number] = _both(_plus, along, side), _both(_minus, along, side)
    return result


def _both(operation: Any, one: Pair, other: Pair) -> Pair:
    return operation(one[0], other[0]), operation(one[1], other[1])


def _scaled(pair: Pair, factor: float, dtype: str) -> Pair:
    number = const(factor, dtype)
    return _times(pair[0], number), _times(pair[1], number)


def _plus(one: Any, other: Any) -> Any:
    return relax["add"](one, other)


def _minus(one: Any, other: Any) -> Any:
    return relax["subtract"](one, other)


def _times(one: Any, other: Any) -> Any:
    return relax["multiply"](one, other)


def _negative(one: Any) -> Any:
    return relax["negative"](one)
