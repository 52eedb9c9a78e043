# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of a graph of a model, and of the graphs around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bindings.ir import Operation
from ...emit.kernels import FreshSymbols
from ..core.problems import Problems
from ..core.scope import Scope as AnyScope
from .model import Model
from .tensor_data import NodeProto


class Scope(AnyScope):
    """A graph that is imported, with the versions of operators that hold in it."""

    _outer: Scope | None

    def __init__(
        self,
        model: Model,
        problems: Problems,
        symbols: FreshSymbols,
        outer: Scope | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, model.kernels, model.room, outer, region_of)
        self.model = model
        self._nodes: Sequence[NodeProto] = ()
        #: The operator sets' versions; a function of the model has its own.
        self.opsets: dict[str, int] = dict(model.opsets) if outer is None else outer.opsets
        self._calls: tuple[str, ...] = () if outer is None else outer._calls
        #: The name of the node whose function this is, where it is one.
        self.within: str = "" if outer is None else outer.within

    def nodes_around(self) -> Iterator[NodeProto]:
        """The nodes of this graph, then those of the graphs around, each graph's in its order."""
        yield from self._nodes
        if self._outer is not None:
            yield from self._outer.nodes_around()
