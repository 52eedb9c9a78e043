# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function that callers see: checks the arguments, allocates the results and calls the kernel.

For a function `f` this is `__tvm_ffi_f`. The kernel is `f_impl` in the same module. It takes, for each input and
then each result, what upstream's conversion makes of a memref with the identity layout (pointer, aligned pointer,
offset, sizes, strides); scalars come as i64, f64 or i1, objects as a pointer to their TVMFFIAny, borrowed. A result
that is an object is a pointer to a TVMFFIAny, None, in which the kernel leaves a value that it owns: this is how
tensors are returned whose size the data decide. It returns an i32: 0, or another number when it has set an error.
"""

from __future__ import annotations

from typing import Any

from ...bindings.context import load_dialects
from ...dialects.core.infos import ObjectInfo, TensorInfo
from ...dialects.core.symbols import Dim
from ...support.errors import RelaxError
from . import abi
from .arguments import ArgumentChecks, Values, memref_values, row_major
from .llvm_text import PTR, FunctionText, call_text, check_function, has_symbol, merge
from .packed_allocate import ALLOCATE
from .packed_call import CONSTANT_TABLE, SET_CONSTANTS
from .packed_fail import cut, fail, plain
from .packed_support import RELEASE
from .results import keep_if, make_array, make_list, support_text
from .signature import ListInfo, OptionalInfo, Result, Signature, single
from .size_code import Sizes
from .support import DECLARATIONS


def add_packed_entry(module: Any, signature: Signature, *, alignment: int = 1) -> None:
    """Adds `__tvm_ffi_<name>` to a module of the LLVM dialect that defines `<name>_impl`.

    `alignment` is what the kernel needs of the inputs' data, in bytes, a power of two; an element's size is checked
    in any case. Raises RelaxError where the kernel is missing or has another type, or a size cannot be computed.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise RelaxError(f"alignment {alignment} is no power of two")
    load_dialects(module.context, ("llvm",))
    entry = _Entry(signature, alignment, has_symbol(module, CONSTANT_TABLE))
    text = entry.render()
    check_function(module, entry.kernel, entry.kernel_type(), f"the entry of '{signature.name}'")
    merge(module, text)


def kernel_name(function: str) -> str:
    """The function that the entry calls."""
    return f"{function}_impl"


