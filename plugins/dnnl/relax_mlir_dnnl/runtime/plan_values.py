# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of a plan under construction, as the descriptions of primitives and the splitting of steps see them."""

from __future__ import annotations

from typing import Protocol

from .description import Argument
from .objects import Layout
from .primitive_plan import PlacedTensor


class PlanValues(Protocol):
    """Interface of the plan's builder."""

    def new_value(self, dims: tuple[int, ...], dtype: str) -> int: ...

    def filled(self, dims: tuple[int, ...], dtype: str, number: float) -> int: ...

    def dtype(self, argument: Argument) -> str: ...

    def plain(self, value: int) -> Layout: ...

    def viewed_dims(self, argument: Argument) -> list[tuple[int, ...]]: ...

    def read(self, argument: Argument) -> PlacedTensor: ...
