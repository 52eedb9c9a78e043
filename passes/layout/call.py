# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of layout rules: the call that they see, and the placement that they answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...bindings.ir import Operation, Value
from ...dialects.core.codec import decode
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.opdef import Call, OpDef
from ...dialects.core.verifier import call_of
from ...dialects.relax.infer.layouts import Layout
from .relations import for_broadcast

#: What takes an operand's place where another layout alone is not enough: indices of axes in another order.
Replace = Callable[[Value], Value]


class Placement(NamedTuple):
    """The layouts of an operation's operands and results, one by one; None as the program says."""

    operands: Sequence[Layout | Replace | None]
    results: Sequence[Layout | None]
    #: Those that differ.
    attributes: Mapping[str, object] = {}
    #: Whether nothing is done: the result is the operand, seen otherwise.
    is_view: bool = False
    #: The layouts among what is said of operands; the plan's own.
    wanted: Sequence[Layout | None] = ()


class LayoutCall:
    """One use of an operator, as inference sees it: infos of operands and attributes by name, and the results'."""

    def __init__(self, definition: OpDef, operation: Operation):
        self.definition = definition
        self.operation = operation
        #: What is known of operands and results, one by one.
        self.operand_infos: list[Info] = [decode(value.type) for value in operation.operands]
        self.results: list[Info] = [decode(result.type) for result in operation.results]

    @cached_property
    def inferred(self) -> Call:
        return call_of(self.definition, self.operation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inferred, name)

    @property
    def result(self) -> Any:
        """What is known of the (first) result."""
        return self.results[0]

    def follow(self, layout: Layout, **attributes: object) -> Placement:
        """The tensors of the layout's rank get it, other operands and results stay as they are."""
        operands, results = (
            [layout if _has_rank(info, layout) else None for info in infos]
            for infos in (self.operand_infos, self.results)
        )
        return Placement(operands, results, attributes)

    def broadcast(self, layout: Layout, **attributes: object) -> Placement | None:
        """The results get the layout, and operands what it takes to be broadcast to them."""
        if not all(_has_rank(info, layout) for info in self.results):
            return None
        shapes = [info.shape if isinstance(info, TensorInfo) else () for info in self.operand_infos]
        known = [for_broadcast(layout, shape) for shape in shapes if shape is not None]
        return Placement(known, [layout] * len(self.results), attributes) if len(known) == len(shapes) else None

    def placed(
        self,
        operands: Mapping[str, Layout | Replace | None],
        results: Layout | Sequence[Layout | None] | None,
        **attributes: object,
    ) -> Placement:
        """Layouts of operands by name (of all of a variadic one), of results, and the attributes that differ."""
        flat: list[Layout | Replace | None] = []
        for name, info in self.inferred.operands.items():
            count = len(info) if type(info) is tuple else int(info is not None)
            flat += [operands.get(name)] * count
        listed = [results] if results is None or isinstance(results, Layout) else list(results)
        return Placement(flat, listed, attributes)


def _has_rank(info: Info, layout: Layout) -> bool:
    return isinstance(info, TensorInfo) and info.rank == layout.rank
