# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations know of the graph around: how blocks in them are built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block, Operation
from ..core.scope import Scope


class TosaScope(Scope):
    """A block of a TOSA module that is imported."""

    @abstractmethod
    def add_inner(self, block: Block, operands: Sequence[Any], region_of: Operation | None = None) -> list[Any]:
        """What a block in an operation gives, or one of a function that is called, built where the insertion point is:
        in a region of an operation, or where that stands. Raises Incomplete.
        """
