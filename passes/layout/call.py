# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules of layouts see of an operation, and what they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...dialects.core.codec import decode
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.opdef import OpDef
from ...dialects.core.verifier import call_of
from ...dialects.relax.infer.layouts import Layout
from .relations import for_broadcast

#: What takes an operand's place where another layout alone is not enough: indices of axes in another order.
Replace = Callable[[Value], Value]


class Placement(NamedTuple):
    """How an operation's operands and results lie, one by one; None as the program says."""

    operands: Sequence[Layout | Replace | None]
    results: Sequence[Layout | None]
    #: Those that differ.
    attributes: Mapping[str, Any] = {}
    #: Whether nothing is done: the result is the operand, seen otherwise.
    is_view: bool = False


class LayoutCall:
    """One use of an operator, as inference sees it: infos of operands and attributes by name, and the results'."""

    def __init__(self, definition: OpDef, operation: Operation):
        self.operation = operation
        self.inferred = call_of(definition, operation)
        self.results: list[Info] = [decode(result.type) for result in operation.results]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inferred"], name)

    @property
    def result(self) -> Any:
        """What is known of the (first) result."""
        return self.results[0]

    def follow(self, layout: Layout, **attributes: Any) -> Placement:
        """The tensors of the layout's rank lie so, other operands and results as they are."""
        operands = {name: layout for name, info in self.inferred.operands.items() if _has_rank(info, layout)}
        return self.placed(
            operands, [layout if _has_rank(each, layout) else None for each in self.results], **attributes
        )

    def broadcast(self, layout: Layout, **attributes: Any) -> Placement | None:
        """The results lie so, and operands as it takes to be broadcast to them."""
        if not all(_has_rank(each, layout) for each in self.results):
            return None
        operands = {}
        for name, info in self.inferred.operands.items():
            if isinstance(info, TensorInfo):
                if info.shape is None:
                    return None
                operands[name] = for_broadcast(layout, info.shape)
        return self.placed(operands, [layout] * len(self.results), **attributes)

    def placed(
        self,
        operands: Mapping[str, Layout | Replace | None],
        results: Layout | Sequence[Layout | None] | None,
        **attributes: Any,
    ) -> Placement:
        """Operands by name (each of a variadic one's lies so), results, and the attributes that differ."""
        flat: list[Layout | Replace | None] = []
        for name, info in self.inferred.operands.items():
            count = len(info) if type(info) is tuple else int(info is not None)
            flat += [operands.get(name)] * count
        listed = [results] if results is None or isinstance(results, Layout) else list(results)
        return Placement(flat, listed, attributes)


def _has_rank(info: Any, layout: Layout) -> bool:
    if type(info) is tuple:  # a variadic operand's
        return bool(info) and all(_has_rank(each, layout) for each in info)
    return isinstance(info, TensorInfo) and info.rank == layout.rank
