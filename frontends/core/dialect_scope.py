# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations of an MLIR module that is imported know of the graph around: how blocks in them are built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block, Operation
from .scope import Scope


class DialectScope(Scope):
    """A block of an MLIR module that is imported."""

    @abstractmethod
    def add_inner(self, block: Block, operands: Sequence[Any], region_of: Operation | None = None) -> list[Any]:
        """What a block in an operation gives, or one of a function that is called, built where the insertion point is:
        in a region of an operation, or where that stands. Raises Incomplete.
        """
