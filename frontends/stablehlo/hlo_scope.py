# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operations know of the graph around: how blocks in them are built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Block
from ...bindings.ir import Value as IRValue
from ..core.dialect_scope import DialectScope


class HloScope(DialectScope):
    """A block of a StableHLO module that is imported."""

    @abstractmethod
    def add_widened(self, block: Block, operands: Sequence[Any]) -> list[Any]:
        """What a block that is written for scalars gives, built on tensors. Raises Incomplete."""

    @abstractmethod
    def values_in(self, block: Block, operands: Sequence[Any], wanted: Sequence[IRValue]) -> list[Any]:
        """What values in a block of scalars are, built on tensors. Raises Incomplete."""
