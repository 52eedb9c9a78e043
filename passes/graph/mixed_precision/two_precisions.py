# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a function of f32 to two precisions. Each value exists in one, and in the other where users want it.

Operations are visited in order. An operation in 16 bits has new operands and result types. Its result is cast to f32
once, for all users that want f32. No value is therefore cast to the other precision and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ....bindings.ir import Attribute, Operation, Type, Value
from ....bindings.mlir import ir
from ....bindings.navigation import is_used_once, operations_in
from ....bindings.rewriting import is_used
from ....dialects.core.codec import decode, element_type, encode
from ....dialects.core.dialect import find_op, row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import OpDef
from ....dialects.relax.constants import elements_attribute, storage_dtype
from ....dialects.relax.known_constants import elements_in
from ....dialects.relax.values import is_valid
from ..scales.weights import are_numbers
from .registry import Precision

_HIGH = "f32"
_CAST = "relax.astype"
_CONSTANT = "arith.constant"


class _Kind:
    """A type of values in the program, and its 16-bit counterpart for f32. One object per type."""

    __slots__ = ("dtype", "gone", "info", "is_gone", "low", "type")

    def __init__(self, type_: Type, low: str):
        self.type, self.info = type_, (info := decode(type_))
        #: Element type of a tensor, or an empty text.
        self.dtype = info.dtype if isinstance(info, TensorInfo) else ""
        self.is_gone = False
        self.low, self.gone = type_, self
        if isinstance(info, TensorInfo) and info.dtype == _HIGH:
            self.low = encode(info.with_dtype(low), type_.context)
            #: Kind of values that are computed in 16 bits by now.
            self.gone = _Gone(self)


class _Gone(_Kind):
    def __init__(self, there: _Kind):
        self.type, self.info, self.dtype, self.low = there.type, there.info, there.dtype, there.low
        self.is_gone, self.gone = True, self


class _Kinds(dict[Value, _Kind]):
    """Kinds of values, memoised."""

    def __init__(self, low: str):
        super().__init__()
        self._low = low
        self._of_types: dict[Type, _Kind] = {}

    def __missing__(self, value: Value) -> _Kind:
        self[value] = found = self.of(value.type)
        return found

    def of(self, type_: Type) -> _Kind:
        if (kind := self._of_types.get(type_)) is None:
            kind = self._of_types[type_] = _Kind(type_, self._low)
        return kind


