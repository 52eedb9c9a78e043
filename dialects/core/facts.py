# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Further facts of operators' rows, than those which build and check them: how they fuse, windows, layouts, work."""

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
    """What fusion has to know of a PrimFunc; the higher, the less can be fused."""

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
    """Windows slide over the dimensions with these letters; `taps` names the operand or attribute that is as large."""

    letters: str
    taps: str


class LayoutFact(NamedTuple):
    """The attribute that is a tensor's layout, and its dimensions: all; one with a ? it may leave out."""

    attribute: str
    dimensions: str

    def dimensions_in(self, text: str) -> str:
        """The dimensions of a tensor with this layout, in the order in which the operator is defined."""
        before, mark, behind = self.dimensions.partition("?")
        return (before if before[-1] in text else before[:-1]) + behind if mark else before


class Window(NamedTuple):
    """What slides over one dimension: `taps` elements, `gap` apart. `before` and `after` are the padding."""

    #: A Dim where types state it, a Size in the body of a rule.
    taps: Any
    stride: int = 1
    gap: int = 1
    before: int = 0
    after: int = 0

    @property
    def reach(self) -> Any:
        """How many elements it reaches over."""
        return dim_add(dim_mul(dim_sub(self.taps, 1), self.gap), 1)

    @property
    def is_padded(self) -> bool:
        return self.before > 0 or self.after > 0

    def place(self, position: AffineExpr, tap: AffineExpr) -> AffineExpr:
        """Where a tap of the window at a position is, as an affine expression of both."""
        return position * self.stride + tap * self.gap


def elements(info: Info) -> Dim:
    """How many numbers a tensor has."""
    return product(info.shape) if isinstance(info, TensorInfo) and info.shape is not None else None
