# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of f32 as one of two precisions: each value is there in one of them, and in the other where it is wanted.

Operations are taken in their order. One that is computed in 16 bits is made anew; what others want of it in f32 is
cast behind it, once for all of them. So no value is cast there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import operations_in
from ...bindings.rewriting import is_used
from ...dialects.core.codec import decode, element_type
from ...dialects.core.dialect import find_op, row_of
from ...dialects.core.infos import TensorInfo
from ...dialects.core.opdef import OpDef
from ...dialects.relax.constants import elements_attribute, storage_dtype
from ..canonicalize.constants import floats_in
from ..canonicalize.support import is_valid, with_dtype
from ..scales.weights import are_numbers
from .registry import Precision

_HIGH = "f32"
_CAST = "relax.astype"
_CONSTANT = "arith.constant"


class _Dtypes(dict[Type, str]):
    """The element types of tensors; empty for anything else."""

    def __missing__(self, type_: Type) -> str:
        info = decode(type_)
        self[type_] = found = info.dtype if isinstance(info, TensorInfo) else ""
        return found


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
        self._constants: dict[Value, Operation] = {}
        self._superfluous: list[Operation] = []
        self._dtypes = _Dtypes()
        #: What operations of one kind give in 16 bits, which is asked once.
        self._made_types: dict[Hashable, Sequence[Type] | None] = {}

    def run(self, root: Operation) -> None:
        self._element = element_type(self._low, root.context)
        others = []
        for operation in operations_in(root):
            if operation.name == _CONSTANT:
                self._constants[operation.result] = operation
            else:
                others.append(operation)
        for operation in others:
            given = list(operation.operands)
            row = row_of(operation)
            is_done = operation.name == _CAST and self._pass_cast(operation)
            if not is_done and (row is None or not self._make_low(operation, row, given)) and self._gone:
                self._give_high(operation, given)
        for operation in reversed(self._superfluous):
            # Blocks that stand before may use what has been made anew behind them.
            if is_used(operation):
                used = [result for result in operation.results if any(True for _ in result.uses)]
                for result in used:
                    if result in self._gone:
                        result.replace_all_uses_with(self._high(result))
                if not all(result in self._gone for result in used):
                    continue
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
        found = self._lows.get(value)
        if found is None:
            constant = self._constants.get(value)
            found = self._constant(constant) if constant else self._cast(value, with_dtype(value, self._low))
            if found is not None:
                self._lows[value] = found
        return found

    def _cast(self, value: Value, type_: Type) -> Value:
        made = _cast_behind(value, type_)
        # What was to use it may turn out to stay as it is.
        self._superfluous.append(made.owner.operation)
        return made

    def _constant(self, constant: Operation) -> Value | None:
        numbers = floats_in(constant)
        if numbers is None or not are_numbers(numbers, self._low):
            return None
        lower = numbers.astype(storage_dtype(self._low))
        attribute = elements_attribute(lower, self._element)
        attributes, point = {"value": attribute}, ir.InsertionPoint(constant)
        self._superfluous.append(constant)
        made = ir.Operation.create(_CONSTANT, [attribute.type], (), attributes, loc=constant.location, ip=point)
        return made.result

    # ---- operations ----

    def _give_high(self, operation: Operation, given: Sequence[Value]) -> None:
        for index, operand in enumerate(given):
            if operand in self._gone:
                operation.operands[index] = self._high(operand)

    def _pass_cast(self, operation: Operation) -> bool:
        """A cast to 16 bits of what is there in them, or from them to anything."""
        (value,), result = operation.operands, operation.results[0]
        given, wanted = self._dtypes[value.type], self._dtypes[result.type]
        if given == self._low and wanted == _HIGH:
            # Somebody wants to compute in f32 here; what is always computed in 16 bits need not cast back.
            self._lows[result] = value
        if given != _HIGH:
            return True
        if wanted == self._low and value in self._lows and self._lows[value].type == result.type:
            result.replace_all_uses_with(self._lows[value])
            self._superfluous.append(operation)
        elif value in self._gone and wanted != _HIGH:
            operation.operands[0] = self._gone[value]
        else:
            return False
        return True

    def _make_low(self, operation: Operation, row: OpDef, given: Sequence[Value]) -> bool:
        """Makes an operation anew in 16 bits, if it is to be computed so, and can be."""
        precision = self._precision(operation, row)
        if precision == "never" or row.infer is None:
            return False
        dtypes = self._dtypes
        are_floats = [dtypes[value.type] == _HIGH for value in given]
        if True not in are_floats or precision == "follow" and not self._are_there(compress(given, are_floats)):
            return False
        lows = [self._to_low(value) if is_float else value for value, is_float in zip(given, are_floats, strict=True)]
        operands = [low for low in lows if low is not None]
        if len(operands) != len(given):
            return False
        stated = list(operation.results.types)
        made = self._made(operation, row, operands, stated)
        if made is None:
            return False
        # What is made has the type that was stated, or one of 16 bits in its place.
        for result, low in zip(list(operation.results), made.results, strict=True):
            if low.type != result.type:
                self._gone[result] = self._lows[result] = low
            else:
                result.replace_all_uses_with(low)
        self._superfluous.append(operation)
        return True

    def _are_there(self, values: Iterable[Value]) -> bool:
        """Whether values that the run computes have been computed in 16 bits, one of them at least."""
        is_one = False
        for value in values:
            if value in self._gone:
                is_one = True
            elif value not in self._constants:
                return False
        return is_one

    def _made(
        self, operation: Operation, row: OpDef, operands: Sequence[Value], stated: Sequence[Type]
    ) -> Operation | None:
        """The operation on these operands; None where it does not take them."""
        attributes = dict(operation.attributes.items())
        if self._wide_results and "out_dtype" in row.attrs and "out_dtype" not in attributes:
            attributes["out_dtype"] = row.attrs["out_dtype"].encode(_HIGH, operation.context)
        location, point = operation.location, ir.InsertionPoint(operation)

        def make(types: Sequence[Type]) -> Operation:
            return ir.Operation.create(row.full_name, types, operands, attributes, loc=location, ip=point)

        def find() -> tuple[Operation | None, Sequence[Type] | None]:
            lower = [
                with_dtype(each, self._low) if self._dtypes[each.type] == _HIGH else each.type
                for each in operation.results
            ]
            for types in (lower, stated):
                made = make(types)
                if is_valid(made):
                    return made, types
                made.erase()
            return None, None

        if row.value_dependent or row.verify is not None:
            return find()[0]
        key = (row, *(value.type for value in operands), None, *stated, *attributes.items())
        if key not in self._made_types:
            made, self._made_types[key] = find()
            return made
        types = self._made_types[key]
        return None if types is None else make(types)


def _cast_behind(value: Value, type_: Type) -> Value:
    """The value cast to a tensor type of the same shape, where all that can use the value can use it too."""
    owner = value.owner
    is_argument = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint.after(owner)
    location = owner.owner.location if is_argument else owner.location
    attributes = {"dtype": find_op(_CAST).attrs["dtype"].encode(str(type_.element_type), value.context)}
    return ir.Operation.create(_CAST, [type_], [value], attributes, loc=location, ip=point).results[0]
