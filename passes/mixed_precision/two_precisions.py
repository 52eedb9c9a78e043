# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of f32 as one of two precisions: each value is there in one of them, and in the other where it is wanted.

Operations are taken in their order. One that is computed in 16 bits has other operands and types of results; what
others want of it in f32 is cast behind it, once for all of them. So no value is cast there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...bindings.ir import Attribute, Operation, Type, Value
from ...bindings.mlir import ir
from ...bindings.navigation import is_used_once, operations_in
from ...bindings.rewriting import is_used
from ...dialects.core.codec import decode, element_type, encode
from ...dialects.core.dialect import find_op, row_of
from ...dialects.core.infos import TensorInfo
from ...dialects.core.opdef import OpDef
from ...dialects.relax.constants import elements_attribute, storage_dtype
from ...dialects.relax.known_constants import elements_in
from ...dialects.relax.values import is_valid
from ..scales.weights import are_numbers
from .registry import Precision

_HIGH = "f32"
_CAST = "relax.astype"
_CONSTANT = "arith.constant"


class _Kind:
    """A type that values have in the program, and of those of f32 what it is in 16 bits. One object for each."""

    __slots__ = ("dtype", "gone", "info", "is_gone", "low", "type")

    def __init__(self, type_: Type, low: str):
        self.type, self.info = type_, (info := decode(type_))
        #: The element type of a tensor; empty for anything else.
        self.dtype = info.dtype if isinstance(info, TensorInfo) else ""
        self.is_gone = False
        self.low, self.gone = type_, self
        if isinstance(info, TensorInfo) and info.dtype == _HIGH:
            self.low = encode(info.with_dtype(low), type_.context)
            #: That of values which are computed in 16 bits now.
            self.gone = _Gone(self)


class _Gone(_Kind):
    def __init__(self, there: _Kind):
        self.type, self.info, self.dtype, self.low = there.type, there.info, there.dtype, there.low
        self.is_gone, self.gone = True, self


class _Kinds(dict[Value, _Kind]):
    """Those of values, asked once."""

    def __init__(self, low: str):
        super().__init__()
        self._low = low
        self._of_types: dict[Type, _Kind] = {}

    def __missing__(self, value: Value) -> _Kind:
        self[value] = found = self.of(value.type)
        return found

    def of(self, type_: Type) -> _Kind:
        found = self._of_types.get(type_)
        if found is None:
            found = self._of_types[type_] = _Kind(type_, self._low)
        return found


