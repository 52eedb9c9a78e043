# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Symbols for unnamed dynamic sizes, so that rules need no code for them (relax-legalize-ops)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bindings.ir import OpView, Value
from ...bindings.rewriting import Decline
from ...dialects.core.codec import decode
from ...dialects.core.infos import Info, ShapeInfo, TensorInfo, describe
from ...dialects.core.opdef import Call, OpDef
from ...dialects.core.operands import operand_info
from .call import LegalizeCall
from .rules import RuleFunction


def with_known_sizes(rule: RuleFunction, call: LegalizeCall) -> Any:
    """Call the rule with operands of known or symbolic sizes, and results of the types inferred from them.

    If a size is unknown, the operation is built again with a new symbol for each unknown size, and its results are
    cast.
    """
    named = {value: _named(value, call) for value in call.operands}
    values = [named[value] for value in call.operands]
    infos, attributes = call.result_infos, call.inferred.attributes
    if values == list(call.operands) and _infer_results(call.op, values, attributes) == infos:
        return rule(call)
    made = call.op.definition(**by_name(call.op, values), **attributes)
    results = made if isinstance(made, tuple) else [made]
    return [call.cast(*pair) for pair in zip(results, infos, strict=True)]


def by_name(op: OpView, values: Sequence[Any]) -> dict[str, Any]:
    """Map operand names to the values that stand for the operands, or None for an absent operand."""
    definition: OpDef = op.definition
    sizes = list(op.operation.attributes["operandSegmentSizes"]) if definition.segmented else None
    return definition.segment(values, sizes)


def _infer_results(op: OpView, values: Sequence[Value], attributes: Mapping[str, object]) -> list[Info]:
    operands = by_name(op, [operand_info(value) for value in values])
    return op.definition.infer_results(Call(op.definition, operands, attributes))


def _named(value: Value, call: LegalizeCall) -> Value:
    """Return the operand cast to a type with a symbol for each unknown size."""
    if not isinstance(info := decode(value.type), (TensorInfo, ShapeInfo)):
        return value
    sizes = info.shape if isinstance(info, TensorInfo) else info.dims
    if sizes is None:
        raise Decline(f"the rank of an operand ({describe(info)}) is not known")
    if None not in sizes:
        return value
    new = iter(call.new_symbols(sizes.count(None)))
    filled = tuple(next(new) if size is None else size for size in sizes)
    return call.cast(value, info.with_shape(filled) if isinstance(info, TensorInfo) else ShapeInfo(filled))
