# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of a compiled function's arguments, before memory is touched, and what the kernel gets for them."""

from __future__ import annotations

from math import prod

from ...dialects.core.infos import Info, ScalarInfo, TensorInfo, bit_width, is_bool, is_float, is_unsigned
from ...dialects.core.symbols import SymExpr
from . import abi
from .llvm_text import PTR, FunctionText
from .packed_fail import fail, fail_dtype, fail_shape, fail_type, plain
from .signature import ListInfo, NothingInfo, Passed
from .size_code import Sizes

# Bytes that any process can address at most: 57 bits, x86-64 with five levels of page tables.
_ADDRESS_SPACE = 2**57
Values = list[tuple[str, str]]  # (value, type) of what the kernel is called with


class ArgumentChecks:
    """Writes the checks of all arguments into a function, then those that need every symbol."""

    def __init__(
        self, code: FunctionText, sizes: Sizes, function: str, alignment: int, *, what: str = "argument"
    ) -> None:
        self._code = code
        self._sizes = sizes
        self._function = function
        self._alignment = alignment
        self._what = what
        self._agreements: list[tuple[SymExpr, str, str, str, str]] = []

    def check(self, position: int, name: str, info: Passed, args: str) -> Values:
        """Checks one argument but for what depends on later ones."""
        named = f" '{plain(name)}'" if name else ""
        where = f"{plain(self._function)}: {self._what} #{position}{named}"
        slot = self._code.at(args, position * abi.ANY_SIZE)
        if isinstance(info, NothingInfo):
            self._require_kind(abi.NONE, f"{where} expected None, as the program was made without it, got %.*s", slot)
            return []
        return (
            self._check_list(where, info, slot) if isinstance(info, ListInfo) else self._check_value(where, info, slot)
        )

    def _check_list(self, where: str, info: ListInfo, slot: str) -> Values:
        """The tensors of a list, which keeps them for the time of the call: nobody can change an ffi.Array."""
        code, count = self._code, len(info.items)
        expected = f"{where} expected a list of {count} {'tensor' if count == 1 else 'tensors'}"
        self._require_kind(abi.ARRAY, f"{expected}, got %.*s", slot)
        array = code.load(slot, abi.ANY_PAYLOAD, PTR)
        wanted, got = code.constant(count), code.load(array, abi.SEQUENCE_SIZE, "i64")
        failure = fail(code, "value", f"{expected}, got a list of %lld", got)
        code.require(code.compare("eq", got, wanted), failure)
        items = code.load(array, abi.SEQUENCE_DATA, PTR)
        values: Values = []
        for index, item in enumerate(info.items):
            values += self._check_value(f"{where} item #{index}", item, code.at(items, index * abi.ANY_SIZE))
        return values

    def _require_kind(self, kind: int, message: str, slot: str) -> None:
        code = self._code
        index = code.load(slot, 0, "i32")
        code.require(code.compare("eq", index, code.constant(kind, "i32"), "i32"), fail_type(code, message, index))

    def _check_value(self, where: str, info: Info, slot: str) -> Values:
        if isinstance(info, TensorInfo):
            return self._check_tensor(where, info, slot)
        return self._check_scalar(where, info, slot) if isinstance(info, ScalarInfo) else [(slot, PTR)]

    def check_agreement(self) -> None:
        """Checks the sizes that are expressions, or symbols defined elsewhere."""
        for size, value, tensor, where, place in self._agreements:
            if not self._sizes.knows(size):
                self._define(size, value, tensor, where, place)
                continue
            wanted = self._sizes.compute(size)
            origin = self._sizes.origin(size)
            message = (
                f"{where} {place} expected size {plain(str(size))} = %lld"
                f"{f' (from {origin})' if origin else ''}, got %lld{_got_shape(tensor)}"
            )
            equal = self._code.compare("eq", wanted, value)
            self._code.require(equal, self._fail_size(message, wanted, value, tensor))

    def _check_tensor(self, where: str, info: TensorInfo, slot: str) -> Values:
        code, shape = self._code, info.shape or ()
        tensor = self._tensor_pointer(where, slot)
        self._check_kind(where, info, tensor)
        sizes = self._check_sizes(where, shape, tensor)
        strides = row_major(code, sizes)
        empty = code.any_of(code.compare("eq", size, code.constant(0)) for size in sizes)
        self._check_bytes(where, info, tensor, sizes, empty)
        self._check_contiguous(where, tensor, sizes, strides, empty)
        data = self._data_pointer(where, info, tensor, empty)
        return memref_values(code, data, sizes, strides)

    def _tensor_pointer(self, where: str, slot: str) -> str:
        """The argument's DLTensor."""
        code = self._code
        index = code.load(slot, 0, "i32")
        is_object = code.compare("eq", index, code.constant(abi.TENSOR, "i32"), "i32")
        is_pointer = code.compare("eq", index, code.constant(abi.DLTENSOR_POINTER, "i32"), "i32")
        message = f"{where} expected a tensor, got %.*s"
        code.require(code.any_of([is_object, is_pointer]), fail_type(code, message, index))
        payload = code.load(slot, abi.ANY_PAYLOAD, PTR)
        self._require_there(payload, f"{where} expected a tensor, got a null pointer")
        inside = code.at(payload, abi.OBJECT_HEADER)
        return code.value(f"llvm.select {is_object}, {inside}, {payload} : i1, {PTR}")

    def _require_there(self, pointer: str, message: str) -> None:
        code = self._code
        there = code.value(f'llvm.icmp "ne" {pointer}, {code.null()} : {PTR}')
        code.require(there, fail(code, "value", message))

    def _check_kind(self, where: str, info: TensorInfo, tensor: str) -> None:
        """Device, element type and rank."""
        code = self._code
        device = code.load(tensor, abi.DL_DEVICE, "i32")
        on_cpu = code.compare("eq", device, code.constant(abi.DEVICE_CPU, "i32"), "i32")
        long_device = code.value(f"llvm.sext {device} : i32 to i64")
        code.require(
            on_cpu,
            fail(
                code, "value", f"{where} expected a tensor on the CPU, got one on DLPack device type %lld", long_device
            ),
        )
        dtype = code.load(tensor, abi.DL_DTYPE, "i32")
        same = code.compare("eq", dtype, code.constant(abi.dlpack_dtype(info.dtype), "i32"), "i32")
        held = abi.padded_name(info.dtype)
        expected = f"{where} expected dtype {abi.dlpack_name(info.dtype)}{f' (a byte for each {held})' if held else ''}"
        code.require(same, fail_dtype(code, f"{expected}, got %.*s", tensor))
        rank = len(info.shape or ())
        got = code.load(tensor, abi.DL_RANK, "i32")
        same = code.compare("eq", got, code.constant(rank, "i32"), "i32")
        long_got = code.value(f"llvm.sext {got} : i32 to i64")
        message = f"{where} expected rank %lld{_shape_text(info)}, got rank %lld: shape %s"
        code.require(same, fail_shape(code, message, code.constant(rank), long_got, tensor))

    def _check_sizes(self, where: str, shape: tuple[object, ...], tensor: str) -> list[str]:
        code = self._code
        dims = code.load(tensor, abi.DL_SHAPE, PTR) if shape else ""
        if shape:
            self._require_there(dims, f"{where} expected a tensor with its sizes, got a null pointer for them")
        values = []
        for index, size in enumerate(shape):
            value = code.load(dims, 8 * index, "i64")
            place = f"dimension {index}"
            if isinstance(size, int):
                wanted = code.constant(size)
                message = f"{where} {place} expected size %lld, got %lld: shape %s"
                code.require(code.compare("eq", value, wanted), fail_shape(code, message, wanted, value, tensor))
                value = wanted
            elif size is None:
                self._require_size(value, tensor, where, place)
            else:
                assert isinstance(size, SymExpr)
                self._meet(size, value, tensor, where, place)
            values.append(value)
        return values

    def _check_bytes(self, where: str, info: TensorInfo, tensor: str, sizes: list[str], empty: str) -> None:
        """All elements have an address: what no memory can hold is refused, where the types do not tell it."""
        known = prod(size for size in info.shape or () if isinstance(size, int))
        told = [value for size, value in zip(info.shape or (), sizes, strict=True) if not isinstance(size, int)]
        if not told or not known:
            return
        code, element = self._code, abi.element_bytes(info.dtype)
        total, overflows = code.constant(known * element), []
        for value in told:
            total, overflow = code.checked("smul", total, value)
            overflows.append(overflow)
        fits = code.value(f"llvm.xor {code.any_of(overflows)}, {code.constant(1, 'i1')} : i1")
        message = (
            f"{where} expected sizes that memory can have, with elements of %lld bytes each, got rank %lld: shape %s"
        )
        failure = fail_shape(code, message, code.constant(element), code.constant(len(sizes)), tensor)
        code.require(code.any_of([fits, empty]), failure)

    def _meet(self, size: SymExpr, value: str, tensor: str, where: str, place: str) -> None:
        """A plain symbol that is new is defined; all others are checked when every symbol is known."""
        if size.variables == {str(size)} and not self._sizes.knows(size):
            self._define(size, value, tensor, where, place)
        else:
            self._agreements.append((size, value, tensor, where, place))

    def _define(self, size: SymExpr, value: str, tensor: str, where: str, place: str) -> None:
        self._require_size(value, tensor, where, place)
        origin = f"{where.partition(': ')[2]} {place}".rstrip()
        self._sizes.define(size, value, origin)

    def _require_size(self, value: str, tensor: str, where: str, place: str) -> None:
        zero = self._code.constant(0)
        message = f"{where} {place} expected a size of at least %lld, got %lld{_got_shape(tensor)}"
        at_least_zero = self._code.compare("sge", value, zero)
        self._code.require(at_least_zero, self._fail_size(message, zero, value, tensor))

    def _fail_size(self, message: str, wanted: str, got: str, tensor: str) -> str:
        if tensor:
            return fail_shape(self._code, message, wanted, got, tensor)
        return fail(self._code, "value", message, wanted, got)

    def _check_contiguous(self, where: str, tensor: str, sizes: list[str], strides: list[str], empty: str) -> None:
        """Row-major strides, or none; those of dimensions of size 1 and of empty tensors say nothing."""
        if not sizes:
            return
        code = self._code
        given = code.load(tensor, abi.DL_STRIDES, PTR)
        has_strides = code.value(f'llvm.icmp "ne" {given}, {code.null()} : {PTR}')
        compare, done = code.label(), code.label()
        code.line(f"llvm.cond_br {has_strides}, {compare}, {done}")
        code.line(f"{compare}:")
        differ = []
        for index, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
            other = code.compare("ne", code.load(given, 8 * index, "i64"), stride)
            more = code.compare("ne", size, code.constant(1))
            differ.append(code.value(f"llvm.and {other}, {more} : i1"))
        wrong = code.any_of(differ)
        right = code.value(f"llvm.xor {wrong}, {code.constant(1, 'i1')} : i1")
        message = f"{where} expected contiguous (row-major) memory, got strides that skip or permute elements"
        code.require(code.any_of([right, empty]), fail(code, "value", message))
        code.line(f"llvm.br {done}")
        code.line(f"{done}:")

    def _data_pointer(self, where: str, info: TensorInfo, tensor: str, empty: str) -> str:
        """Where the elements begin; the pointer's alignment is what the kernel's loads and stores assume."""
        code = self._code
        base = code.load(tensor, abi.DL_DATA, PTR)
        offset = code.load(tensor, abi.DL_OFFSET, "i64")
        data = code.value(f"llvm.getelementptr {base}[{offset}] : ({PTR}, i64) -> {PTR}, i8")
        alignment = max(self._alignment, abi.element_bytes(info.dtype))
        address = code.value(f"llvm.ptrtoint {data} : {PTR} to i64")
        low = code.value(f"llvm.and {address}, {code.constant(alignment - 1)} : i64")
        aligned = code.compare("eq", low, code.constant(0))
        there = code.value(f'llvm.icmp "ne" {base}, {code.null()} : {PTR}')
        inside = code.compare("ult", offset, code.constant(_ADDRESS_SPACE))
        code.require(code.any_of([there, empty]), fail(code, "value", f"{where} expected data, got a null pointer"))
        message = f"{where} expected a byte offset within memory, got %llu"
        code.require(code.any_of([inside, empty]), fail(code, "value", message, offset))
        message = f"{where} expected data aligned to %lld bytes, got an address %lld bytes off"
        failure = fail(code, "value", message, code.constant(alignment), low)
        code.require(code.any_of([aligned, empty]), failure)
        return data

    def _check_scalar(self, where: str, info: ScalarInfo, slot: str) -> Values:
        if is_float(info.dtype):
            return [(self._float(where, slot), "f64")]
        code = self._code
        index = code.load(slot, 0, "i32")
        is_truth = code.compare("eq", index, code.constant(abi.BOOL, "i32"), "i32")
        if is_bool(info.dtype):
            code.require(is_truth, fail_type(code, f"{where} expected a bool, got %.*s", index))
            payload = code.load(slot, abi.ANY_PAYLOAD, "i64")
            return [(code.compare("ne", payload, code.constant(0)), "i1")]
        is_int = code.compare("eq", index, code.constant(abi.INT, "i32"), "i32")
        accepted = code.any_of([is_int, is_truth])
        code.require(accepted, fail_type(code, f"{where} expected an int, got %.*s", index))
        value = code.load(slot, abi.ANY_PAYLOAD, "i64")
        self._check_range(where, info.dtype, value)
        if isinstance(info.value, SymExpr):
            self._meet(info.value, value, "", where, "")
        elif isinstance(info.value, int):
            wanted = code.constant(info.value)
            failure = fail(code, "value", f"{where} expected %lld, got %lld", wanted, value)
            code.require(code.compare("eq", value, wanted), failure)
        return [(value, "i64")]

    def _check_range(self, where: str, dtype: str, value: str) -> None:
        bits = bit_width(dtype)
        low = 0 if is_unsigned(dtype) else -(1 << bits - 1)
        high = min((1 << bits) - 1 if low == 0 else (1 << bits - 1) - 1, 2**63 - 1)
        if (low, high) == (-(2**63), 2**63 - 1):
            return
        code = self._code
        bounds = code.constant(low), code.constant(high)
        above = code.compare("sge", value, bounds[0])
        below = code.compare("sle", value, bounds[1])
        inside = code.value(f"llvm.and {above}, {below} : i1")
        message = f"{where} expected an int of type {dtype}, from %lld to %lld, got %lld"
        code.require(inside, fail(code, "value", message, *bounds, value))

    def _float(self, where: str, slot: str) -> str:
        """A float, or an int or bool made one."""
        code = self._code
        index = code.load(slot, 0, "i32")
        is_real = code.compare("eq", index, code.constant(abi.FLOAT, "i32"), "i32")
        whole = [code.compare("eq", index, code.constant(kind, "i32"), "i32") for kind in (abi.INT, abi.BOOL)]
        accepted = code.any_of([is_real, *whole])
        code.require(accepted, fail_type(code, f"{where} expected a float, got %.*s", index))
        payload = code.load(slot, abi.ANY_PAYLOAD, "i64")
        real = code.value(f"llvm.bitcast {payload} : i64 to f64")
        converted = code.value(f"llvm.sitofp {payload} : i64 to f64")
        return code.value(f"llvm.select {is_real}, {real}, {converted} : i1, f64")


def row_major(code: FunctionText, sizes: list[str]) -> list[str]:
    """The strides of contiguous memory."""
    strides = [code.constant(1)] * len(sizes)
    for index in reversed(range(1, len(sizes))):
        strides[index - 1] = code.value(f"llvm.mul {strides[index]}, {sizes[index]} : i64")
    return strides


def memref_values(code: FunctionText, data: str, sizes: list[str], strides: list[str]) -> Values:
    """What a memref is for a function, in upstream's convention."""
    numbers = [code.constant(0), *sizes, *strides]
    return [(data, PTR), (data, PTR), *((number, "i64") for number in numbers)]


def _got_shape(tensor: str) -> str:
    return ": shape %s" if tensor else ""


def _shape_text(info: TensorInfo) -> str:
    sizes = ["?" if size is None else str(size) for size in info.shape or ()]
    return f" {plain('(' + ', '.join(sizes) + (',)' if len(sizes) == 1 else ')'))}" if sizes else ""
