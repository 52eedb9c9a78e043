# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators know of the graph around: the file, its variables, how other subgraphs are built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from ...bindings.ir import Operation
from ..core.scope import Scope
from ..core.sizes import Size
from ..core.values import Value


class TfliteScope(Scope):
    """A subgraph of a TFLite model that is imported."""

    #: What resources hold by now, by their containers and names.
    variables: dict[tuple[bytes, ...], Value | None]

    #: Tensors, by their places, that are joined of sizes, of which some may be known.
    parts: dict[int, list[Size]]

    @property
    def is_in_region(self) -> bool:
        """Whether it is decided at run time if, and how often, what is built here runs."""
        return self._region_of is not None or (isinstance(self._outer, TfliteScope) and self._outer.is_in_region)

    @abstractmethod
    def add_subgraph(self, index: int, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        """What another subgraph gives, built where the insertion point is: in a region of an operation, or where that
        stands. Raises Incomplete.
        """

    @abstractmethod
    def keep(self, index: int, value: Value) -> None:
        """Gives a variable, by its place among the tensors, its value for the next call."""
