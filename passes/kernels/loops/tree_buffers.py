# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of a loop tree: shape, element type, scope and layout of each buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ....bindings.ir import Type
from ....dialects.core.symbols_expr import Size
from ....support.replacing import replace


class StrideAlignment(NamedTuple):
    """Constraint on the stride of an axis: a multiple of `factor`, plus `offset`."""

    axis: int
    factor: int
    offset: int


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory of a PrimFunc: a parameter, or allocated for it. Blocks define where it is written."""

    name: str
    shape: tuple[Size, ...]
    element: Type
    #: Memory scope: "global", "local" (registers, the stack), "shared" (by a GPU's threads), or a device memory.
    scope: str = "global"
    #: True for a parameter.
    is_given: bool = False
    alignments: tuple[StrideAlignment, ...] = ()
    #: First buffer dimension of each dimension of the memory but the first, if the memory has several dimensions.
    axis_separators: tuple[int, ...] = ()
    #: Loops, outermost first, of which the last one's steps use elements that earlier steps have left in the buffer.
    rolling: tuple[str, ...] = ()

    def laid_out(self, shape: tuple[Size, ...]) -> Buffer:
        """Return the buffer with other dimensions, without the properties of the old ones."""
        return replace(self, shape=shape, alignments=(), axis_separators=())
