# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR to be looked at: large constants are left out, and not even read."""

from __future__ import annotations

import math
import re
from typing import Any

from ...bindings.mlir import ir, print_asm
from .elements import is_resource

_LEFT_OUT = "__elided__"
#: What MLIR makes of the name where it is taken.
_NUMBERED = re.compile(rf"\b{_LEFT_OUT}_\d+\b")


def print_short(operation: Any, most: int) -> str:
    """An operation as text, without the elements of constants of more than so many, as MLIR leaves them out.

    MLIR's own limit for resources writes all of their bytes as text to find out how long that is.
    """
    copied = operation.clone()
    try:
        with operation.context:
            copied.walk(lambda op: _leave_out(op, most), ir.WalkOrder.PRE_ORDER)
        text = print_asm(copied, assume_verified=True, large_elements_limit=most, large_resource_limit=most)
        return _NUMBERED.sub(_LEFT_OUT, text)
    finally:
        copied.erase()


def _leave_out(op: Any, most: int) -> Any:
    for name in list(op.attributes):
        value = op.attributes[name]
        short = _short(value, most)
        if short is not value:
            op.attributes[name] = short
    return ir.WalkResult.ADVANCE


def _short(attribute: Any, most: int) -> Any:
    """The attribute itself where nothing in it is large."""
    if isinstance(attribute, ir.ArrayAttr):
        items = list(attribute)
        shorter = [_short(item, most) for item in items]
        return attribute if _same(items, shorter) else ir.ArrayAttr.get(shorter)
    if isinstance(attribute, ir.DictAttr):
        names, items = [entry.name for entry in attribute], [entry.attr for entry in attribute]
        shorter = [_short(item, most) for item in items]
        return attribute if _same(items, shorter) else ir.DictAttr.get(dict(zip(names, shorter, strict=True)))
    if is_resource(attribute) and math.prod(ir.ShapedType(attribute.type).shape) > most:
        return ir.Attribute.parse(f"dense_resource<{_LEFT_OUT}> : {attribute.type}")
    return attribute


def _same(items: list[Any], others: list[Any]) -> bool:
    return all(one is other for one, other in zip(items, others, strict=True))
