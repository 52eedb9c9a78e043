# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a torch.fx graph that nodes use: inferred types, and symbols of sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import SymExpr
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.limits import Room
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.core.scope import Scope
from relax_mlir.frontends.core.values import ComplexValue, Value

from .draws import Draws
from .dtypes import dtype_of_parts
from .fx_operators import is_scalar
from .symbolic_sizes import Expressions

if TYPE_CHECKING:
    from torch.fx import GraphModule


class FxScope(Scope):
    """Graph of torch.fx that is imported."""

    def __init__(
        self,
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        expressions: Expressions,
        outer: FxScope | None = None,
        region_of: Operation | None = None,
    ):
        """Create a scope.

        `outer` is the enclosing graph; `region_of` is the operation of the region that is built, if any.
        """
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.expressions = expressions
        self.is_inside = outer is not None
        self.draws: Draws = Draws() if outer is None else outer.draws

    @abstractmethod
    def add_inner(
        self, module: GraphModule, operands: Sequence[object], region_of: Operation | None = None
    ) -> list[Any]:
        """Build a subgraph of a node at the insertion point, and return its outputs. Raise Incomplete.

        The insertion point is in a region of an operation, or the subgraph is inlined.
        """

    @abstractmethod
    def computed(self, argument: object) -> Any:
        """Compute a number that depends on data from its node's operands, without the assumptions of assertions."""

    def bind(self, meta: object, held: object) -> None:
        """Bind torch's symbols for a number, or for the sizes of a tensor."""
        pairs = [(meta, held)] if is_scalar(meta) else []
        if isinstance(held, (Value, ComplexValue)) and hasattr(meta, "shape"):
            pairs = [*zip(meta.shape, held.shape or (), strict=False)]
        for size, own in pairs:
            inner = getattr(size, "node", None)
            if inner is not None and inner.expr.is_Symbol and own is not None:
                self.expressions.bind(inner.expr.name, own)

    def is_known(self, value: object) -> bool:
        """Check whether a number or a size consists of defined symbols."""
        inner = getattr(value, "node", None)
        return inner is None or self.expressions.is_known(inner.expr)

    def info_of(self, value: object) -> TensorInfo | None:
        """Return the type of a tensor as torch has inferred it. Unknown sizes are None.

        Complex tensors have the type of their parts.
        """
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return None
        return TensorInfo(tuple(self._dim(each) for each in value.shape), dtype_of_parts(value.dtype))

    def _dim(self, size: object) -> int | SymExpr | None:
        if not self.is_known(size):
            return None
        found = self.expressions.size(size)
        return found if sizes.is_known(found) else None
