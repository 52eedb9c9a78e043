# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of f32 as one of two precisions: each value is there in one of them, and in the other where it is wanted.

Operations are taken in their order. One that is computed in 16 bits is made anew; what others want of it in f32 is
cast behind it, once for all of them. So no value is cast there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in, use_count
from ...bindings.rewriting import is_used
from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op, row_of
from ...dialects.core.infos import TensorInfo
from ...dialects.core.opdef import OpDef
from ...dialects.relax import const
from ..canonicalize.constants import floats_of, is_constant
from ..canonicalize.support import is_valid, with_dtype
from ..scales.weights import are_numbers
from .registry import Precision

_HIGH = "f32"


class TwoPrecisions:
    """One run over an operation. Values are those of the function as it was, of f32."""

    def __init__(self, low: str, precision: Callable[[Operation, OpDef], Precision], *, wide_results: bool):
        self._low = low
        self._precision = precision
        #: Whether products give f32, where they have an attribute that asks for it.
        self._wide_results = wide_results
        #: In 16 bits: what has taken its place, a cast, a constant.
        self._lows: dict[Value, Value] = {}
        #: Those whose place a value of 16 bits has taken, and casts of these.
        self._gone: dict[Value, Value] = {}
        self._highs: dict[Value, Value] = {}
        self._superfluous: list[Operation] = []

    def run(self, root: Operation) -> None:
        for operation in operations_in(root):
            row = row_of(operation)
            is_done = self._pass_cast(operation) if operation.name == "relax.astype" else False
            if not is_done and (row is None or not self._make_low(operation, row)):
                self._give_high(operation)
        for operation in reversed(self._superfluous):
            # Blocks that stand before may use what has been made anew behind them.
            for result in operation.results:
                if result in self._gone and use_count(result):
                    result.replace_all_uses_with(self._high(result))
            if not is_used(operation):
                operation.erase()

    # ---- values ----

    def _high(self, value: Value) -> Value:
        if value not in self._gone:
            return value
        if value not in self._highs:
            self._highs[value] = self._cast(self._gone[value], value.type)
        return self._highs[value]

    def _to_low(self, value: Value) -> Value | None:
        """The value in 16 bits; None for a constant with a number that there is not."""
        if value not in self._lows:
            made = self._constant(value) if is_constant(value) else self._cast(value, with_dtype(value, self._low))
            if made is None:
                return None
            self._lows[value] = made
        return self._lows[value]

    def _cast(self, value: Value, type_: Type) -> Value:
        made = _cast_behind(value, type_)
        # What was to use it may turn out to stay as it is.
        self._superfluous.append(made.owner.operation)
        return made

    def _constant(self, value: Value) -> Value | None:
        numbers = floats_of(value)
        if numbers is None or not are_numbers(numbers, self._low):
            return None
        owner = value.owner.operation
        with ir.InsertionPoint(owner), owner.location:
            made = const(numbers, self._low)
        self._superfluous.append(owner)
        return made

    # ---- operations ----

    def _give_high(self, operation: Operation) -> None:
        for index, operand in enumerate(list(operation.operands)):
            if operand in self._gone:
                operation.operands[index] = self._high(operand)

    def _pass_cast(self, operation: Operation) -> bool:
        """A cast to 16 bits of what is there in them, or from them to anything."""
        (value,), result = operation.operands, operation.results[0]
        if _dtype(value) == self._low and _dtype(result) == _HIGH:
            # Somebody wants to compute in f32 here; what is always computed in 16 bits need not cast back.
            self._lows[result] = value
        if _dtype(value) != _HIGH:
            return True
        if _dtype(result) == self._low and value in self._lows and self._lows[value].type == result.type:
            result.replace_all_uses_with(self._lows[value])
            self._superfluous.append(operation)
        elif value in self._gone and _dtype(result) != _HIGH:
            operation.operands[0] = self._gone[value]
        else:
            return False
        return True

    def _make_low(self, operation: Operation, row: OpDef) -> bool:
        """Makes an operation anew in 16 bits, if it is to be computed so, and can be."""
        precision = self._precision(operation, row)
        floats = [value for value in operation.operands if _dtype(value) == _HIGH]
        if precision == "never" or not floats or row.infer is None:
            return False
        if precision == "follow" and not self._are_there(floats):
            return False
        lows = {value: self._to_low(value) for value in floats}
        operands = [lows.get(value, value) for value in operation.operands]
        made = self._made(operation, row, [value for value in operands if value is not None])
        if made is None:
            return False
        for result, low in zip(operation.results, made.results, strict=True):
            if _dtype(result) == _HIGH and _dtype(low) == self._low:
                self._gone[result] = self._lows[result] = low
            else:
                result.replace_all_uses_with(low)
        self._superfluous.append(operation)
        return True

    def _are_there(self, values: Sequence[Value]) -> bool:
        """Whether values that the run computes have been computed in 16 bits, one of them at least."""
        computed = [value for value in values if not is_constant(value)]
        return bool(computed) and all(value in self._gone for value in computed)

    def _made(self, operation: Operation, row: OpDef, operands: Sequence[Value]) -> Operation | None:
        """The operation on these operands; None where it does not take them, or one is missing."""
        if len(operands) != len(operation.operands):
            return None
        attributes = dict(operation.attributes)
        if self._wide_results and "out_dtype" in row.attrs and "out_dtype" not in attributes:
            attributes["out_dtype"] = row.attrs["out_dtype"].encode(_HIGH, operation.context)
        stated = [result.type for result in operation.results]
        lower = [with_dtype(each, self._low) if _dtype(each) == _HIGH else each.type for each in operation.results]
        for types in (lower, stated):
            with ir.InsertionPoint(operation), operation.location:
                made = ir.Operation.create(operation.name, types, operands=list(operands), attributes=attributes)
            if is_valid(made):
                return made
            made.erase()
        return None


def _dtype(value: Value) -> str:
    info = decode(value.type)
    return info.dtype if isinstance(info, TensorInfo) else ""


def _cast_behind(value: Value, type_: Type) -> Value:
    """The value cast to a tensor type of the same shape, where all that can use the value can use it too."""
    owner = value.owner
    is_argument = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint(owner)
    location = owner.owner.location if is_argument else owner.location
    dtype = find_op("relax.astype").attrs["dtype"].encode(str(type_.element_type), value.context)
    with point, location:
        made = ir.Operation.create("relax.astype", [type_], operands=[value], attributes={"dtype": dtype})
    if not is_argument:
        made.move_after(owner.operation)
    return made.results[0]
