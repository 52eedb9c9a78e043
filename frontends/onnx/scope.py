# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a model's graph and of its enclosing graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bindings.ir import Operation
from ...emit.kernels import FreshSymbols
from ..core.problems import Problems
from ..core.scope import Scope as AnyScope
from .model import OnnxModel
from .tensor_data import NodeProto


class Scope(AnyScope):
    """Graph to import, with the versions of its operators."""

    _outer: Scope | None

    def __init__(
        self,
        model: OnnxModel,
        problems: Problems,
        symbols: FreshSymbols,
        outer: Scope | None = None,
        region_of: Operation | None = None,
    ):
        super().__init__(problems, symbols, model.kernels, model.room, outer, region_of)
        self.model = model
        self._nodes: Sequence[NodeProto] = ()
        #: Versions of the operator sets. Functions of the model have their own.
        self.opsets: dict[str, int] = dict(model.opsets) if outer is None else outer.opsets
        self._calls: tuple[str, ...] = () if outer is None else outer._calls
        #: Name of the node that calls the function, or empty for the model's main graph.
        self.within: str = "" if outer is None else outer.within

    def nodes_around(self) -> Iterator[NodeProto]:
        """Yield the nodes of this graph and of the enclosing graphs, each graph's in order."""
        yield from self._nodes
        if self._outer is not None:
            yield from self._outer.nodes_around()
