# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Entry functions: check the arguments, allocate the results and call the kernel.

The entry of a function `f` is `__tvm_ffi_f` and follows the packed-function ABI. The kernel takes the inputs, then the
results. Tensors are row-major memrefs, scalars are i64, f64, i1 or index, and objects are borrowed pointers to their
TVMFFIAny.

An object result is a pointer to a TVMFFIAny that is None before the call. The kernel stores a value there and transfers
the ownership. Tensors of data-dependent sizes are returned this way.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation, Type, Value
from ...bindings.mlir import ir, string_value
from ...bindings.navigation import function_type_of, symbol_name, text_in
from ...dialects.core.infos import Info, TensorInfo
from ...dialects.core.ir_attributes import DEVICE, ENTRY, KERNELS, OPERATOR
from ...dialects.core.symbols import SymExpr
from ...dialects.core.symbols_terms import Atom
from ...dialects.relax.function_attributes import LIST, VALUE
from ...dialects.tir import dialect as tir
from ...emit.memrefs import MOST_BYTES, below
from ...emit.numbers import Number, as_i64, as_index, number
from ...passes.memory.lower_calls.dynamic_sizes import Sizes
from ...support.suggest import counted
from . import abi
from .arguments import ArgumentChecks, Checked, CheckedTensor
from .graphs import GraphCall, may_have_graph
from .llvm_ops import address_of, behind, constant, load, mark_end, memref_at, stack, store, stored, type_of, view_of
from .signature import Passed, Signature
from .support import CONSTANT_TABLE, DEVICE_TABLE, SET_CONSTANTS, Support, cut, device_text, short

_COPYING = "; executable.copying() copies arrays to the device"
#: Bytes of the header of the argument copies, and bytes per copy (device_align).
_COPIES, _COPY = 16, 32


