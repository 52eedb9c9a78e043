# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of arguments and of registered functions' results before any memory access, and the checked values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import Value
from ...bindings.mlir import ir
from ...dialects.core.infos import Info, ScalarInfo, TensorInfo, is_bool, is_float
from ...dialects.core.symbols import SymExpr
from ...dialects.relax.function_attributes import LIST, NOTHING
from ...dialects.tir import dialect as tir
from ...emit.arithmetic import convert, from_bits
from ...emit.conversions import limits
from ...emit.numbers import Number, as_i64, number, select
from ...passes.memory.lower_calls.dynamic_sizes import Sizes
from ...support.suggest import counted
from . import abi
from .llvm_ops import address_of, behind, constant, load, stack, type_of
from .signature import Passed
from .support import DEVICE_TABLE, Support, short


class CheckedTensor(NamedTuple):
    """Checked tensor: the address of its elements and its sizes, numbers or i64 values."""

    data: Value
    sizes: list[int | Value]


#: Checked value of an argument, or of one item of a list.
Checked = CheckedTensor | Value


class _CheckedSize(NamedTuple):
    """Size that must agree with other sizes, and its origin. `axis` is None for a scalar."""

    size: SymExpr
    value: Value
    slot: Value
    where: str
    axis: int | None

    @property
    def origin(self) -> str:
        place = self.where.partition(": ")[2]
        return place if self.axis is None else f"{place} dimension {self.axis}"


