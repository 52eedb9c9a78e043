# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What nodes know of the graph around: what torch has inferred of values, in sizes of the module."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...bindings.ir import Operation
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr
from ...emit.kernels import FreshSymbols
from ..core import sizes
from ..core.limits import Room
from ..core.problems import Problems
from ..core.scope import Scope
from ..core.values import ComplexValue, Value
from .draws import Draws
from .dtypes import dtype_of_parts
from .fx_operators import is_scalar
from .symbolic_sizes import Expressions

if TYPE_CHECKING:
    from torch.fx import GraphModule


class FxScope(Scope):
    """A graph of torch.fx that is imported."""

    def __init__(
        self,
        problems: Problems,
        symbols: FreshSymbols,
        room: Room,
        expressions: Expressions,
        outer: FxScope | None = None,
        region_of: Operation | None = None,
    ):
        """`outer` is the graph around, for one in a node; `region_of` the operation whose region is built, if any."""
        super().__init__(problems, symbols, {} if outer is None else outer.kernels, room, outer, region_of)
        self.expressions = expressions
        self.is_inside = outer is not None
        self.draws: Draws = Draws() if outer is None else outer.draws

    @abstractmethod
    def add_inner(self, module: GraphModule, operands: Sequence[Any], region_of: Operation | None = None) -> list[Any]:
        """The outputs of a graph in a node, built where the insertion point is: in a region of an operation, or where
        the node stands. Raises Incomplete.
        """

    @abstractmethod
    def computed(self, argument: Any) -> Any:
        """Compute a number that depends on data from the operands of its node, without what assertions state."""

    def bind(self, meta: Any, held: Any) -> None:
        """Binds the symbols that torch has for a number, or for the sizes of a tensor."""
        pairs = [(meta, held)] if is_scalar(meta) else []
        if isinstance(held, (Value, ComplexValue)) and hasattr(meta, "shape"):
            pairs = [*zip(meta.shape, held.shape or (), strict=False)]
        for size, own in pairs:
            inner = getattr(size, "node", None)
            if inner is not None and inner.expr.is_Symbol and own is not None:
                self.expressions.bind(inner.expr.name, own)

    def is_known(self, value: Any) -> bool:
        """Whether a number or a size is made of symbols that are defined."""
        inner = getattr(value, "node", None)
        return inner is None or self.expressions.is_known(inner.expr)

    def info_of(self, value: Any) -> TensorInfo | None:
        """The type of a tensor as torch has inferred it, of complex numbers that of their parts; a size of which
        nothing is known yet is None.
        """
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return None
        return TensorInfo(tuple(self._dim(each) for each in value.shape), dtype_of_parts(value.dtype))

    def _dim(self, size: Any) -> int | SymExpr | None:
        if not self.is_known(size):
            return None
        found = self.expressions.size(size)
        return found if sizes.is_known(found) else None
