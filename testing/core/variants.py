# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants of the modules that are made for a codegen's patterns: other sizes, dynamic sizes, other elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .rows import LETTERS, MANY

Shape = tuple[int, ...]


class Sizes(NamedTuple):
    """Sizes of the letters in rows, and shapes for inputs that any shape fits."""

    letters: Mapping[str, int]
    shapes: tuple[Shape, ...]


USUAL = Sizes(LETTERS, ((2, 4, 9, 7), (3, 5), (3, 8), (8, 5), (6, 4, 3, 3), (2, 3, 8), (6,), ()))
_EMPTY = Sizes({**LETTERS, "n": 0, "b": 0}, ((0, 4, 9, 7), (0, 5), (0, 8), (8, 5), (6, 4, 3, 3), (0, 3, 8), (0,)))
_MANY = Sizes(MANY, ((3, 4, 40, 37), (33, 67), (33, 64), (64, 67), (6, 4, 3, 3), (3, 33, 64), (67,)))


class Variant(NamedTuple):
    """One variant; the plain one has no name."""

    name: str = ""
    sizes: Sizes = USUAL
    #: Whether the first size of the inputs is dynamic.
    is_dynamic: bool = False
    #: Whether infinities, NaN and the largest numbers are among the inputs' floats.
    has_special: bool = False
    #: Whether the zero points of quantized constants are other numbers than 0: many devices have none for weights.
    has_zero_points: bool = True
    #: Whether elements are far from 0: beyond the bounds of activations, up to the limits of integers of 8 bits.
    is_far: bool = False


PLAIN = Variant()
VARIANTS = (
    PLAIN,
    Variant("dynamic", is_dynamic=True),
    Variant("empty", _EMPTY),
    Variant("many", _MANY),
    Variant("far", is_far=True),
    Variant("special", has_special=True),
)
#: Sizes of the calls of a dynamic module, besides the usual one.
DYNAMIC_SIZES = (1, 33, 0)
