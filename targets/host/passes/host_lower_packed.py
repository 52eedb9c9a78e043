# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of packed calls to the ABI, of results that a function creates itself, and of random keys."""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Type, Value
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import operations_in_functions, text_in
from ....bindings.rewriting import located_error, replace_op
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, ObjectInfo, ScalarInfo, TensorInfo, is_float
from ....dialects.core.ir_attributes import CALLS, DEVICE, EXTERNAL_MODS, PACKED_DTYPES, PACKED_TEXT, PACKED_TYPES
from ....dialects.tir import dialect as tir
from ....emit import memrefs
from ....emit.arithmetic import convert
from ....emit.linalg import product
from ....emit.numbers import as_i64, as_index, number
from ....passes.core.base import Pass
from ....passes.core.external import CODEGENS
from ....passes.core.registry import register_pass
from ....passes.memory.lower_calls.dynamic_sizes import Sizes
from ....passes.memory.lower_calls.scalar_arguments import pass_scalar, receive
from ....support.errors import RelaxError
from .. import abi
from ..arguments import ArgumentChecks, CheckedTensor
from ..llvm_ops import address_of, behind, constant, load, memref_at, pointer_of, stack, stored, type_of, view_of
from ..signature import single
from ..support import DEVICE_TABLE, Support, native_function_text, table_text

FUNCTION_TABLE, SET_FUNCTIONS = "__relax_functions", "__relax_set_functions"
NATIVE_FUNCTION = "__relax_native_function"


@register_pass
class LowerPacked(Pass):
    """Lower calls of packed functions to the ABI, and return results that the function itself creates."""

    name: ClassVar[str] = "host-lower-packed"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "llvm")

    def run(self, op: Operation) -> None:
        support = _PackedProgram(op)
        for inside in operations_in_functions(op, *_LOWERINGS):
            with op.context, inside.location, ir.InsertionPoint(inside):
                try:
                    results = _LOWERINGS[inside.name](support, inside)
                except RelaxError as error:
                    raise located_error(error.message, inside.location) from None
            replace_op(inside, results)
        with op.context, op.location:
            support.add_table()


class _PackedProgram(Support):
    """Module with packed calls, and its table of functions.

    The loader fills the table with the functions that come with the program. Other functions are looked up by name in
    the registry at their first call.
    """

    def __init__(self, module: Operation) -> None:
        super().__init__(module)
        self._functions: list[str] = []
        self._device = text_in(module, DEVICE)
        parts = module.attributes.get(EXTERNAL_MODS, ())
        #: Codegens by the names of the parts they compiled.
        self._codegens = {string_value(part["name"]): string_value(part["codegen"]) for part in parts}

    def function(self, name: str) -> list[Value]:
        """Return the address of a function's slot in the table, the function's name, and the length of the name."""
        self._check_part(name)
        if name not in self._functions:
            self._functions.append(name)
        place = behind(address_of(FUNCTION_TABLE), 8 * self._functions.index(name))
        return [place, self.text(name), constant(len(name))]

    def _check_part(self, name: str) -> None:
        """Reject a codegen that cannot access the program's tensors.

        The codegen would dereference addresses of another device.
        """
        part, device = name.rpartition(".")[0], self._device or "cpu"
        if (codegen := self._codegens.get(part)) is None:
            return
        # Programs without such parts import no codegen.
        from ....passes.graph.partition.codegen import Codegen, find_codegen

        devices = find_codegen(codegen).devices if CODEGENS.find(codegen) else Codegen.devices
        if device not in devices:
            raise RelaxError(
                f"part '{part}' is of codegen '{codegen}', which works on memory of {' and '.join(devices)}, and the "
                f"program's tensors are on {device}: leave the codegen out for this target, or give it "
                f"devices = ('{device}',) where its functions take such tensors"
            )

    def add_table(self) -> None:
        if self._functions:
            self.define(table_text(FUNCTION_TABLE, SET_FUNCTIONS, len(self._functions)))
            self.define(native_function_text(NATIVE_FUNCTION))
            names = [ir.StringAttr.get(name) for name in self._functions]
            self.module.attributes[CALLS] = ir.ArrayAttr.get(names)


def _packed(support: _PackedProgram, op: Operation) -> list[Value]:
    dtypes = [string_value(each) for each in op.attributes[PACKED_DTYPES]]
    infos = [_argument_info(value, dtype) for value, dtype in zip(op.operands, dtypes, strict=True)]
    results = [decode(ir.TypeAttr(each).value) for each in op.attributes[PACKED_TYPES]]
    return _call(support, op, infos, results[0] if results else None)


def _call_packed(support: _PackedProgram, op: Operation) -> list[Value]:
    """Lower tir.call_packed, from PrimFuncs. Memrefs have no signedness there."""
    infos = [_argument_info(value, "") for value in op.operands]
    return _call(support, op, infos, decode(op.results[0].type) if len(op.results) else None)


