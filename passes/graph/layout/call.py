# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interface of layout rules: the call that a rule receives, and the placement that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ....bindings.ir import Operation, Value
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, TensorInfo
from ....dialects.core.opdef import Call, OpDef
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.layouts import Layout
from .relations import for_broadcast

#: Replacement of an operand for which a layout is not enough, such as axis indices in another order.
Replace = Callable[[Value], Value]


class Placement(NamedTuple):
    """The layout of each operand and result of an operation. None is the program's layout."""

    operands: Sequence[Layout | Replace | None]
    results: Sequence[Layout | None]
    #: Changed attributes.
    attributes: Mapping[str, object] = {}
    #: True if the operation becomes a view: its result is the operand with other axes.
    is_view: bool = False
    #: The layouts among `operands`, filled in by the plan.
    wanted: Sequence[Layout | None] = ()


class LayoutCall:
    """One use of an operator for a layout rule: inferred operands and attributes by name, and the results."""

    def __init__(self, definition: OpDef, operation: Operation):
        self.definition = definition
        self.operation = operation
        #: Inferred information about each operand and result.
        self.operand_infos: list[Info] = [decode(value.type) for value in operation.operands]
        self.results: list[Info] = [decode(result.type) for result in operation.results]

    @cached_property
    def inferred(self) -> Call:
        return call_of(self.definition, self.operation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inferred, name)

    @property
    def result(self) -> Any:
        """Return the information about the (first) result."""
        return self.results[0]

    def follow(self, layout: Layout, **attributes: object) -> Placement:
        """Give the layout to all tensors of its rank. Other operands and results keep theirs."""
        operands, results = (
            [layout if _has_rank(info, layout) else None for info in infos]
            for infos in (self.operand_infos, self.results)
        )
        return Placement(operands, results, attributes)

    def broadcast(self, layout: Layout, **attributes: object) -> Placement | None:
        """Give the layout to the results, and to operands the layouts that broadcast to it."""
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
        """Return a placement from layouts of operands by name, layouts of results, and changed attributes.

        The layout of a variadic operand applies to all its tensors.
        """
        flat: list[Layout | Replace | None] = []
        for name, info in self.inferred.operands.items():
            count = len(info) if type(info) is tuple else int(info is not None)
            flat += [operands.get(name)] * count
        listed = [results] if results is None or isinstance(results, Layout) else list(results)
        return Placement(flat, listed, attributes)


def _has_rank(info: Info, layout: Layout) -> bool:
    return isinstance(info, TensorInfo) and info.rank == layout.rank
