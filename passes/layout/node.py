# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation as a plan of layouts sees it: how it lies, and how it may lie by its operator's rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ...bindings.ir import Operation, Value
from ...bindings.rewriting import located_error
from ...dialects.core.attributes import AttributeProblem
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.operator import Operator
from ...dialects.relax.infer.layouts import Layout
from .call import LayoutCall, Placement
from .registry import LayoutRule, find_layout_rule
from .relations import MOST_DIMENSIONS, as_it_is, shape_in


class Node:
    """An operation, and how its operands and results lie."""

    def __init__(self, operation: Operation, is_reached: bool, rules: dict[Operator, LayoutRule | None]):
        """`rules` is what is known of operators already. What nothing comes to stays as it is."""
        self.operation = operation
        self.row = row_of(operation)
        self.operands: list[Value] = list(operation.operands)
        self.results: list[Value] = list(operation.results)
        self.plain = Placement((None,) * len(self.operands), (None,) * len(self.results))
        self.placement = self.plain
        self.rule: LayoutRule | None = None
        self.rank = 0
        self._placements: dict[Layout, Placement | None] = {}
        if self.row is None or not self.results or not is_reached:
            return
        if self.row not in rules:
            rules[self.row] = find_layout_rule(self.row)
        if (rule := rules[self.row]) is not None:
            self.call = LayoutCall(self.row, operation)
            shapes = [info.shape for info in self.call.operand_infos if isinstance(info, TensorInfo)]
            ranks = [len(shape) for shape in shapes if shape is not None]
            if ranks and len(ranks) == len(shapes) and max(ranks) <= MOST_DIMENSIONS:
                self.rule, self.rank = rule, max(ranks)

    @property
    def is_changed(self) -> bool:
        return self.placement is not self.plain

    def placements(self, layouts: Iterable[Layout]) -> list[Placement]:
        """What the operator's rule makes of layouts around it."""
        found = []
        for layout in layouts:
            if layout not in self._placements and self.rule is not None:
                self._placements[layout] = self.possible(self._answer(self.rule, layout))
            placement = self._placements.get(layout)
            if placement is not None:
                found.append(placement)
        return found

    def _answer(self, rule: LayoutRule, layout: Layout) -> Placement | None:
        """Raises RelaxError for what no rule may answer: nothing has been changed yet."""
        answer = rule.function(self.call, layout)
        if answer is None:
            return None
        what = f"the rule of layouts of '{self.operation.name}' ({rule.place})"
        if not isinstance(answer, Placement):
            raise located_error(f"{what} answers {answer!r}: expected a Placement or None", self.operation.location)
        if (len(answer.operands), len(answer.results)) != (len(self.operands), len(self.results)):
            raise located_error(f"{what} answers for other operands or results than there are", self.operation.location)
        try:
            return answer._replace(attributes=self._normal(answer.attributes))
        except (AttributeProblem, KeyError) as problem:
            raise located_error(f"{what} answers wrong attributes: {problem}", self.operation.location) from None

    def _normal(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        assert self.row is not None
        kinds = self.row.attrs
        return {name: value if value is None else kinds[name].normalize(value) for name, value in attributes.items()}

    def possible(self, placement: Placement | None) -> Placement | None:
        """A rule's answer, with None for what lies as the program says; None where blocks would not be full."""
        if placement is None:
            return None
        layouts, infos = (*placement.operands, *placement.results), (*self.call.operand_infos, *self.call.results)
        if not all(map(_fits, layouts, infos)):
            return None
        operands, results = map(_as_none, placement.operands), map(_as_none, placement.results)
        return placement._replace(operands=tuple(operands), results=tuple(results))


def tensor_of(value: Value) -> TensorInfo | None:
    info = decode(value.type)
    return info if isinstance(info, TensorInfo) else None


def _fits(layout: object, info: Info) -> bool:
    if not isinstance(layout, Layout):
        return True
    return isinstance(info, TensorInfo) and info.shape is not None and shape_in(layout, info.shape) is not None


X = TypeVar("X")


def _as_none(layout: X) -> X | None:
    return None if isinstance(layout, Layout) and layout == as_it_is(layout.rank) else layout
