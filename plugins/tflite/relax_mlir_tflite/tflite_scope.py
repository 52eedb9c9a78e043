# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface between operators and their graph: the variables of the file, and construction of other subgraphs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from relax_mlir.frontends.core.scope import Scope
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.values import Value
from relax_mlir.rewriting import Operation


class TfliteScope(Scope):
    """Subgraph of a TFLite model during import."""

    #: Current values of resources, by container and name.
    variables: dict[tuple[bytes, ...], Value | None]

    #: Sizes in tensors that are shapes, by the index of the tensor. Some sizes may be known at import.
    parts: dict[int, list[Size]]

    @property
    def is_in_region(self) -> bool:
        """Check whether the subgraph is in a branch or loop that is executed depending on run-time values."""
        return self._region_of is not None or (isinstance(self._outer, TfliteScope) and self._outer.is_in_region)

    @abstractmethod
    def add_subgraph(self, index: int, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        """Build another subgraph at the insertion point and return its outputs.

        `region_of` is the operation with the region that contains the insertion point, if there is a region. Raises
        Incomplete if an output cannot be imported.
        """

    @abstractmethod
    def keep(self, index: int, value: Value) -> None:
        """Set the value that a variable, given by its index among the tensors, has in the next call."""