def _call(support: _PackedProgram, op: Operation, infos: list[Info], result: Info | None) -> list[Value]:
    """Call a function with the operands, preceded by a text if the operation has one (__relax_call)."""
    name = string_value(op.attributes["func"])
    kinds, words = [], []
    borrowed: list[Value] = []
    if PACKED_TEXT in op.attributes:
        kinds.append((abi.RAW_STRING, 0, 0))
        words.append(support.text(string_value(op.attributes[PACKED_TEXT])))
    for value, info in zip(op.operands, infos, strict=True):
        if isinstance(info, TensorInfo) and DEVICE_TABLE in support:
            borrowed.append(_borrow(support, value, info))
            value, info = borrowed[-1], ObjectInfo()
        kinds.append(_kind(info))
        words += _words(value, info)
    any_ = stored([0, 0])
    numbers = [support.numbers([number for kind in kinds for number in kind]), constant(len(kinds), 32)]
    support.require("call", *support.function(name), *numbers, stored(words), any_)
    # A separate value: the release of live values must not see the slot before it contains an object.
    view = view_of(any_)
    for each in borrowed:
        support.require("device_end_borrow", support.text(name), each)
        tir.ops["release"](each)
    if isinstance(result, ObjectInfo):
        return [view]
    taken = [] if result is None else [_take(support, op, name, result, view)]
    tir.ops["release"](view)
    return taken


def _borrow(support: Support, memref: Value, info: TensorInfo) -> Value:
    """Return an object for a device tensor, valid during a call."""
    any_ = stored([0, 0])
    described = constant(len(info.shape or ()), 32), constant(abi.dlpack_dtype(info.dtype), 32)
    operands = *described, stored(_sizes(memref)), pointer_of(memref), any_
    support.require("device_borrow", address_of(DEVICE_TABLE), *operands)
    return view_of(any_)


def _take(support: Support, op: Operation, name: str, result: Info, any_: Value) -> Value:
    """Check a function's result and return it. A tensor is copied into memory that memref.dealloc frees."""
    asked = _without_symbols(result) if isinstance(result, TensorInfo) else result
    on_device = DEVICE_TABLE in support
    checks = ArgumentChecks(support, Sizes(), name, "result", on_device=on_device)
    (value,) = checks.check(0, single(asked), any_)
    type_ = op.results[0].type
    if not isinstance(value, CheckedTensor):
        return _scalar(value, type_)
    assert isinstance(asked, TensorInfo)
    copy, bytes_ = stack(8), constant(abi.element_bytes(asked.dtype))
    if on_device:
        support.require("device_take_tensor", address_of(DEVICE_TABLE), support.text(name), any_, bytes_, copy)
    else:
        support.require("take_tensor", any_, bytes_, copy)
    return memref_at(load(copy, 0, type_of("ptr")), type_, value.sizes)


def _without_symbols(info: TensorInfo) -> TensorInfo:
    """Drop symbolic sizes. The code that knows the symbols compares them."""
    return info.with_shape([dim if isinstance(dim, int) else None for dim in info.shape or ()])


def _argument_info(value: Value, dtype: str) -> Info:
    if isinstance(type_ := value.type, ir.MemRefType):
        return TensorInfo((None,) * type_.rank, dtype or str(type_.element_type))
    if isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType)):
        return ScalarInfo(dtype or str(type_))
    return ObjectInfo()


def _kind(info: Info) -> tuple[int, int, int]:
    if isinstance(info, TensorInfo):
        return abi.TENSOR, len(info.shape or ()), abi.dlpack_dtype(info.dtype)
    if isinstance(info, ScalarInfo):
        return abi.FLOAT if is_float(info.dtype) else abi.BOOL if info.dtype == "i1" else abi.INT, 0, 0
    return abi.OBJECT, 0, 0


def _words(value: Value, info: Info) -> list[Value]:
    if isinstance(info, TensorInfo):
        return [pointer_of(value), *_sizes(value)]
    if not isinstance(info, ScalarInfo):
        return [value]
    if is_float(info.dtype):
        return [pass_scalar(value, info)]
    if isinstance(value.type, ir.IndexType):
        return [as_i64(value).value]
    if value.type.width == 64:
        return [value]
    return [number(value).of(info.dtype).to("i64").value]


def _sizes(memref: Value) -> list[Value]:
    return [as_i64(memrefs.dim(memref, axis)).value for axis in range(memref.type.rank)]


def _scalar(value: Value, type_: Type) -> Value:
    """Convert a result: floats arrive as f64, integers as i64."""
    if isinstance(type_, ir.FloatType):
        return receive(value, ScalarInfo(str(type_)))
    if isinstance(type_, ir.IndexType):
        return as_index(value).value
    return value if value.type == type_ else convert("arith.trunci", number(value), type_).value


def _give_tensor(support: Support, op: Operation) -> list[Value]:
    source, place = op.operands
    rank, dtype = source.type.rank, op.opview.dtype
    described = constant(rank, 32), constant(abi.dlpack_dtype(dtype), 32), constant(abi.element_bytes(dtype))
    sizes, label = stored(_sizes(source)), support.text("result")
    if DEVICE_TABLE not in support:
        support.require("give_tensor", label, *described, sizes, pointer_of(source), place)
        return []
    table = address_of(DEVICE_TABLE)
    support.require("device_allocate", table, label, *described, sizes, place)
    bytes_ = as_i64(product(memrefs.dims(source))) * abi.element_bytes(dtype)
    support.require("device_copy", table, support.value("data", place), pointer_of(source), bytes_.value)
    return []


def _give_object(support: Support, op: Operation) -> list[Value]:
    support.require("give_object", *op.operands)
    return []


def _random_key(support: _PackedProgram, op: Operation) -> list[Value]:
    return [support.value("random_key")]


_LOWERINGS = {
    "tir.packed": _packed,
    "tir.call_packed": _call_packed,
    "tir.give_tensor": _give_tensor,
    "tir.give_object": _give_object,
    "tir.random_key": _random_key,
}
