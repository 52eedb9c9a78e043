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
from ...bindings.errors import RelaxError
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import Dim
from . import abi
from .llvm_text import PTR, FunctionText, call_text, check_function, merge
from .packed_allocate import ALLOCATE, ALLOCATION
from .packed_args import ArgumentChecks, Values, memref_values, row_major
from .packed_call import global_function_text
from .packed_fail import fail, plain
from .packed_support import CALL_GLOBAL, RELEASE, SUPPORT
from .signature import Result, Signature
from .size_code import Sizes

_MAKE_ARRAY = "ffi.Array"  # tvm-ffi's own function: an array of its arguments


def add_packed_entry(module: Any, signature: Signature, *, alignment: int = 1) -> None:
    """Adds `__tvm_ffi_<name>` to a module of the LLVM dialect that defines `<name>_impl`.

    `alignment` is what the kernel needs of the inputs' data, in bytes, a power of two; an element's size is checked
    in any case. Raises RelaxError where the kernel is missing or has another type, or a size cannot be computed.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise RelaxError(f"alignment {alignment} is no power of two")
    load_dialects(module.context, ("llvm",))
    entry = _Entry(signature, alignment)
    text = entry.render()
    check_function(module, entry.kernel, entry.kernel_type(), f"the entry of '{signature.name}'")
    merge(module, text)


def kernel_name(function: str) -> str:
    """The function that the entry calls."""
    return f"{function}_impl"


class _Entry:
    def __init__(self, signature: Signature, alignment: int) -> None:
        self.kernel = kernel_name(signature.name)
        self._signature = signature
        self._alignment = alignment
        self._kernel_types: list[str] = []
        parameters = [("%handle", PTR), ("%args", PTR), ("%count", "i32"), ("%result", PTR)]
        self._code = FunctionText(abi.EXPORT_PREFIX + signature.name, parameters, "i32")

    def kernel_type(self) -> str:
        """The type that the kernel must have. After render()."""
        return f"!llvm.func<i32 ({', '.join(type_.removeprefix('!llvm.') for type_ in self._kernel_types)})>"

    def render(self) -> str:
        signature, code = self._signature, self._code
        self._check_arity()
        sizes = Sizes(code, signature.name)
        checks = ArgumentChecks(code, sizes, signature.name, self._alignment)
        values: Values = []
        for position, (name, info) in enumerate(signature.inputs):
            values += checks.check(position, name, info, "%args")
        checks.check_agreement()
        # All sizes before any allocation: what fails here has nothing to give back.
        shapes = [[sizes.compute(_known(size)) for size in _shape(info)] for info in signature.outputs]
        results = self._results()
        for position, info in enumerate(signature.outputs):
            values += self._make_result(position, info, shapes[position], results)
        self._kernel_types = [type_ for _, type_ in values]
        self._require_success(code.call(self.kernel, values, "i32"), results)
        self._give(results)
        declared = f'llvm.func @"{self.kernel}"({", ".join(self._kernel_types)}) -> i32'
        allocation = ALLOCATION if any(isinstance(info, TensorInfo) for info in signature.outputs) else ""
        arrays = global_function_text(_MAKE_ARRAY) if len(results) > 1 else ""
        return "\n".join([SUPPORT, allocation, arrays, declared, code.render()])

    def _check_arity(self) -> None:
        code, names = self._code, [name for name, _ in self._signature.inputs]
        wanted = code.constant(len(names))
        got = code.value("llvm.sext %count : i32 to i64")
        noun = "argument" if len(names) == 1 else "arguments"
        listed = f" ({plain(', '.join(names))})" if names else ""
        message = f"{plain(self._signature.name)}: expected %lld {noun}{listed}, got %lld"
        code.require(code.compare("eq", got, wanted), fail(code, "type", message, wanted, got))

    def _results(self) -> list[str]:
        """A TVMFFIAny for each result, None at first, one behind the other."""
        code, count = self._code, len(self._signature.outputs)
        block = code.stack(abi.ANY_SIZE * count)
        results = [code.at(block, abi.ANY_SIZE * position) for position in range(count)]
        for result in results:
            code.store(code.constant(abi.NONE), "i64", result)
        return results

    def _make_result(self, position: int, info: Result, sizes: list[str], results: list[str]) -> Values:
        """Allocates a tensor for a result; what the kernel gets for it."""
        code, result = self._code, results[position]
        if not isinstance(info, TensorInfo):
            return [(result, PTR)]
        shape = code.stack(8 * len(sizes))
        for index, size in enumerate(sizes):
            code.store(size, "i64", shape, 8 * index)
        arguments = [
            (code.text(f"{self._signature.name}: result #{position}"), PTR),
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
            words = [code.load(results[0], offset, "i64") for offset in (0, 8)] if results else [code.constant(0)] * 2
            for index, word in enumerate(words):
                code.store(word, "i64", "%result", 8 * index)
            code.line(f"llvm.return {code.constant(0, 'i32')} : i32")
            return
        count = code.constant(len(results), "i32")
        arguments = [(results[0], PTR), (count, "i32"), ("%result", PTR)]
        status = code.call(f"{CALL_GLOBAL}.{_MAKE_ARRAY}", arguments, "i32")
        for result in results:
            code.call(RELEASE, [(result, PTR)])
        code.line(f"llvm.return {status} : i32")


def _shape(info: Result) -> tuple[Dim, ...]:
    return (info.shape or ()) if isinstance(info, TensorInfo) else ()


def _known(size: Any) -> Any:
    assert size is not None  # refused by the signature
    return size
