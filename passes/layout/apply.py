# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the operations of a plan in their layouts, with the conversions between them: one for all who want the same."""

from __future__ import annotations

from typing import Any

from ...bindings.ir import Attribute, Location, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import ancestors, made_by
from ...bindings.rewriting import is_used
from ...dialects.core.codec import encode
from ...dialects.relax import dialect as relax
from ...dialects.relax.infer.layouts import Layout
from ..canonicalize.constants import elements_of
from ..canonicalize.support import is_known
from .conversion import constant_like, converted, converted_elements
from .node import Node, tensor_of
from .plan import Plan
from .relations import as_it_is, keeps_order, shape_in, widened


def apply(plan: Plan) -> None:
    """Nothing that the plan leaves as it is is made anew."""
    _Application(plan).run()


class _Application:
    def __init__(self, plan: Plan):
        self._plan = plan
        #: Values by what they are in the program and how they lie; None as there.
        self._made: dict[tuple[Value, Layout | None], Value] = {}
        self._replaced: set[Value] = set()

    def run(self) -> None:
        changed = [node for node in self._plan.nodes if node.is_changed]
        for node in self._plan.nodes:
            if node.is_changed:
                self._make(node)
                self._replaced.update(node.results)
            else:
                for index, value in enumerate(node.operands):
                    if value in self._replaced:
                        node.operation.operands[index] = self._value(value, None, node.operation)
        originals = dict.fromkeys(value for value, _ in self._made if value not in self._replaced)
        constants = [made_by(value, "arith.constant", "relax.constant") for value in originals]
        for node in reversed(changed):
            node.operation.erase()
        for constant in constants:
            if constant is not None and not is_used(constant):
                constant.erase()

    def _make(self, node: Node) -> None:
        operation, placement = node.operation, node.placement
        operands: list[Value] = []
        for value, layout in zip(node.operands, placement.operands, strict=True):
            if layout is None or isinstance(layout, Layout):
                operands.append(self._value(value, layout, operation))
                continue
            with operation.location, ir.InsertionPoint(operation):
                operands.append(layout(self._value(value, None, operation)))
        results = operands[:1] if placement.is_view else list(_created(node, operands).results)
        for result, layout, made in zip(node.results, placement.results, results, strict=True):
            self._made[result, layout] = made

    def _value(self, value: Value, layout: Layout | None, user: Operation) -> Value:
        """A value of the program as it lies in a layout, for an operation."""
        own = self._plan.layouts.get(value)
        if layout is None and value not in self._replaced:
            return value
        found = self._made.get((value, layout))
        if found is None:
            given = self._made.get((value, own), value)
            point, location = _place(value, user)
            with location, point:
                found = self._made[value, layout] = _conversion(value, given, own, layout)
        return found


def _created(node: Node, operands: list[Value]) -> Operation:
    operation, made = node.operation, node.kind.made
    found = made.get(id(node.placement))
    if found is None:
        found = made[id(node.placement)] = _attributes(node), _types(node)
    attributes, types = found
    return ir.Operation.create(
        operation.name, types, operands, attributes, loc=operation.location, ip=ir.InsertionPoint(operation)
    )


def _attributes(node: Node) -> dict[str, Attribute]:
    operation, row = node.operation, node.row
    assert row is not None, "others have no rule"
    attributes: dict[str, Attribute] = dict(operation.attributes)
    for name, value in node.placement.attributes.items():
        kind = row.attrs[name]
        attributes.pop(name, None)
        if value is not None and value != kind.default:
            attributes[name] = kind.encode(value, operation.context)
    return attributes


def _types(node: Node) -> list[Type]:
    return [_type_in(*pair) for pair in zip(node.results, node.placement.results, strict=True)]


def _type_in(value: Value, layout: Layout | None) -> Type:
    """The type of a value of the program in a layout."""
    if layout is None:
        return value.type
    info = tensor_of(value)
    assert info is not None and info.shape is not None
    return encode(info.with_shape(shape_in(layout, info.shape)), value.context)


def _place(value: Value, user: Operation) -> tuple[Any, Location]:
    """Where a value is converted that an operation is the first to want so: before it, or what is around it there."""
    maker = made_by(value)
    block = value.owner if maker is None else maker.block
    location = value.location if maker is None else maker.location
    location = user.location if isinstance(location, ir.UnknownLoc) else location
    for operation in (user, *ancestors(user)):
        if operation.block == block:
            return ir.InsertionPoint(operation), location
    # The user is in another block, which is reached from this one.
    return ir.InsertionPoint.at_block_begin(block) if maker is None else ir.InsertionPoint.after(maker), location


def _conversion(value: Value, given: Value, own: Layout | None, wanted: Layout | None) -> Value:
    """`given` is the value as it lies; more dimensions than it has are new ones in front."""
    info = tensor_of(value)
    assert info is not None and info.shape is not None
    rank = len(info.shape)
    goal = wanted or as_it_is(rank)
    layout, more = widened(own, rank, goal.rank), goal.rank - rank
    array = elements_of(given)
    if array is not None:
        moved = converted_elements(array.reshape([1] * more + list(array.shape)), layout, goal)
        assert moved is not None, "a plan has full blocks only"
        return constant_like(given, moved)
    shape = shape_in(goal, info.shape)
    if keeps_order(layout, goal, info.shape) and is_known(shape):
        result = relax.ops["reshape"](given, relax.ops["shape_expr"](dims=shape))
    else:
        wide = relax.ops["expand_dims"](given, axis=list(range(more))) if more else given
        result = converted(wide, layout, goal, are_full=True)
    type_ = _type_in(value, wanted)
    if result.type != type_:
        # What inference does not see: that sizes are the program's, divided and put together again.
        result.set_type(type_)
    return result
