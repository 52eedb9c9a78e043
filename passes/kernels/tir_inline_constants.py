# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interprocedural constant propagation: numbers that all calls of a PrimFunc pass move into its body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from ...bindings.affine import plain_dim
from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, made_by, users_of
from ...bindings.rewriting import is_used
from ...dialects.core.ir_attributes import SCHEDULE
from ...dialects.relax.known_constants import CONSTANTS
from ...dialects.tir.prim_func import is_prim_func
from ...emit.generic import GenericOp
from ...emit.linalg import segments
from ..core.base import Pass
from ..core.registry import register_pass
from ..graph.dead_code.signatures import drop_parameters, functions_and_calls

_READS = frozenset(("tensor.extract", "memref.load"))


@register_pass
class InlineConstants(Pass):
    """Replace parameters of PrimFuncs by a number that all calls pass, without copies of PrimFuncs."""

    name: ClassVar[str] = "tir-inline-constants"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    def run(self, op: Operation) -> None:
        for function, calls in functions_and_calls(op):
            # A handwritten schedule may count operands.
            if is_prim_func(function) and SCHEDULE not in function.attributes:
                _inline(function, calls)


def _inline(function: Operation, calls: Sequence[Operation]) -> None:
    known: dict[int, Attribute] = {}
    for place in range(len(calls[0].operands)):
        number = _number([call.operands[place] for call in calls])
        if number is not None and _take_in(body_of(function).arguments[place], number):
            known[place] = number
    constants = {made_by(call.operands[place], *CONSTANTS): None for call in calls for place in known}
    if known:
        drop_parameters(function, calls, known)
    for constant in constants:
        if constant is not None and not is_used(constant):
            constant.erase()


def _number(values: Sequence[Value]) -> Attribute | None:
    """Return the number that all elements of all these tensors or scalars are, or None if there is no such number."""
    found = [_number_of(value) for value in values]
    known = [number for number in found if number is not None]
    return known[0] if len(known) == len(found) and all(number == known[0] for number in known) else None


def _number_of(value: Value) -> Attribute | None:
    constant = made_by(value, *CONSTANTS)
    held = None if constant is None else constant.attributes["value"]
    if isinstance(held, ir.DenseElementsAttr):
        return held.get_splat_value() if held.is_splat else None
    return held if isinstance(held, (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)) else None


def _take_in(parameter: Value, number: Attribute) -> bool:
    """Replace a parameter by a number. Returns False, without a change, if the parameter has other uses than reads."""
    if (element := getattr(parameter.type, "element_type", None)) is None:
        constant = _constant(number, parameter.type, ir.InsertionPoint.at_block_begin(parameter.owner))
        parameter.replace_all_uses_with(constant)
        return True
    users = list(dict.fromkeys(users_of(parameter)))
    if not all(user.name in _READS or _can_do_without(user, parameter) for user in users):
        return False
    for user in users:
        if user.name in _READS:
            user.results[0].replace_all_uses_with(_constant(number, element, ir.InsertionPoint(user)))
            user.erase()
        else:
            _read_less(user, parameter, number)
    return True


def _constant(number: Attribute, type_: Type, ip: ir.InsertionPoint) -> Value:
    """Return a number as a constant of a signless type. The number's own type may have a sign."""
    if isinstance(number, ir.IntegerAttr) and number.type != type_:
        bits = type_.width
        number = ir.IntegerAttr.get(type_, (number.value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
    with ip.block.owner.location:
        return ir.Operation.create("arith.constant", results=[type_], attributes={"value": number}, ip=ip).result


def _can_do_without(user: Operation, parameter: Value) -> bool:
    """Check whether an operation reads a parameter elementwise, and other operands state its loop sizes."""
    if user.name != "linalg.generic":
        return False
    generic = GenericOp(user)
    if parameter in generic.outputs:
        return False
    # Products that are summed keep their form, which planners of loops look for.
    if math.prod(parameter.type.shape) > 1 and generic.reductions:
        return False
    others = [map_ for value, map_ in zip(generic.operands, generic.maps, strict=True) if value != parameter]
    sized = {plain_dim(expression) for map_ in others for expression in map_.results}
    return sized.issuperset(range(len(generic.kinds)))


def _read_less(generic: Operation, parameter: Value, number: Attribute) -> None:
    """Replace an operation by one without the parameter, which uses the number."""
    places = [place for place, value in enumerate(generic.operands) if value == parameter]
    kept = [place for place in range(len(generic.operands)) if place not in places]
    view = GenericOp(generic)
    count, maps, block = view.input_count, view.maps, view.block
    for place in reversed(places):
        argument = block.arguments[place]
        value = _constant(number, argument.type, ir.InsertionPoint.at_block_begin(block))
        argument.replace_all_uses_with(value)
        block.erase_argument(place)
    attributes = {
        **{name: generic.attributes[name] for name in generic.attributes},
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(maps[place]) for place in kept]),
        **segments(count - len(places), len(generic.operands) - count),
    }
    with generic.location, ir.InsertionPoint(generic):
        made = ir.Operation.create(
            generic.name,
            results=list(generic.results.types),
            operands=[generic.operands[place] for place in kept],
            attributes=attributes,
            regions=1,
        )
    block.append_to(made.regions[0])
    for old, new in zip(generic.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    generic.erase()
