# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants of modules for a codegen's patterns: other sizes, dynamic sizes, other elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .rows import LETTERS, MANY

Shape = tuple[int, ...]


class Sizes(NamedTuple):
    """Sizes of letters in rows, and shapes for unconstrained inputs."""

    letters: Mapping[str, int]
    shapes: tuple[Shape, ...]


USUAL = Sizes(LETTERS, ((2, 4, 9, 7), (3, 5), (3, 8), (8, 5), (6, 4, 3, 3), (2, 3, 8), (6,), ()))
_EMPTY = Sizes({**LETTERS, "n": 0, "b": 0}, ((0, 4, 9, 7), (0, 5), (0, 8), (8, 5), (6, 4, 3, 3), (0, 3, 8), (0,)))
#: Kernels of three taps have one result for h and w.
_ONE = Sizes({**LETTERS, "n": 1, "m": 1, "k": 1, "h": 3, "w": 3, "d": 3, "b": 1}, ((1, 4, 3, 3), (1, 1), (1,)))
_PRIME = Sizes(
    {"n": 7, "m": 13, "k": 11, "h": 11, "w": 13, "d": 5, "b": 3}, ((3, 5, 11, 13), (7, 11), (7, 13), (11, 13), (13,))
)
_MANY = Sizes(MANY, ((3, 4, 40, 37), (33, 67), (33, 64), (64, 67), (6, 4, 3, 3), (3, 33, 64), (67,)))


class Window(NamedTuple):
    """Steps of windows, and the padding before and behind, for up to three dimensions."""

    strides: tuple[int, int, int] = (1, 1, 1)
    before: tuple[int, int, int] = (0, 0, 0)
    behind: tuple[int, int, int] = (0, 0, 0)

    def attributes(self, rank: int) -> dict[str, Any]:
        """Return the attributes of a convolution or a pool over `rank` dimensions."""
        return {"strides": self.strides[:rank], "padding": (*self.before[:rank], *self.behind[:rank])}


class EdgeNumbers(NamedTuple):
    """Choice of numbers for quantized layers (edge_numbers.py).

    scales: "two" are powers of two, so that results are ties; "uneven" have no ratio in common.
    zeros: "some" zero points, or those at the "low" or "high" end of the type.
    steps: largest result in steps of its scale. More than 127 saturate bytes.
    has_large_sums: biases bring sums near the limits of i32.
    """

    scales: str = "uneven"
    zeros: str = "some"
    steps: float = 100.0
    has_large_sums: bool = False


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
    #: Numbers of quantized layers, instead of the rows' numbers.
    edge: EdgeNumbers | None = None
    #: Windows of convolutions and pools, instead of the rows' windows.
    window: Window | None = None


PLAIN = Variant()
VARIANTS = (
    PLAIN,
    Variant("dynamic", is_dynamic=True),
    Variant("empty", _EMPTY),
    Variant("many", _MANY),
    Variant("far", is_far=True),
    Variant("special", has_special=True),
)
#: Further variants of convolutions and pools. No two sides are padded alike, as in TensorFlow's padding by size.
WINDOWS = (
    Variant("by 2", window=Window((2, 2, 2))),
    Variant("by 2 and 1", window=Window((2, 1, 2))),
    Variant("padded on two sides", window=Window(before=(1, 0, 1), behind=(0, 1, 0))),
    Variant("by 2 padded behind", window=Window((2, 2, 2), behind=(1, 1, 1))),
)
#: Further variants of quantized layers.
EDGES = (
    Variant("ties", edge=EdgeNumbers(scales="two")),
    Variant("uneven scales", edge=EdgeNumbers()),
    Variant("low zeros", edge=EdgeNumbers(zeros="low")),
    Variant("high zeros", edge=EdgeNumbers(zeros="high")),
    Variant("saturating", edge=EdgeNumbers(steps=400.0)),
    Variant("large sums", edge=EdgeNumbers(has_large_sums=True)),
    Variant("one", _ONE, edge=EdgeNumbers()),
    Variant("prime", _PRIME, edge=EdgeNumbers()),
)
#: Sizes of the calls of a dynamic module, besides the usual one.
DYNAMIC_SIZES = (1, 33, 0)
