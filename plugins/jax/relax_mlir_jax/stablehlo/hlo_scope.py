# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface between operations and their graph: construction of nested blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from relax_mlir.bindings.ir import Block
from relax_mlir.bindings.ir import Value as IRValue
from relax_mlir.frontends.core.dialect_scope import DialectScope
from relax_mlir.frontends.core.values import Held


class HloScope(DialectScope):
    """Block of a StableHLO module during import."""

    @abstractmethod
    def add_widened(self, block: Block, operands: Sequence[Held | None]) -> list[Any]:
        """Build a scalar block on tensors and return its results. Raises Incomplete."""

    @abstractmethod
    def values_in(self, block: Block, operands: Sequence[Held | None], wanted: Sequence[IRValue]) -> list[Any]:
        """Build a scalar block on tensors and return the `wanted` values in it. Raises Incomplete."""
