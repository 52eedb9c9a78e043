# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Node of the layout assignment: an operation, its layouts, and the layouts that its operator's rule allows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from ....bindings.ir import Attribute, Operation, Type, Value
from ....bindings.navigation import made_by
from ....bindings.rewriting import blaming_at, located_error
from ....dialects.core.attributes import AttributeProblem
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info, TensorInfo
from ....dialects.core.operator import Operator
from ....dialects.relax.infer.layouts import Layout
from ....dialects.relax.known_constants import CONSTANTS, NUMPY_NAME
from ...core.memoised_rewrites import Signatures
from .call import LayoutCall, Placement
from .layout_attributes import as_asked
from .registry import LayoutRule, find_layout_rule
from .relations import MOST_DIMENSIONS, as_it_is, shape_in


class OperationKind:
    """Common data of operations of one signature. Rules see only types and attributes, so their answers are shared."""

    def __init__(self, operands: int, results: int):
        self.row: Operator | None = None
        self.rule: LayoutRule | None = None
        self.rank, self.moves = 0, False
        self.plain = Placement((None,) * operands, (None,) * results, wanted=(None,) * operands)
        #: Changed attributes and result types by the identity of a placement.
        self.made: dict[int, tuple[dict[str, Attribute | None], list[Type]]] = {}
        self._placements: dict[Layout, Placement | None] = {}
        self._options: dict[tuple[Layout | None, ...], Sequence[Placement]] = {}
        self._asked: dict[Sequence[str], Placement | None] = {}

    def follow_rule(self, row: Operator, rule: LayoutRule, operation: Operation) -> None:
        """Adopt the operator's layout rule if all tensors have known ranks."""
        self.call = LayoutCall(row, operation)
        shapes = [info.shape for info in self.call.operand_infos if isinstance(info, TensorInfo)]
        ranks = [len(shape) for shape in shapes if shape is not None]
        if ranks and len(ranks) == len(shapes) and max(ranks) <= MOST_DIMENSIONS:
            self.rule, self.rank, self.moves = rule, max(ranks), rule.moves

    def placements(self, layouts: tuple[Layout | None, ...], operation: Operation) -> Sequence[Placement]:
        """Return the placements that the operator's rule allows for neighbouring layouts.

        None is the program's layout.
        """
        if (found := self._options.get(layouts)) is None:
            own = [fromkey for fromkey in dict.fromkeys(layouts) if fromkey is not None and fromkey.rank == self.rank]
            answers = [self._placement(each, operation) for each in own]
            found = self._options[layouts] = [answer for answer in answers if answer is not None]
        return found

    def _placement(self, layout: Layout, operation: Operation) -> Placement | None:
        if layout not in self._placements and self.rule is not None:
            self._placements[layout] = self._possible(self._answer(self.rule, layout, operation))
        return self._placements.get(layout)

    def asked(self, texts: Sequence[str]) -> Placement | None:
        """Return the placement for requested layouts. An empty request keeps the program's."""
        if not texts:
            return self.plain
        if (key := tuple(texts)) not in self._asked:
            self._asked[key] = self._possible(as_asked(self.call, key))
        return self._asked[key]

    def _answer(self, rule: LayoutRule, layout: Layout, operation: Operation) -> Placement | None:
        """Call the rule. Raise RelaxError if its answer is invalid, before anything is changed."""
        with blaming_at(lambda: f"the layout rule of '{operation.name}'", rule.function, operation):
            answer = rule.function(self.call, layout)
        if answer is None:
            return None
        what = f"the layout rule of '{operation.name}' ({rule.place})"
        if not isinstance(answer, Placement):
            raise located_error(f"{what} returned {answer!r}: expected a Placement or None", operation.location)
        if (len(answer.operands), len(answer.results)) != (len(self.plain.operands), len(self.plain.results)):
            raise located_error(
                f"{what} returned layouts for another number of operands or results", operation.location
            )
        try:
            return answer._replace(attributes=self._normal(answer.attributes))
        except (AttributeProblem, KeyError) as problem:
            raise located_error(f"{what} returned wrong attributes: {problem}", operation.location) from None

    def _normal(self, attributes: Mapping[str, object]) -> dict[str, object]:
        assert self.row is not None
        kinds = self.row.attrs
        return {name: value if value is None else kinds[name].normalize(value) for name, value in attributes.items()}

    def _possible(self, placement: Placement | None) -> Placement | None:
        """Normalise a rule's answer: None for the program's layouts. Return None if a block would not be full."""
        if placement is None:
            return None
        layouts, infos = (*placement.operands, *placement.results), (*self.call.operand_infos, *self.call.results)
        if not all(map(_fits, layouts, infos)):
            return None
        operands, results = tuple(map(_as_none, placement.operands)), tuple(map(_as_none, placement.results))
        wanted = tuple(layout if isinstance(layout, Layout) else None for layout in operands)
        return placement._replace(operands=operands, results=results, wanted=wanted)


