# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers, drawn anew each time that a node runs.

The n-th number of a draw is a hash of the node's seed, of a key that each draw of a loaded program has to itself, and
of n: so sizes may be any, and what computes it is like all other arithmetic, on every target.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dialects import relax
from .sizes import Size, count_up, product, reshaped
from .tensors import cast, const
from .values import Tensor

# SplitMix64: what it goes on by, and how it mixes bits: shifts to the right and factors by turns.
_STEP = 0x9E3779B97F4A7C15
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
# Of the 64 bits those that a float takes exactly.
_BITS = {"f32": 24, "f64": 53}


def draw() -> Tensor:
    """What this draw of a loaded program has to itself: 0 the first time that the node runs."""
    return cast(relax.scalar_to_tensor(relax.random_key()), "ui64")


def hashes(key: Tensor, seed: int, sizes: Sequence[Size]) -> Tensor:
    """64 random bits for each element."""
    start = _mixed(relax.add(relax.multiply(key, word(_STEP)), word(_mixed_number(seed))))
    places = relax.multiply(cast(reshaped(count_up(product(sizes)), sizes), "ui64"), word(_STEP))
    return _mixed(relax.add(places, start))


def uniform(key: Tensor, seed: int, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Floats (f32 or f64) from 0 to before 1."""
    return _fractions(hashes(key, seed, sizes), dtype)


def normal(key: Tensor, seed: int, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Floats (f32 or f64) around 0 with a deviation of 1, by Box and Muller."""
    bits = hashes(key, seed, sizes)
    radius = _fractions(bits, dtype)
    angle = _fractions(_mixed(relax.add(bits, word(_STEP))), dtype)
    # 1 - radius is never 0.
    squared = relax.multiply(relax.log(relax.subtract(const(1, dtype), radius)), const(-2, dtype))
    turned = relax.cos(relax.multiply(angle, const(2 * math.pi, dtype)))
    return relax.multiply(relax.sqrt(squared), turned)


def word(number: int) -> Tensor:
    import numpy

    return const(numpy.uint64(number), "ui64")


def _fractions(hashes: Tensor, dtype: str) -> Tensor:
    bits = _BITS[dtype]
    # The bits fit into a signed number, which targets convert fastest.
    taken = relax.astype(relax.right_shift(hashes, word(64 - bits)), dtype="i64" if bits > 31 else "i32")
    return relax.multiply(relax.astype(taken, dtype=dtype), const(2.0**-bits, dtype))


def _mixed(bits: Tensor) -> Tensor:
    for shift, factor in _MIXING:
        bits = relax.bitwise_xor(bits, relax.right_shift(bits, word(shift)))
        bits = bits if factor == 1 else relax.multiply(bits, word(factor))
    return bits


def _mixed_number(bits: int) -> int:
    for shift, factor in _MIXING:
        bits = ((bits ^ (bits >> shift)) * factor) % 2**64
    return bits