class TwoPrecisions:
    """One run over an operation. Values are those of the program, of f32 there, where nothing else is said."""

    def __init__(self, low: str, precision: Callable[[Operation, OpDef], Precision], *, wide_results: bool):
        self._low = low
        self._precision = precision
        #: Whether products give f32, where they have an attribute that asks for it.
        self._wide_results = wide_results
        self._kinds = _Kinds(low)
        #: In 16 bits in addition to the value itself: a cast, a constant.
        self._lows: dict[Value, Value] = {}
        #: Casts of those that are there in 16 bits only.
        self._highs: dict[Value, Value] = {}
        self._constants: dict[Value, Operation] = {}
        #: What is made of constants alone: it is computed at compile time.
        self._made_of_constants: set[Value] = set()
        #: Those of which an operation is the only user that are there in 16 bits now, and what they were.
        self._changed: list[tuple[Value, Operation, Attribute]] = []
        self._superfluous: list[Operation] = []
        #: What takes the place of casts to 16 bits, in the end: what uses them wants the type that they have.
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
            given = list(operation.operands)
            kinds = [self._kinds[value] for value in given]
            row = row_of(operation)
            if row is None:
                is_in_order = is_in_order and all(len(region.blocks) < 2 for region in operation.regions)
            elif self._is_done(operation, row, given, kinds):
                continue
            self._give_high(operation, given)
            if row is not None and row.pure and given and all(map(self._is_known, given)):
                self._made_of_constants.update(operation.results)
        if not is_in_order:
            self._give_high_to_earlier(others)
        for result, low in self._same:
            result.replace_all_uses_with(low)
        for operation in reversed(self._superfluous):
            if not is_used(operation):
                operation.erase()

    def _is_done(self, operation: Operation, row: OpDef, given: Sequence[Value], kinds: Sequence[_Kind]) -> bool:
        if row.full_name == _CAST and self._pass_cast(operation, given[0], kinds[0]):
            return True
        if self._make_low(operation, row, given, kinds):
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
        """The value in 16 bits; None for a constant with a number that there is not."""
        found = self._lows.get(value)
        if found is not None:
            return found
        constant = self._constants.get(value)
        if constant is None:
            found = self._lows[value] = self._cast(value, kind.low, self._low)
            return found
        elements = constant.attributes["value"]
        attribute = self._rounded(elements, kind)
        if attribute is None:
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
        """The value cast to a tensor type of the same shape, where all that can use the value can use it too."""
        owner = value.owner
        is_argument = isinstance(owner, ir.Block)
        point = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint.after(owner)
        location = (owner.owner if is_argument else owner).location
        made = ir.Operation.create(_CAST, [type_], [value], self._attributes[dtype], loc=location, ip=point)
        # What was to use it may turn out to stay as it is.
        self._superfluous.append(made)
        return made.result

    def _rounded(self, elements: Attribute, kind: _Kind) -> Attribute | None:
        numbers = elements_in(elements, kind.info)
        if numbers is None or not are_numbers(numbers, self._low):
            return None
        return elements_attribute(numbers.astype(self._storage), self._element, kind.low)

    def _set(self, value: Value, constant: Operation, attribute: Attribute, kind: _Kind) -> None:
        constant.attributes["value"] = attribute
        value.set_type(kind.low if kind.is_gone else kind.type)
        self._kinds[value] = kind

    def _take_back(self) -> None:
        """Constants that were to be operands of what stays as it is."""
        for value, constant, attribute in self._changed:
            self._set(value, constant, attribute, self._kinds.of(attribute.type))
        self._changed.clear()

    # ---- operations ----

    def _give_high(self, operation: Operation, given: Sequence[Value]) -> None:
        for index, value in enumerate(given):
            if self._kinds[value].is_gone:
                operation.operands[index] = self._high(value)

    def _give_high_to_earlier(self, operations: Iterable[Operation]) -> None:
        """Blocks that stand before may use what has come to be of 16 bits behind them."""
        seen: set[Value] = set(self._constants)
        for operation in operations:
            for index, value in enumerate(operation.operands):
                if value not in seen and self._kinds[value].is_gone:
                    operation.operands[index] = self._high(value)
            seen.update(operation.results)

    def _pass_cast(self, operation: Operation, value: Value, kind: _Kind) -> bool:
        """A cast to 16 bits of what is there in them, or from them to anything."""
        result = operation.result
        given, wanted = kind.dtype, self._kinds[result].dtype
        if given == self._low and wanted == _HIGH:
            # This is to be computed in f32; what is always computed in 16 bits need not cast back.
            self._lows[result] = value
        if given != _HIGH:
            return True
        there = value if kind.is_gone else self._lows.get(value)
        if wanted == self._low and there is not None and there.type == result.type:
            self._same.append((result, there))
            self._superfluous.append(operation)
            return True
        return kind.is_gone and wanted != _HIGH

    def _make_low(self, operation: Operation, row: OpDef, given: Sequence[Value], kinds: Sequence[_Kind]) -> bool:
        """Has an operation computed in 16 bits, if it can be."""
        precision = self._precision(operation, row)
        if precision == "never" or row.infer is None:
            return False
        floats = [index for index, kind in enumerate(kinds) if kind.dtype == _HIGH]
        if not floats or precision == "follow" and not self._are_there([(given[at], kinds[at]) for at in floats]):
            return False
        others: list[tuple[int, Value]] = []
        for index in floats:
            if kinds[index].is_gone:
                continue
            low = self._to_low(given[index], kinds[index])
            if low is None:
                return False
            if low is not given[index]:
                others.append((index, low))
        for index, low in others:
            operation.operands[index] = low
        if self._give_types(operation, row):
            return True
        for index, _ in others:
            operation.operands[index] = given[index]
        return False

    def _are_there(self, values: Iterable[tuple[Value, _Kind]]) -> bool:
        """Whether values that the run computes have been computed in 16 bits, one of them at least."""
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
        """Says what an operation gives on its operands, in 16 bits if it can; False where it does not take them."""
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
