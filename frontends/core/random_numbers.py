# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers that differ each time that a node runs.

The n-th number of a draw is a hash of the node's seed, of the draw's own key, and of n. Sizes may therefore be dynamic,
and plain integer arithmetic computes the numbers on every target. The keys count the draws of a loaded program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dialects import relax
from .sizes import Size, count_up, product, reshaped
from .tensors import cast, const
from .values import Tensor

# SplitMix64: its increment, and its mixing function as alternating right shifts and factors.
_STEP = 0x9E3779B97F4A7C15
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
# Number of the 64 bits that a float represents exactly.
_BITS = {"f32": 24, "f64": 53}


def draw() -> Tensor:
    """Return the key of this draw in the loaded program: 0 when the node runs for the first time."""
    return cast(relax.scalar_to_tensor(relax.random_key()), "ui64")


def hashes(key: Tensor, seed: int, sizes: Sequence[Size]) -> Tensor:
    """Return 64 random bits for each element."""
    start = _mix(relax.add(relax.multiply(key, word(_STEP)), word(_mix_number(seed))))
    places = relax.multiply(cast(reshaped(count_up(product(sizes)), sizes), "ui64"), word(_STEP))
    return _mix(relax.add(places, start))


def uniform(key: Tensor, seed: int, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Return floats (f32 or f64) from 0 up to but not including 1."""
    return _fractions(hashes(key, seed, sizes), dtype)


def normal(key: Tensor, seed: int, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Return normally distributed floats (f32 or f64), by the Box-Muller method."""
    bits = hashes(key, seed, sizes)
    radius = _fractions(bits, dtype)
    angle = _fractions(_mix(relax.add(bits, word(_STEP))), dtype)
    # 1 - radius is never 0.
    squared = relax.multiply(relax.log(relax.subtract(const(1, dtype), radius)), const(-2, dtype))
    turned = relax.cos(relax.multiply(angle, const(2 * math.pi, dtype)))
    return relax.multiply(relax.sqrt(squared), turned)


def word(number: int) -> Tensor:
    import numpy

    return const(numpy.uint64(number), "ui64")


def _fractions(hashes: Tensor, dtype: str) -> Tensor:
    bits = _BITS[dtype]
    # The bits fit into a signed integer, which targets convert fastest.
    taken = relax.astype(relax.right_shift(hashes, word(64 - bits)), dtype="i64" if bits > 31 else "i32")
    return relax.multiply(relax.astype(taken, dtype=dtype), const(2.0**-bits, dtype))


def _mix(bits: Tensor) -> Tensor:
    for shift, factor in _MIXING:
        bits = relax.bitwise_xor(bits, relax.right_shift(bits, word(shift)))
        bits = bits if factor == 1 else relax.multiply(bits, word(factor))
    return bits


def _mix_number(bits: int) -> int:
    for shift, factor in _MIXING:
        bits = ((bits ^ (bits >> shift)) * factor) % 2**64
    return bits