class Kinds:
    """Kinds of the operations of one plan, by signature."""

    def __init__(self) -> None:
        self._rules: dict[Operator, LayoutRule | None] = {}
        self._signatures = Signatures()
        self._known: dict[Hashable, OperationKind] = {}

    def of(
        self, operation: Operation, operands: Sequence[Value], results: Sequence[Value], is_reached: bool
    ) -> OperationKind:
        """Return the kind of an operation. Unreachable operations keep their layouts."""
        row = row_of(operation) if results and is_reached else None
        if row is not None and row not in self._rules:
            self._rules[row] = find_layout_rule(row)
        rule = None if row is None else self._rules[row]
        counts = len(operands), len(results)
        key = (row, *counts) if rule is None else self._signatures.of(operation, operands, results)
        if (kind := self._known.get(key)) is None:
            kind = self._known[key] = OperationKind(*counts)
            kind.row = row
            if row is not None and rule is not None:
                kind.follow_rule(row, rule, operation)
        return kind


class Wire:
    """A value of the program: its layout, and the number of uses per wanted layout. None is the program's layout."""

    __slots__ = ("_is_constant", "layout", "needs", "value")

    def __init__(self, value: Value):
        self.value = value
        self.layout: Layout | None = None
        self.needs: dict[Layout | None, int] = {}
        self._is_constant: bool | None = None

    @property
    def wanted(self) -> list[Layout | None]:
        return [layout for layout, count in self.needs.items() if count]

    @property
    def is_constant(self) -> bool:
        """Check whether conversions of the value happen at compile time."""
        if self._is_constant is None:
            info = tensor_of(self.value)
            is_known = info is not None and info.dtype in NUMPY_NAME
            self._is_constant = is_known and made_by(self.value, *CONSTANTS) is not None
        return self._is_constant


class Wires(dict[Value, Wire]):
    """Wires by value, created on first lookup."""

    def __missing__(self, value: Value) -> Wire:
        self[value] = made = Wire(value)
        return made


class LayoutNode:
    """An operation, and the layouts of its operands and results."""

    __slots__ = ("_operands", "_results", "inputs", "kind", "operation", "outputs", "placement", "plain")

    def __init__(self, operation: Operation, operands: Sequence[Value], is_reached: bool, kinds: Kinds):
        self.operation = operation
        self._operands = operands
        self._results = list(operation.results)
        self.kind = kinds.of(operation, operands, self._results, is_reached)
        self.plain = self.placement = self.kind.plain

    def connect(self, wires: Wires) -> None:
        self.inputs = [wires[value] for value in self._operands]
        self.outputs = [wires[value] for value in self._results]

    @property
    def is_changed(self) -> bool:
        return self.placement is not self.plain

    @property
    def arriving(self) -> tuple[Layout | None, ...]:
        """Return the layouts of the operands."""
        return tuple([wire.layout for wire in self.inputs])

    def placements(self, layouts: Iterable[Layout | None]) -> Sequence[Placement]:
        """Return the placements that the operator's rule allows for neighbouring layouts."""
        return self.kind.placements(tuple(layouts), self.operation)


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
