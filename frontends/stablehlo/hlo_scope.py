# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations know of the graph around: how blocks in them are built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block, Operation
from ...bindings.ir import Value as IRValue
from ..core.scope import Scope


class HloScope(Scope):
    """A block of a StableHLO module that is imported."""

    @abstractmethod
    def add_inner(
        self, block: Block, operands: Sequence[Any], region_of: Operation | None = None, is_widened: bool = False
    ) -> list[Any]:
        """What a block in an operation gives, or one of a function that is called, built where the insertion point is:
        in a region of an operation, or where that stands; `is_widened`: a block for scalars on tensors. Raises
        Incomplete.
        """

    @abstractmethod
    def values_in(self, block: Block, operands: Sequence[Any], wanted: Sequence[IRValue]) -> list[Any]:
        """What values in a block of scalars are, built on tensors. Raises Incomplete."""