class _Entry:
    def __init__(self, signature: Signature, alignment: int, needs_constants: bool) -> None:
        self.kernel = kernel_name(signature.name)
        self._signature = signature
        self._alignment = alignment
        self._needs_constants = needs_constants
        self._kernel_types: list[str] = []
        parameters = [("%handle", PTR), ("%args", PTR), ("%count", "i32"), ("%result", PTR)]
        self._code = FunctionText(abi.EXPORT_PREFIX + signature.name, parameters, "i32")

    def kernel_type(self) -> str:
        """The type that the kernel must have. After render()."""
        return f"!llvm.func<i32 ({', '.join(type_.removeprefix('!llvm.') for type_ in self._kernel_types)})>"

    def render(self) -> str:
        signature, code = self._signature, self._code
        self._check_arity()
        self._check_constants()
        sizes = Sizes(code, signature.name)
        checks = ArgumentChecks(code, sizes, signature.name, self._alignment)
        values: Values = []
        for position, (name, info) in enumerate(signature.inputs):
            values += checks.check(position, name, info, "%args")
        checks.check_agreement()
        # All sizes before any allocation: what fails here has nothing to give back.
        outputs = list(single(signature.outputs))
        shapes = [[sizes.compute(_known(size)) for size in _shape(info)] for info in outputs]
        results = self._slots(len(outputs))
        for position, info in enumerate(outputs):
            values += self._make_result(position, info, shapes[position], results)
        self._kernel_types = [type_ for _, type_ in values]
        self._require_success(code.call(self.kernel, values, "i32"), results)
        self._give(self._grouped(results))
        declared = f'llvm.func @"{self.kernel}"({", ".join(self._kernel_types)}) -> i32'
        table = f"llvm.mlir.global external @{CONSTANT_TABLE}() : {PTR}" if self._needs_constants else ""
        return "\n".join([DECLARATIONS, support_text(signature.outputs), declared, table, code.render()])

    def _check_arity(self) -> None:
        code, names = self._code, [name for name, _ in self._signature.inputs]
        wanted = code.constant(len(names))
        got = code.value("llvm.sext %count : i32 to i64")
        noun = "argument" if len(names) == 1 else "arguments"
        listed = f" ({plain(', '.join(names))})" if names else ""
        message = f"{plain(self._signature.name)}: expected %lld {noun}{listed}, got %lld"
        code.require(code.compare("eq", got, wanted), fail(code, "type", message, wanted, got))

    def _check_constants(self) -> None:
        """Whoever loads code must tell it where its constants are: nobody follows a null pointer."""
        if not self._needs_constants:
            return
        code = self._code
        first = code.load(code.address_of(CONSTANT_TABLE), 0, PTR)
        are_set = code.value(f'llvm.icmp "ne" {first}, {code.null()} : {PTR}')
        text = f"{plain(self._signature.name)}: the program's constants are not set: call {SET_CONSTANTS} first"
        code.require(are_set, fail(code, "value", text))

    def _slots(self, count: int) -> list[str]:
        """Places for as many TVMFFIAny, None at first, one behind the other."""
        code = self._code
        block = code.stack(abi.ANY_SIZE * count)
        slots = [code.at(block, abi.ANY_SIZE * position) for position in range(count)]
        for slot in slots:
            for offset in (0, abi.ANY_PAYLOAD):
                code.store(code.constant(0), "i64", slot, offset)
        return slots

    def _grouped(self, results: list[str]) -> list[str]:
        """What the caller gets: results as they are, arrays of those that make up a list, None."""
        outputs = self._signature.outputs
        if all(isinstance(info, (TensorInfo, ObjectInfo)) for info in outputs):
            return results
        code, given, first = self._code, self._slots(len(outputs)), 0
        moved: list[tuple[str, str]] = []
        spent: list[str] = []
        flags: list[tuple[str, str]] = []
        for position, (info, slot) in enumerate(zip(outputs, given, strict=True)):
            own = results[first : first + len(list(single([info])))]
            first += len(own)
            if isinstance(info, OptionalInfo):
                flags.append((own[0], slot))
                info, own = info.held, own[1:]
            if isinstance(info, ListInfo):
                status = make_list(code, info, self._label(position), own, slot)
                self._require_success(status, [*results, *given])
                spent += own
            else:
                moved += [(each, slot) for each in own]
        # From here on nothing fails.
        for source, slot in moved:
            self._move(source, slot)
        for flag, slot in flags:
            keep_if(code, flag, slot)
        for result in (*spent, *(flag for flag, _ in flags)):
            code.call(RELEASE, [(result, PTR)])
        return given

    def _label(self, position: int) -> str:
        return f"{self._signature.name}: result #{position}"

    def _move(self, source: str, slot: str) -> None:
        code = self._code
        for offset in (0, abi.ANY_PAYLOAD):
            code.store(code.load(source, offset, "i64"), "i64", slot, offset)

    def _make_result(self, position: int, info: Result, sizes: list[str], results: list[str]) -> Values:
        """Allocates a tensor for a result; what the kernel gets for it."""
        code, result = self._code, results[position]
        if not isinstance(info, TensorInfo):
            return [(result, PTR)]
        shape = code.stack(8 * len(sizes))
        for index, size in enumerate(sizes):
            code.store(size, "i64", shape, 8 * index)
        makers = self._signature.makers
        made = f" ({cut(makers[position])})" if makers and makers[position] else ""
        arguments = [
            (code.text(self._label(position) + made), PTR),
            (code.constant(len(sizes), "i32"), "i32"),
            (code.constant(abi.dlpack_dtype(info.dtype), "i32"), "i32"),
            (code.constant(abi.element_bytes(info.dtype)), "i64"),
            (shape, PTR),
            (code.at(result, abi.ANY_PAYLOAD), PTR),
        ]
        self._require_success(code.call(ALLOCATE, arguments, "i32"), results[:position])
        code.store(code.constant(abi.TENSOR), "i64", result)
        tensor = code.at(code.load(result, abi.ANY_PAYLOAD, PTR), abi.OBJECT_HEADER)
        base = code.load(tensor, abi.DL_DATA, PTR)
        offset = code.load(tensor, abi.DL_OFFSET, "i64")
        data = code.value(f"llvm.getelementptr {base}[{offset}] : ({PTR}, i64) -> {PTR}, i8")
        return memref_values(code, data, sizes, row_major(code, sizes))

    def _require_success(self, status: str, results: list[str]) -> None:
        """Goes on if the status is 0; else gives the results so far back and returns -1."""
        code = self._code
        success = code.compare("eq", status, code.constant(0, "i32"), "i32")
        failure = code.constant(-1, "i32")
        releases = [call_text(RELEASE, [(result, PTR)]) for result in results]
        code.branch_unless(success, [*releases, f"llvm.return {failure} : i32"])

    def _give(self, results: list[str]) -> None:
        """One result as it is, several as an array."""
        code = self._code
        if len(results) < 2:
            self._move(results[0] if results else self._slots(1)[0], "%result")
            code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
            return
        status = make_array(code, results, "%result")
        for result in results:
            code.call(RELEASE, [(result, PTR)])
        code.line(f"llvm.return {status} : i32")


def _shape(info: Result) -> tuple[Dim, ...]:
    return (info.shape or ()) if isinstance(info, TensorInfo) else ()


def _known(size: Any) -> Any:
    assert size is not None  # refused by the signature
    return size