def add_entry(support: Support, signature: Signature, kernel: Operation, place: int = 0) -> None:
    """Add `__tvm_ffi_<name>` to the kernel's module, in the dialects func, arith, llvm, scf and tir.

    The pass host-lower-errors must run afterwards. `place` is the index of the function among the public functions.

    Raise RelaxError if a size cannot be computed.
    """
    name = signature.name
    with kernel.context, ir.Location.unknown(), ir.InsertionPoint.after(kernel):
        pointer = type_of("ptr")
        types = [pointer, pointer, type_of("i32"), pointer]
        attributes = {
            "sym_name": ir.StringAttr.get(abi.EXPORT_PREFIX + name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            ENTRY: ir.UnitAttr.get(),
            # Error messages begin with it.
            OPERATOR: ir.StringAttr.get(short(name)),
        }
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            _Entry(support, signature, kernel, place, list(block.arguments)).emit()
            ir.Operation.create("func.return")


def define_device(support: Support) -> None:
    """Define the device table by which entries and launches of a device program find the device."""
    attributes = support.module.attributes
    with support.module.context:
        kernels = len(attributes[KERNELS]) if KERNELS in attributes else 0
        kind = string_value(attributes[DEVICE])
        support.define(device_text(kernels, CONSTANT_TABLE in support, kind))


def is_entry(function: Operation) -> bool:
    """Check whether a function is an entry."""
    return ENTRY in function.attributes


class EntrySizes(Sizes):
    """Sizes of the callers' arguments. A wrong size raises a ValueError that names the size."""

    def _require_below(self, total: Number, size: SymExpr) -> None:
        fits, _ = below(total, MOST_BYTES)
        tir.ops["assert"](fits, [], kind="ValueError", message=f"the size '{short(str(size))}' does not fit in 64 bits")

    def _atom(self, atom: Atom, size: int | SymExpr) -> Number:
        for part in atom.args:
            if isinstance(part, SymExpr):
                self._require_fit(part)
        return super()._atom(atom, size)

    def _divisor(self, value: Number, size: int | SymExpr) -> Number:
        text = f"the size '{short(str(size))}' divides by a number that is not positive: {{}}"
        tir.ops["assert"](value > 0, [as_i64(value)], kind="ValueError", message=text)
        return value


class _Entry:
    def __init__(
        self, support: Support, signature: Signature, kernel: Operation, place: int, arguments: list[Value]
    ) -> None:
        self._support = support
        self._place = place
        self._signature = signature
        self._kernel = kernel
        _, self._args, self._count, self._result = arguments
        self._sizes = EntrySizes(signature.name)

    def emit(self) -> None:
        signature = self._signature
        self._check_arity()
        scope = self._enter_device()
        self._check_constants()
        on_device = scope is not None
        checks = ArgumentChecks(self._support, self._sizes, signature.name, on_device=on_device, hint=_COPYING)
        values: list[Checked] = []
        for position, input_ in enumerate(signature.inputs):
            values += checks.check(position, input_, behind(self._args, position * abi.ANY_SIZE))
        checks.check_agreement()
        # All sizes are computed before any allocation, so that failures up to here have nothing to free.
        outputs = [info for output in signature.outputs for info in output.infos]
        shapes = [self._shape(info) for info in outputs]
        results = self._slots(len(outputs))
        for position, info in enumerate(outputs):
            values.append(self._make_result(position, info, shapes[position], results[position]))
        kept = self._align(checks, values) if checks.places else None
        graph = self._call(values)
        if kept is not None:
            self._support.require("device_restore", address_of(DEVICE_TABLE), kept)
        given = self._grouped(results)
        self._give(given)
        for slot in results if given is results else [*results, *given]:
            tir.ops["release"](slot)
        for ended in (graph, kept, scope):
            if ended is not None:
                tir.ops["release"](ended)

    def _call(self, values: list[Checked]) -> Value | None:
        """Call the kernel, by a graph if the device supports one. Return the scope that ends with the call, or None."""
        tensors = [value for value in values if isinstance(value, CheckedTensor)]
        kind = text_in(self._support.module, DEVICE)
        if not may_have_graph(kind, self._signature, self._kernel):
            self._launch(values)
            return None
        graph = GraphCall(self._support, kind, self._signature, self._place, tensors)
        graph.run(self._launch, graph.begin())
        return graph.scope

    def _launch(self, values: Sequence[Checked]) -> None:
        types = function_type_of(self._kernel).inputs
        operands = [_passed(value, type_) for value, type_ in zip(values, types, strict=True)]
        callee = {"callee": ir.FlatSymbolRefAttr.get(symbol_name(self._kernel))}
        ir.Operation.create("func.call", operands=operands, attributes=callee)

    def _enter_device(self) -> Value | None:
        """Enter the device's context for this thread, if the program has a device.

        Every exit of the entry must release the returned scope.
        """
        if DEVICE_TABLE not in self._support:
            return None
        table = address_of(DEVICE_TABLE)
        self._support.require("device_enter", table)
        scope = view_of(table)
        mark_end(scope, "device_leave")
        self._support.require("device_check", scope)
        return scope

    def _align(self, checks: ArgumentChecks, values: list[Checked]) -> Value:
        """Copy tensors whose alignment the kernels cannot read.

        Return the state of the copies, which lives until the end of the call.
        """
        outs, described = zip(*checks.places, strict=True)
        block = stack(_COPIES + _COPY * len(outs))
        store(constant(0), block)
        kept = view_of(block)
        mark_end(kept, "device_unalign")
        numbers = self._support.numbers([number for each in described for number in each])
        operands = address_of(DEVICE_TABLE), constant(len(outs)), stored(outs), numbers, kept
        self._support.require("device_align", *operands)
        tensors = [(place, value.sizes) for place, value in enumerate(values) if isinstance(value, CheckedTensor)]
        for (place, sizes), out in zip(tensors, outs, strict=False):  # results follow the inputs
            values[place] = CheckedTensor(load(out, 0, type_of("ptr")), sizes)
        return kept

    def _check_arity(self) -> None:
        names = [input_.group.name for input_ in self._signature.inputs]
        listed = f" ({short(', '.join(names))})".replace("{}", "{ }") if names else ""
        message = f"expected {counted(len(names), 'argument')}{listed}, got {{}}"
        value = number(self._count).to("i64").value
        tir.ops["assert"]((number(value) == len(names)).value, [value], kind="TypeError", message=message)

    def _check_constants(self) -> None:
        """Reject calls before the loader has set the constants' addresses: they would read through a null pointer."""
        if CONSTANT_TABLE not in self._support:
            return
        first = load(address_of(CONSTANT_TABLE), 0, type_of("i64"))
        text = f"the program's constants are not set: call {SET_CONSTANTS} first"
        tir.ops["assert"]((number(first) != 0).value, [], kind="ValueError", message=text)

    def _slots(self, count: int) -> list[Value]:
        """Return consecutive slots for `count` values, each initialized to None. Every slot is released in the end."""
        if not count:
            return []
        block = stack(abi.ANY_SIZE * count)
        for offset in range(0, abi.ANY_SIZE * count, 8):
            store(constant(0), block, offset)
        return [view_of(block, abi.ANY_SIZE * position) for position in range(count)]

    def _shape(self, info: Info) -> list[int | Value]:
        sizes = (info.shape or ()) if isinstance(info, TensorInfo) else ()
        extents = [self._sizes.compute(size) for size in sizes if size is not None]
        return [size if isinstance(size, int) else as_i64(size).value for size in extents]

    def _make_result(self, position: int, info: Info, shape: list[int | Value], slot: Value) -> Checked:
        """Allocate a tensor for a result."""
        if not isinstance(info, TensorInfo):
            return slot
        makers = self._signature.makers
        made = f" ({cut(makers[position])})" if makers and makers[position] else ""
        operands = self._support.text(self._label(position) + made), *_described(info), stored(shape), slot
        if DEVICE_TABLE in self._support:
            self._support.require("device_allocate", address_of(DEVICE_TABLE), *operands)
        else:
            self._support.require("allocate", *operands)
        return CheckedTensor(self._support.value("data", slot), shape)

    def _label(self, position: int) -> str:
        return f"{self._signature.name}: result #{position}"

    def _grouped(self, results: list[Value]) -> list[Value]:
        """Return the callers' results: plain values, arrays for lists, or None."""
        outputs, call = self._signature.outputs, self._support.call
        if all(output.group.kind == VALUE and not output.group.is_optional for output in outputs):
            return results
        given, rest = self._slots(len(outputs)), iter(results)
        for position, (passed, slot) in enumerate(zip(outputs, given, strict=True)):
            own = [next(rest) for _ in passed.infos]
            flag = own.pop(0) if passed.group.is_optional else None
            if passed.group.kind == LIST:
                self._make_list(passed, position, own, slot)
            elif own:
                call("move", own[0], slot)
            if flag is not None:
                if DEVICE_TABLE in self._support:
                    self._support.require("device_keep_if", address_of(DEVICE_TABLE), flag, slot)
                else:
                    self._support.call("keep_if", flag, slot)
        return given

    def _make_list(self, passed: Passed, position: int, items: list[Value], slot: Value) -> None:
        if passed.rest is None:
            self._support.require("make_array", items[0] if items else slot, constant(len(items), 32), slot)
            return
        label, count = self._support.text(self._label(position)), constant(len(items) - 2)
        operands = label, items[0], count, *_described(passed.rest), slot
        if DEVICE_TABLE in self._support:
            self._support.require("device_separate", address_of(DEVICE_TABLE), *operands)
        else:
            self._support.require("separate", *operands)

    def _give(self, results: list[Value]) -> None:
        """Store a single result directly, and several results as an array."""
        if not results:
            for offset in (0, abi.ANY_PAYLOAD):
                store(constant(0), self._result, offset)
        elif len(results) == 1:
            self._support.call("move", results[0], self._result)
        else:
            self._support.require("make_array", results[0], constant(len(results), 32), self._result)


def _described(info: TensorInfo) -> tuple[Value, Value, Value]:
    """Return the rank, the element type and the bytes of an element."""
    rank, dtype = constant(len(info.shape or ()), 32), constant(abi.dlpack_dtype(info.dtype), 32)
    return rank, dtype, constant(abi.element_bytes(info.dtype))


def _passed(value: Checked, type_: Type) -> Value:
    """Return a value as the kernel takes it."""
    if isinstance(value, CheckedTensor):
        return memref_at(value.data, type_, value.sizes)
    return as_index(value).value if isinstance(type_, ir.IndexType) else value
