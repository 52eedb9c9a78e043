# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single rounding of elementwise operations behind 16-bit products: they compute in f32, and round after the last one.

Products have f32 sums, and CPUs compute 16-bit elements in f32. So each 16-bit operator costs a rounding, which is
several instructions. A value with other users, such as another product, is rounded for all of them: they read 16 bits.
A single operator behind a product stays as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import ClassVar

from ...bindings.ir import Location, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in, users_of
from ...bindings.rewriting import is_used, replace_op
from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op, row_of
from ...dialects.core.infos import TensorInfo
from ...dialects.core.opdef import OpDef
from ...dialects.relax.values import is_valid, with_dtype
from ..core.base import Pass
from ..core.registry import register_pass

_LOW = ("f16", "bf16")
_WIDE = "f32"
_CAST = "relax.astype"


@register_pass
class RoundOnce(Pass):
    """Compute chains of elementwise operators behind 16-bit products in f32, and round their results once."""

    name: ClassVar[str] = "relax-round-once"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Casts of values that are known in f32, and the number of the product that they derive from.
        rounded: dict[Value, int] = {}
        products = itertools.count()
        for operation in operations_in(op):
            if (row := row_of(operation)) is None or len(operation.results) != 1:
                continue
            if operation.name == _CAST:
                _skip_rounding(operation, rounded)
            elif _dtype(operation.result) not in _LOW:
                continue
            elif _is_product(operation, row):
                _widen(operation, [], rounded, next(products))
            elif _is_of_elements(row):
                wide = {value: rounded[value] for value in operation.operands if value in rounded and _stays(value)}
                if wide:
                    # Values of other products have separate memory: the operator reads them in 16 bits.
                    last = max(wide.values())
                    _widen(operation, [value for value in wide if wide[value] == last], rounded, last)


def _is_product(operation: Operation, row: OpDef) -> bool:
    """Check whether a 16-bit product can give f32 to elementwise operators, and has no other users.

    A single operator, such as a mask before a softmax, is not worth another rounding than the model's.
    """
    can_be_wide = row.pattern == "out_ewise_fusable" and "out_dtype" in row.attrs
    if not can_be_wide or "out_dtype" in operation.attributes or not _stays(operation.result):
        return False
    return any(user.name == _CAST or _stays(user.results[0]) for user in users_of(operation.result))


def _stays(value: Value) -> bool:
    """Check whether only elementwise operators, which can be fused with the value's producer, use a value."""
    used_in = [(user.name, row_of(user)) for user in users_of(value)]
    return bool(used_in) and all(row is not None and (_is_of_elements(row) or name == _CAST) for name, row in used_in)


def _is_of_elements(row: OpDef) -> bool:
    return row.pure and row.pattern in ("elemwise", "broadcast") and row.infer is not None and not row.is_plain_view


def _skip_rounding(cast: Operation, rounded: dict[Value, int]) -> None:
    """Replace a cast back to f32 by the f32 value."""
    (value,) = cast.operands
    if value in rounded and _stays(value) and _dtype(cast.result) == _WIDE:
        replace_op(cast, [value.owner.operation.operands[0]])
        _forget(value, rounded)


def _widen(operation: Operation, wide: Sequence[Value], rounded: dict[Value, int], product: int) -> None:
    """Compute an operation in f32 and round the result behind it. Operands that are known in f32 are read in f32."""
    before, low = list(operation.operands), operation.result.type
    dtype = _dtype(operation.result)
    if not wide:
        operation.attributes["out_dtype"] = find_op(operation.name).attrs["out_dtype"].encode(_WIDE, operation.context)
    else:
        with ir.InsertionPoint(operation):
            for at, value in enumerate(before):
                if value in wide:
                    operation.operands[at] = value.owner.operation.operands[0]
                elif _dtype(value) in _LOW:
                    operation.operands[at] = _cast(value, _WIDE, operation.location)
    operation.result.set_type(with_dtype(operation.result, _WIDE))
    if not is_valid(operation):
        _take_back(operation, before, low)
        return
    with ir.InsertionPoint.after(operation):
        cast = _cast(operation.result, dtype, operation.location)
    operation.result.replace_all_uses_except(cast, cast.owner.operation)
    rounded[cast] = product
    for value in wide:
        _forget(value, rounded)


def _take_back(operation: Operation, operands: Sequence[Value], type_: Type) -> None:
    operation.result.set_type(type_)
    for at, value in enumerate(operands):
        operation.operands[at] = value
    if "out_dtype" in operation.attributes:
        del operation.attributes["out_dtype"]


def _forget(rounding: Value, rounded: dict[Value, int]) -> None:
    if not is_used(rounding.owner.operation):
        del rounded[rounding]
        rounding.owner.operation.erase()


def _cast(value: Value, dtype: str, location: Location) -> Value:
    attributes = {"dtype": find_op(_CAST).attrs["dtype"].encode(dtype, value.context)}
    return ir.Operation.create(_CAST, [with_dtype(value, dtype)], [value], attributes, loc=location).result


def _dtype(value: Value) -> str:
    """Return the element type of a tensor, or "" for other values."""
    info = decode(value.type)
    return info.dtype if isinstance(info, TensorInfo) else ""