class ArgumentChecks:
    """Emission of the checks of all arguments, then of the checks that need every symbol."""

    def __init__(
        self,
        support: Support,
        sizes: Sizes,
        function: str,
        what: str = "argument",
        *,
        on_device: bool = False,
        hint: str = "",
    ) -> None:
        """Create the checks. `hint` tells callers how to fix a CPU tensor where a device tensor is expected."""
        self._support = support
        self._sizes = sizes
        self._function = short(function)
        self._what = what
        self._on_device = on_device
        self._hint = hint
        #: For each tensor on a device, in order: the memory with its address and sizes, and (rank, bytes of an element,
        #: is written).
        self.places: list[tuple[Value, tuple[int, int, int]]] = []
        self._is_written = False
        self._origins: dict[str, str] = {}
        self._agreements: list[_CheckedSize] = []

    def check(self, position: int, passed: Passed, slot: Value) -> list[Checked]:
        """Check one argument, except for conditions that depend on later arguments."""
        kind, name = passed.group.kind, passed.group.name
        where = f"{self._function}: {self._what} #{position}" + (f" '{short(name)}'" if name else "")
        if kind == NOTHING:
            self._require_kind(slot, where, "None, as the program was made without it", abi.NONE)
            return []
        self._is_written = passed.is_written
        if kind == LIST:
            return self._list(where, passed.infos, slot)
        return [self._value(where, passed.infos[0], slot)]

    def check_agreement(self) -> None:
        """Check the sizes that are expressions, or symbols with a definition elsewhere."""
        for agreement in self._agreements:
            if self._sizes.knows(agreement.size):
                self._require_equal(agreement, as_i64(self._sizes.compute(agreement.size)).value)
            else:
                self._define(agreement)

    def _require_kind(self, slot: Value, where: str, expected: str, *kinds: int) -> None:
        bits = sum(1 << (kind if kind < abi.FIRST_OBJECT else kind - abi.FIRST_OBJECT + 32) for kind in kinds)
        text = self._support.text
        self._support.require("check_kind", slot, text(where), text(expected), constant(bits))

    def _require(self, condition: Value, where: str, message: str, *numbers: Value, kind: str = "ValueError") -> None:
        place = where.removeprefix(f"{self._function}: ").replace("{}", "{ }")
        tir.ops["assert"](condition, list(numbers), kind=kind, message=f"{place} {message}")

    def _list(self, where: str, infos: Sequence[Info], slot: Value) -> list[Checked]:
        """Check the tensors of a list. The list keeps them alive during the call, because an ffi.Array is immutable."""
        count = len(infos)
        expected = f"a list of {counted(count, 'tensor')}"
        self._require_kind(slot, where, expected, abi.ARRAY)
        array = load(slot, abi.ANY_PAYLOAD, type_of("ptr"))
        given = load(array, abi.SEQUENCE_SIZE, type_of("i64"))
        self._require(number(given) == count, where, f"expected {expected}, got a list of {{}}", given)
        items = load(array, abi.SEQUENCE_DATA, type_of("ptr"))
        pairs = zip(infos, [behind(items, index * abi.ANY_SIZE) for index in range(count)], strict=True)
        return [self._value(f"{where} item #{index}", item, place) for index, (item, place) in enumerate(pairs)]

    def _value(self, where: str, info: Info, slot: Value) -> Checked:
        if isinstance(info, TensorInfo):
            return self._tensor(where, info, slot)
        return self._scalar(where, info, slot) if isinstance(info, ScalarInfo) else slot

    def _tensor(self, where: str, info: TensorInfo, slot: Value) -> CheckedTensor:
        shape, text = info.shape or (), self._support.text
        held = abi.padded_name(info.dtype)
        dtype = abi.dlpack_name(info.dtype) + (f" (a byte for each {held})" if held else "")
        wanted = [size if isinstance(size, int) else -1 for size in shape]
        expected = [abi.dlpack_dtype(info.dtype), len(shape), abi.element_bytes(info.dtype), *wanted]
        out = stack(8 + 8 * len(shape))
        texts = text(where), text(dtype), text(_shape_text(info))
        operands = slot, *texts, self._support.numbers(expected), out
        if self._on_device:
            self._support.require("device_check_tensor", address_of(DEVICE_TABLE), *operands, text(self._hint))
            self.places.append((out, (len(shape), abi.element_bytes(info.dtype), int(self._is_written))))
        else:
            self._support.require("check_tensor", *operands)
        sizes: list[int | Value] = []
        for axis, size in enumerate(shape):
            value = size if isinstance(size, int) else load(out, 8 + 8 * axis, type_of("i64"))
            sizes.append(value)
            if isinstance(size, SymExpr) and isinstance(value, Value):
                self._meet(_CheckedSize(size, value, slot, where, axis))
        return CheckedTensor(load(out, 0, type_of("ptr")), sizes)

    def _meet(self, size: _CheckedSize) -> None:
        """Define a plain symbol at its first occurrence. All other sizes are checked when every symbol is known."""
        if size.size.variables == {str(size.size)} and not self._sizes.knows(size.size):
            self._define(size)
        else:
            self._agreements.append(size)

    def _define(self, size: _CheckedSize) -> None:
        """Define a symbol by a size. A scalar must be at least 0; the size of a tensor always is."""
        if size.axis is None:
            natural = (number(size.value) >= 0).value
            self._require(natural, size.where, "expected a size of at least 0, got {}", size.value)
        self._sizes.define(size.size, size.value)
        self._origins[str(size.size)] = size.origin

    def _require_equal(self, size: _CheckedSize, value: Value) -> None:
        origin = self._origins.get(str(size.size), "")
        expected = f"expected size {short(str(size.size))} = {{}}{f' (from {origin})' if origin else ''}, got {{}}"
        if size.axis is None:
            self._require(number(size.value) == number(value), size.where, expected, value, size.value)
            return
        numbers = constant(size.axis), value, size.value
        message = expected.replace("%", "%%").replace("{}", "%lld")
        texts = self._support.text(f"%s dimension %lld {message}: shape %s"), self._support.text(size.where)
        self._support.require("check_size", size.slot, *texts, *numbers)

    def _scalar(self, where: str, info: ScalarInfo, slot: Value) -> Value:
        if is_float(info.dtype):
            return self._float(where, slot)
        if is_bool(info.dtype):
            self._require_kind(slot, where, "a bool", abi.BOOL)
            return (number(load(slot, abi.ANY_PAYLOAD, type_of("i64"))) != 0).value
        self._require_kind(slot, where, "an int", abi.INT, abi.BOOL)
        value = load(slot, abi.ANY_PAYLOAD, type_of("i64"))
        self._check_range(where, info.dtype, value)
        if isinstance(info.value, SymExpr):
            self._meet(_CheckedSize(info.value, value, slot, where, None))
        elif isinstance(info.value, int):
            self._require(number(value) == info.value, where, f"expected {info.value}, got {{}}", value)
        return value

    def _check_range(self, where: str, dtype: str, value: Value) -> None:
        low, highest = limits(dtype)
        high = min(highest, 2**63 - 1)
        if (low, high) != (-(2**63), 2**63 - 1):
            inside = (number(value) >= low) & (number(value) <= high)
            message = f"expected an int of type {dtype}, from {low} to {high}, got {{}}"
            self._require(inside.value, where, message, value)

    def _float(self, where: str, slot: Value) -> Value:
        """Return a float argument as f64. Integers and bools are converted."""
        self._require_kind(slot, where, "a float", abi.FLOAT, abi.INT, abi.BOOL)
        is_real = Number(load(slot, 0, type_of("i32"))) == abi.FLOAT
        payload, f64 = number(load(slot, abi.ANY_PAYLOAD, type_of("i64"))), ir.F64Type.get()
        return select(is_real, from_bits(payload, f64), convert("arith.sitofp", payload, f64)).value


def _shape_text(info: TensorInfo) -> str:
    sizes = ["?" if size is None else str(size) for size in info.shape or ()]
    return f" {short('(' + ', '.join(sizes) + (',)' if len(sizes) == 1 else ')'))}" if sizes else ""
