# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further facts in operators' rows: fusion patterns, windows, layouts and work."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from ...support.errors import RelaxError
from ...support.suggest import suggest
from .infos import Info, TensorInfo
from .symbols import Dim, dim_add, dim_mul, dim_sub, product

if TYPE_CHECKING:
    from ...bindings.ir import AffineExpr


class OpPattern(IntEnum):
    """Fusion class of a PrimFunc. Higher classes fuse less."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_EWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8

    @property
    def attribute_text(self) -> str:
        return self.name.lower()

    @staticmethod
    def parse(text: str, where: str = "") -> OpPattern:
        names = [pattern.attribute_text for pattern in OpPattern]
        if text not in names:
            raise RelaxError(
                f"{where}unknown operator pattern '{text}'{suggest(text, names)} (known: {', '.join(names)})"
            )
        return OpPattern[text.upper()]


class WindowsFact(NamedTuple):
    """Sliding windows over the dimensions with these letters.

    `taps` names the operand or attribute with the window's size.
    """

    letters: str
    taps: str


class LayoutFact(NamedTuple):
    """Layout attribute of a tensor, and all of its dimensions. A layout may omit a dimension with a `?`."""

    attribute: str
    dimensions: str

    def dimensions_in(self, text: str) -> str:
        """Return the dimensions of a tensor with this layout, in the order of the operator's definition."""
        before, mark, behind = self.dimensions.partition("?")
        return (before if before[-1] in text else before[:-1]) + behind if mark else before


class Window(NamedTuple):
    """Window over one dimension: `taps` elements with distance `gap`. `before` and `after` are the padding."""

    #: A Dim in types, a Size in the body of a rule.
    taps: Any
    stride: int = 1
    gap: int = 1
    before: int = 0
    after: int = 0

    @property
    def reach(self) -> Any:
        """Return the extent of the window in elements."""
        return dim_add(dim_mul(dim_sub(self.taps, 1), self.gap), 1)

    @property
    def is_padded(self) -> bool:
        return self.before > 0 or self.after > 0

    def place(self, position: AffineExpr, tap: AffineExpr) -> AffineExpr:
        """Return the index of a tap for a window position, as an affine expression of both."""
        return position * self.stride + tap * self.gap


def elements(info: Info) -> Dim:
    """Return the number of elements of a tensor, or None if unknown."""
    return product(info.shape) if isinstance(info, TensorInfo) and info.shape is not None else None
