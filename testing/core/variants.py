# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants of modules for a codegen's patterns: other sizes, dynamic sizes, other elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .rows import LETTERS, MANY

Shape = tuple[int, ...]


class Sizes(NamedTuple):
    """Sizes of letters in rows, and shapes for unconstrained inputs."""

    letters: Mapping[str, int]
    shapes: tuple[Shape, ...]


USUAL = Sizes(LETTERS, ((2, 4, 9, 7), (3, 5), (3, 8), (8, 5), (6, 4, 3, 3), (2, 3, 8), (6,), ()))
_EMPTY = Sizes({**LETTERS, "n": 0, "b": 0}, ((0, 4, 9, 7), (0, 5), (0, 8), (8, 5), (6, 4, 3, 3), (0, 3, 8), (0,)))
_MANY = Sizes(MANY, ((3, 4, 40, 37), (33, 67), (33, 64), (64, 67), (6, 4, 3, 3), (3, 33, 64), (67,)))


class Variant(NamedTuple):
    """One variant. The plain one has no name."""

    name: str = ""
    sizes: Sizes = USUAL
    #: True if the first size of the inputs is dynamic.
    is_dynamic: bool = False
    #: True if floats of inputs include infinities, NaN and the largest numbers.
    has_special: bool = False
    #: True if zero points of quantized constants differ from 0. Many devices have none for weights.
    has_zero_points: bool = True
    #: True if elements are far from 0: beyond the bounds of activations, up to the limits of 8-bit integers.
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
