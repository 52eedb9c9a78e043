# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of the graph of an MLIR module to its nodes: construction of nested blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block, Operation
from .scope import Scope
from .values import Held


class DialectScope(Scope):
    """Block of an MLIR module that is imported."""

    @abstractmethod
    def add_inner(self, block: Block, operands: Sequence[Held | None], region_of: Operation | None = None) -> list[Any]:
        """Build a nested block or a called function at the insertion point, and return its results. Raise Incomplete.

        The insertion point is in a region of an operation, or the block is inlined.
        """
