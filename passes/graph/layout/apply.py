# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Application of a layout plan to its operations. One conversion serves all uses that want the same layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....bindings.ir import Attribute, InsertionPoint, Location, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import ancestors, is_used_once, made_by
from ....bindings.rewriting import is_used
from ....dialects import relax
from ....dialects.core.codec import decode, encode
from ....dialects.core.infos import TensorInfo
from ....dialects.relax.constants import elements_attribute
from ....dialects.relax.infer.layouts import Layout
from ....dialects.relax.known_constants import CONSTANTS, elements_in, elements_of
from ....dialects.relax.values import is_known
from .conversion import constant_like, converted, converted_elements
from .layout_plan import LayoutPlan
from .node import LayoutNode, Wire
from .relations import as_it_is, keeps_order, shape_in, widened

if TYPE_CHECKING:
    from numpy import ndarray


def apply(plan: LayoutPlan) -> None:
    """Apply the plan. Operations that keep their layouts are not changed."""
    _Application(plan).run()


class _Application:
    def __init__(self, plan: LayoutPlan):
        self._plan = plan
        #: Values by their wire and layout. The layout None is the program's.
        self._made: dict[tuple[Wire, Layout | None], Value] = {}
        #: Types in the program of values that have another layout by now, or are erased.
        self._types: dict[Wire, Type] = {}

    def run(self) -> None:
        for node in self._plan.nodes:
            if node.is_changed:
                self._change(node)
                continue
            for index, wire in enumerate(node.inputs):
                if wire in self._types:
                    node.operation.operands[index] = self._value(wire, None, node.operation)
        originals = dict.fromkeys(wire for wire, _ in self._made if wire not in self._types)
        for node in reversed(self._plan.nodes):
            if node.placement.is_view:
                node.operation.erase()
        for wire in originals:
            constant = made_by(wire.value, *CONSTANTS)
            if constant is not None and not is_used(constant):
                constant.erase()

    def _change(self, node: LayoutNode) -> None:
        operation, placement = node.operation, node.placement
        operands: list[Value] = []
        for index, (wire, layout) in enumerate(zip(node.inputs, placement.operands, strict=True)):
            if layout is None and wire not in self._types:
                operand = wire.value
            elif layout is None or isinstance(layout, Layout):
                operand = self._value(wire, layout, operation)
            else:
                with operation.location, ir.InsertionPoint(operation):
                    operand = layout(self._value(wire, None, operation))
            operands.append(operand)
            if operand is not wire.value:
                operation.operands[index] = operand
        attributes, types = _changes(node)
        for name, attribute in attributes.items():
            if attribute is not None:
                operation.attributes[name] = attribute
            elif name in operation.attributes:
                del operation.attributes[name]
        values = operands[:1] if placement.is_view else [wire.value for wire in node.outputs]
        for wire, layout, value, type_ in zip(node.outputs, placement.results, values, types, strict=True):
            if value is not wire.value or layout is not None:
                self._made[wire, layout], self._types[wire] = value, wire.value.type
                wire.value.set_type(type_)

    def _value(self, wire: Wire, layout: Layout | None, user: Operation) -> Value:
        """Return a value of the program in a layout, for use by an operation."""
        value = wire.value
        if layout is None and wire not in self._types:
            return value
        found = self._made.get((wire, layout))
        if found is None and layout is not None and wire.layout is None and _has_layout(value, layout):
            return value
        if found is None:
            given = self._made.get((wire, wire.layout), value)
            point, location = _place(value, user)
            with location, point:
                type_ = self._types.get(wire, value.type)
                found = self._made[wire, layout] = _conversion(type_, given, wire.layout, layout)
        return found


def _has_layout(value: Value, layout: Layout) -> bool:
    """Convert a constant with a single use in place. Return False for any other value."""
    constant = made_by(value, *CONSTANTS) if is_used_once(value) else None
    if constant is None:
        return False
    type_ = value.type
    if (array := elements_in(constant.attributes["value"], decode(type_))) is None:
        return False
    attribute = elements_attribute(_move_elements(array, array.ndim, None, layout), type_.element_type)
    constant.attributes["value"] = attribute
    value.set_type(attribute.type)
    return True


def _move_elements(array: ndarray, rank: int, own: Layout | None, goal: Layout) -> ndarray:
    """Return the elements of a constant of this rank and layout in another layout."""
    # Dimensions beyond the constant's rank are new ones in front.
    array = array.reshape([1] * (goal.rank - rank) + list(array.shape))
    moved = converted_elements(array, widened(own, rank, goal.rank), goal)
    assert moved is not None, "a plan has full blocks only"
    return moved


def _changes(node: LayoutNode) -> tuple[dict[str, Attribute | None], list[Type]]:
    """Return changed attributes (None if removed) and result types, computed once for all equal placements."""
    made = node.kind.made
    if (changes := made.get(id(node.placement))) is None:
        types = [
            _type_in(wire.value.type, layout) for wire, layout in zip(node.outputs, node.placement.results, strict=True)
        ]
        changes = made[id(node.placement)] = _attributes(node), types
    return changes


def _attributes(node: LayoutNode) -> dict[str, Attribute | None]:
    assert node.kind.row is not None, "others have no rule"
    kinds, context = node.kind.row.attrs, node.operation.context
    items = node.placement.attributes.items()
    stated = {name: value for name, value in items if value is not None and value != kinds[name].default}
    return {name: kinds[name].encode(stated[name], context) if name in stated else None for name, _ in items}


def _type_in(type_: Type, layout: Layout | None) -> Type:
    """Return the type in a layout of a value with this type in the program."""
    if layout is None:
        return type_
    info = decode(type_)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return encode(info.with_shape(shape_in(layout, info.shape)), type_.context)


def _place(value: Value, user: Operation) -> tuple[InsertionPoint, Location]:
    """Return the insertion point and location of a conversion: before its first user or the user's parent."""
    maker = made_by(value)
    block = value.owner if maker is None else maker.block
    location = value.location if maker is None else maker.location
    location = user.location if isinstance(location, ir.UnknownLoc) else location
    for operation in (user, *ancestors(user)):
        if operation.block == block:
            return ir.InsertionPoint(operation), location
    # The user is in another block, reachable from this one.
    return ir.InsertionPoint.at_block_begin(block) if maker is None else ir.InsertionPoint.after(maker), location


def _conversion(type_: Type, value: Value, own: Layout | None, wanted: Layout | None) -> Value:
    """Convert a value from its own layout to the wanted one. Dimensions beyond its rank are new ones in front."""
    info = decode(type_)
    assert isinstance(info, TensorInfo) and info.shape is not None
    rank = len(info.shape)
    goal = wanted or as_it_is(rank)
    layout, more = widened(own, rank, goal.rank), goal.rank - rank
    if (array := elements_of(value)) is not None:
        return constant_like(value, _move_elements(array, rank, own, goal))
    shape = shape_in(goal, info.shape)
    if keeps_order(layout, goal, info.shape) and is_known(shape):
        result = relax.reshape(value, relax.shape_expr(dims=shape))
    else:
        wide = relax.expand_dims(value, axis=list(range(more))) if more else value
        result = converted(wide, layout, goal, are_full=True)
    stated = _type_in(type_, wanted)
    if result.type != stated:
        # Inference cannot see that sizes that were divided and multiplied again are the program's sizes.
        result.set_type(stated)
    return result