class TwoPrecisions:
    """One run over an operation. Values are the program's, in f32 there, unless stated otherwise."""

    def __init__(self, low: str, precision: Callable[[Operation, OpDef], Precision], *, wide_results: bool):
        self._low = low
        self._precision = precision
        #: True if products return f32, for operators with an attribute for it.
        self._wide_results = wide_results
        self._kinds = _Kinds(low)
        #: Additional 16-bit form of values: a cast, or a constant.
        self._lows: dict[Value, Value] = {}
        #: Casts to f32 of values that exist only in 16 bits.
        self._highs: dict[Value, Value] = {}
        self._constants: dict[Value, Operation] = {}
        #: Values computed only from constants, that is, at compile time.
        self._made_of_constants: set[Value] = set()
        #: Single-use constants that are in 16 bits by now, with their old elements.
        self._changed: list[tuple[Value, Operation, Attribute]] = []
        self._superfluous: list[Operation] = []
        #: Replacements of casts to 16 bits, applied at the end. The users want the casts' types.
        self._same: list[tuple[Value, Value]] = []

    def run(self, root: Operation) -> None:
        kind = find_op(_CAST).attrs["dtype"]
        self._attributes = {dtype: {"dtype": kind.encode(dtype, root.context)} for dtype in (self._low, _HIGH)}
        self._element, self._storage = element_type(self._low, root.context), storage_dtype(self._low)
        others = []
        for operation in operations_in(root):
            if operation.name == _CONSTANT:
                self._constants[operation.result] = operation
            else:
                others.append(operation)
        is_in_order = True
        for operation in others:
            operands = list(operation.operands)
            kinds = [self._kinds[value] for value in operands]
            if (row := row_of(operation)) is None:
                is_in_order = is_in_order and all(len(region.blocks) < 2 for region in operation.regions)
            elif self._is_done(operation, row, operands, kinds):
                continue
            self._give_high(operation, operands)
            if row is not None and row.pure and operands and all(map(self._is_known, operands)):
                self._made_of_constants.update(operation.results)
        if not is_in_order:
            self._give_high_to_earlier(others)
        for result, low in self._same:
            result.replace_all_uses_with(low)
        for operation in reversed(self._superfluous):
            if not is_used(operation):
                operation.erase()

    def _is_done(self, operation: Operation, row: OpDef, values: Sequence[Value], kinds: Sequence[_Kind]) -> bool:
        if row.full_name == _CAST and self._pass_cast(operation, values[0], kinds[0]):
            return True
        if self._make_low(operation, row, values, kinds):
            self._changed.clear()
            return True
        self._take_back()
        return False

    # ---- values ----

    def _high(self, value: Value) -> Value:
        if value not in self._highs:
            self._highs[value] = self._cast(value, self._kinds[value].type, _HIGH)
        return self._highs[value]

    def _to_low(self, value: Value, kind: _Kind) -> Value | None:
        """Return the value in 16 bits, or None for a constant that is not finite in 16 bits."""
        if (found := self._lows.get(value)) is not None:
            return found
        if (constant := self._constants.get(value)) is None:
            found = self._lows[value] = self._cast(value, kind.low, self._low)
            return found
        elements = constant.attributes["value"]
        if (attribute := self._round(elements, kind)) is None:
            return None
        if is_used_once(value):
            self._changed.append((value, constant, elements))
            self._set(value, constant, attribute, kind.gone)
            return value
        self._superfluous.append(constant)
        attributes, point = {"value": attribute}, ir.InsertionPoint(constant)
        made = ir.Operation.create(_CONSTANT, [kind.low], (), attributes, loc=constant.location, ip=point)
        found = self._lows[value] = made.result
        return found

    def _cast(self, value: Value, type_: Type, dtype: str) -> Value:
        """Cast the value to a tensor type of the same shape, at a position that dominates the value's users."""
        owner = value.owner
        is_argument = isinstance(owner, ir.Block)
        point = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint.after(owner)
        location = (owner.owner if is_argument else owner).location
        made = ir.Operation.create(_CAST, [type_], [value], self._attributes[dtype], loc=location, ip=point)
        # The intended user may keep its precision after all.
        self._superfluous.append(made)
        return made.result

    def _round(self, elements: Attribute, kind: _Kind) -> Attribute | None:
        numbers = elements_in(elements, kind.info)
        if numbers is None or not are_numbers(numbers, self._low):
            return None
        return elements_attribute(numbers.astype(self._storage), self._element, kind.low)

    def _set(self, value: Value, constant: Operation, attribute: Attribute, kind: _Kind) -> None:
        constant.attributes["value"] = attribute
        value.set_type(kind.low if kind.is_gone else kind.type)
        self._kinds[value] = kind

    def _take_back(self) -> None:
        """Restore constants of an operation that keeps its precision."""
        for value, constant, attribute in self._changed:
            self._set(value, constant, attribute, self._kinds.of(attribute.type))
        self._changed.clear()

    # ---- operations ----

    def _give_high(self, operation: Operation, values: Sequence[Value]) -> None:
        for index, value in enumerate(values):
            if self._kinds[value].is_gone:
                operation.operands[index] = self._high(value)

    def _give_high_to_earlier(self, operations: Iterable[Operation]) -> None:
        """Cast operands of earlier blocks that became 16-bit values later."""
        seen: set[Value] = set(self._constants)
        for operation in operations:
            for index, value in enumerate(operation.operands):
                if value not in seen and self._kinds[value].is_gone:
                    operation.operands[index] = self._high(value)
            seen.update(operation.results)

    def _pass_cast(self, operation: Operation, value: Value, kind: _Kind) -> bool:
        """Bypass a cast to 16 bits of a value that exists in 16 bits, or accept a cast from 16 bits to any type."""
        result = operation.result
        given, wanted = kind.dtype, self._kinds[result].dtype
        if given == self._low and wanted == _HIGH:
            # The result is to be f32. An operator that always uses 16 bits need not cast back.
            self._lows[result] = value
        if given != _HIGH:
            return True
        there = value if kind.is_gone else self._lows.get(value)
        if wanted == self._low and there is not None and there.type == result.type:
            self._same.append((result, there))
            self._superfluous.append(operation)
            return True
        return kind.is_gone and wanted != _HIGH

    def _make_low(self, operation: Operation, row: OpDef, values: Sequence[Value], kinds: Sequence[_Kind]) -> bool:
        """Convert an operation to 16 bits if possible."""
        if (precision := self._precision(operation, row)) == "never" or row.infer is None:
            return False
        floats = [index for index, kind in enumerate(kinds) if kind.dtype == _HIGH]
        if not floats or precision == "follow" and not self._are_there([(values[at], kinds[at]) for at in floats]):
            return False
        others: list[tuple[int, Value]] = []
        for index in floats:
            if kinds[index].is_gone:
                continue
            if (low := self._to_low(values[index], kinds[index])) is None:
                return False
            if low is not values[index]:
                others.append((index, low))
        for index, low in others:
            operation.operands[index] = low
        if self._give_types(operation, row):
            return True
        for index, _ in others:
            operation.operands[index] = values[index]
        return False

    def _are_there(self, values: Iterable[tuple[Value, _Kind]]) -> bool:
        """Check whether all computed values are in 16 bits. At least one must be."""
        is_one = False
        for value, kind in values:
            if kind.is_gone:
                is_one = True
            elif not self._is_known(value):
                return False
        return is_one

    def _is_known(self, value: Value) -> bool:
        return value in self._constants or value in self._made_of_constants

    def _give_types(self, operation: Operation, row: OpDef) -> bool:
        """Set the result types on the new operands, in 16 bits if possible.

        Return False if the operands are invalid.
        """
        results = list(operation.results)
        stated = [self._kinds.of(result.type) for result in results]
        is_wide = self._wide_results and "out_dtype" in row.attrs and "out_dtype" not in operation.attributes
        if is_wide:
            operation.attributes["out_dtype"] = self._attributes[_HIGH]["dtype"]
        for kinds in ([kind.gone for kind in stated], stated):
            for result, kind in zip(results, kinds, strict=True):
                result.set_type(kind.low if kind.is_gone else kind.type)
            if is_valid(operation):
                self._kinds.update(zip(results, kinds, strict=True))
                return True
        if is_wide:
            del operation.attributes["out_dtype"]
        return False
