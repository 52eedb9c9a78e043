# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of one graph function to a function on memrefs: inputs, then results, which the function writes.

A result of data-dependent size is an `!llvm.ptr` to the caller's place for the tensor, which tir.give_tensor fills.
The types of the graph function are kept as attributes, for external callers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.ir import Operation, SymbolTable, Type, Value
from ....bindings.mlir import ir, string_array
from ....bindings.navigation import body_of, last_of, operations_of, symbol_name
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.infos import Info, ObjectInfo, ScalarInfo, ShapeInfo, TensorInfo, describe
from ....dialects.core.ir_attributes import ARENA, COUNTED, GRAPH_INPUTS, GRAPH_RESULTS, INPUT_NAMES, RESULT_MAKERS
from ....dialects.core.size_bounds import allowed_ranges, size_bounds, symbol_ranges
from ....dialects.core.symbols import SymExpr
from ....dialects.graph_functions import input_symbols, is_sized
from ....dialects.relax.function_attributes import argument_names
from ....dialects.tir import dialect as tir
from ....emit import memrefs, numbers
from ....emit.numbers import Size, is_same
from . import scalar_arguments
from .dynamic_sizes import Sizes, round_up
from .memory_notes import note_plan
from .memory_plan import MemoryPlan, is_small
from .planned_buffer import PlannedBuffer, dims_of
from .sites import maker

#: Lowered value: a memref for a tensor, the list of sizes for a shape, otherwise the value itself.
Lowered = Value | list[Size]
#: Emits code for one operation.
Lower = Callable[["FunctionLowering", Operation], None]


class FunctionLowering:
    """State of a function's lowering, operation by operation."""

    def __init__(self, function: Operation, lower: Lower, plan: MemoryPlan):
        """Prepare the lowering. `lower` emits the code of an operation."""
        self.function = function
        self._lower = lower
        self.context = function.context
        self.name = symbol_name(function)
        self._body = body_of(function)
        self.sizes = Sizes()
        self.plan = plan
        self._values: dict[Value, Lowered] = {}
        self._outputs: list[Value] = []
        #: The arena, if any buffer is placed in it.
        self._arena: Value
        self._slots: list[Size] = []
        #: Stack buffers in use.
        self._stack: dict[PlannedBuffer, Value] = {}
        #: Buffers that have been allocated separately.
        self._own: dict[PlannedBuffer, Value] = {}
        #: Memory of an outer block for a buffer, in place of its own.
        self.wanted: dict[PlannedBuffer, Value] = {}
        #: Memory to release at the end of blocks, innermost block last.
        self.owned: list[list[Value]] = []

    # ---- values ----

    def lowered(self, value: Value) -> Lowered:
        return self._values[value]

    def get(self, value: Value) -> Value:
        """Return a lowered value that is not a shape."""
        lowered = self._values[value]
        assert not isinstance(lowered, list), value
        return lowered

    def sizes_of(self, shape: Value) -> list[Size]:
        lowered = self._values[shape]
        assert isinstance(lowered, list), shape
        return lowered

    def set(self, value: Value, lowered: Lowered) -> None:
        self._values[value] = lowered

    def extents(self, info: TensorInfo) -> list[Size]:
        """Return the sizes of a tensor, computed here."""
        return [self.sizes.compute(dim) for dim in info.shape or () if dim is not None]

    def new_tensor(self, value: Value) -> Value:
        """Return the memory for a result."""
        self._values[value] = memref = self._place(self.plan.buffers[value], value)
        return memref

    def _place(self, buffer: PlannedBuffer, value: Value) -> Value:
        info = buffer.info
        root = buffer.root
        if root.output is not None and root.is_divided and buffer is not root:
            element = memrefs.memref_type(info, self.context).element_type
            start = self.sizes.place(buffer.start)
            return memrefs.view(memrefs.as_bytes(self._outputs[root.output]), start, self.extents(info), element)
        if root.output is not None:
            is_whole = memrefs.is_same_shape(info, self._results[root.output])
            return memrefs.reshape_if_needed(self._outputs[root.output], self.extents(info), is_whole)
        if [dim for dim in dims_of(info) if not self.sizes.knows(dim)]:
            raise located_error(
                f"'{value.owner.name}' op's result ({describe(info)}) has a size that is unknown before it is made",
                value.owner.location,
            )
        element = memrefs.memref_type(info, self.context).element_type
        extents = self.extents(info)
        if root in self.wanted:
            return memrefs.reshape_if_needed(self.wanted[root], extents)
        begin = root.offset if root.slot is None else self._slots[root.slot]
        if begin is not None:
            return memrefs.view(self._arena, begin + self.sizes.place(buffer.start), extents, element)
        if root.is_on_stack and root.is_divided:
            return memrefs.view(self._allocate_on_stack(root), self.sizes.place(buffer.start), extents, element)
        if root.is_on_stack:
            return memrefs.reshape_if_needed(self._allocate_on_stack(root), extents)
        if root in self._own:
            return memrefs.reshape_if_needed(self._own[root], extents)
        self.sizes.require_room(extents, element, memrefs.shape_text(info))
        memref = self.own(memrefs.allocate(extents, element))
        memref.owner.attributes[COUNTED] = ir.UnitAttr.get()
        self._own[root] = memref
        return memref

    def _allocate_on_stack(self, root: PlannedBuffer) -> Value:
        """Return a stack buffer, allocated at the function's entry."""
        if root not in self._stack:
            with ir.InsertionPoint.at_block_begin(self._arguments[0].owner):
                memref = memrefs.on_stack(memrefs.memref_type(root.info, self.context))
                self._stack[root] = memrefs.as_bytes(memref) if root.is_divided else memref
        return self._stack[root]

    def is_small(self, type_: Type) -> bool:
        """Check whether memory of a type belongs on the stack."""
        if not self.plan.has_stack or not type_.has_static_shape:
            return False
        return is_small(memrefs.byte_count(type_.shape, type_.element_type))

    def new_slot(self, extents: Sequence[Size], element: Type) -> Value:
        """Allocate memory for the innermost block's duration, on the stack if it is small."""
        type_ = memrefs.typed(extents, element)
        if self.is_small(type_):
            return memrefs.on_stack(type_)
        return self.own(memrefs.allocate(extents, element))

    def writable(self, value: Value) -> Value:
        """Return writable memory of a tensor. A constant is copied."""
        memref = self.get(value)
        return self.own(memrefs.copied(memref)) if memrefs.is_constant(memref) else memref

    def own(self, memref: Value) -> Value:
        """Register memory for release at the end of the innermost block, and return it."""
        self.owned[-1].append(memref)
        return memref

    # ---- the function ----

    def run(self) -> Operation:
        """Create the lowered function before the graph function, and erase the latter."""
        with self.context, self.function.location, ir.InsertionPoint(self.function):
            lowered = self._declare()
        with self.context, self.function.location, ir.InsertionPoint(body_of(lowered)):
            self._begin()
            self.lower_all(operations_of(self._body))
        self.function.erase()
        return lowered

    def _declare(self) -> Operation:
        inputs = [decode(argument.type) for argument in self._body.arguments]
        symbols = input_symbols(inputs)
        function_type = self.function.attributes["function_type"].value
        self._results = [decode(type_) for type_ in function_type.results]
        types = [self._parameter(info) for info in inputs]
        types += [self._result_parameter(info, symbols) for info in self._results]
        kept = {name: self.function.attributes[name] for name in self.function.attributes if name not in _REPLACED}
        attributes = {
            **kept,
            "sym_name": ir.StringAttr.get(self.name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            GRAPH_INPUTS: ir.ArrayAttr.get([ir.TypeAttr.get(argument.type) for argument in self._body.arguments]),
            GRAPH_RESULTS: ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in function_type.results]),
            RESULT_MAKERS: string_array(self._makers()),
            INPUT_NAMES: string_array(argument_names(self.function)),
        }
        lowered = ir.Operation.create("func.func", attributes=attributes, regions=1)
        lowered.regions[0].blocks.append(*types)
        self._arguments = list(body_of(lowered).arguments)
        return lowered

    def _makers(self) -> list[str]:
        symbols = SymbolTable(self.function.parent.operation)
        return [maker(value, symbols) for value in last_of(self._body).operands]

    def _parameter(self, info: Info) -> Type:
        if isinstance(info, TensorInfo):
            if info.shape is None:
                raise located_error(f"@{self.name} takes a tensor of unknown rank", self.function.location)
            return memrefs.memref_type(info, self.context)
        if isinstance(info, ScalarInfo):
            return scalar_arguments.passed_type(info, self.context)
        if isinstance(info, ObjectInfo):
            return ir.Type.parse("!llvm.ptr", self.context)
        raise located_error(
            f"@{self.name} takes {describe(info)}, which has no place in memory", self.function.location
        )

    def _result_parameter(self, info: Info, symbols: frozenset[str]) -> Type:
        if isinstance(info, TensorInfo) and is_sized(info, symbols):
            return memrefs.memref_type(info, self.context)
        if isinstance(info, (TensorInfo, ObjectInfo, ShapeInfo)):
            return ir.Type.parse("!llvm.ptr", self.context)
        possible = "only tensors, shapes and objects can be returned"
        hint = " (relax.scalar_to_tensor makes a scalar a tensor)" if isinstance(info, ScalarInfo) else ""
        raise located_error(f"@{self.name} returns {describe(info)}: {possible}{hint}", self.function.location)

    def _begin(self) -> None:
        count = len(self._body.arguments)
        for argument, value in zip(self._body.arguments, self._arguments, strict=False):
            info = decode(argument.type)
            self._values[argument] = scalar_arguments.receive(value, info) if isinstance(info, ScalarInfo) else value
            self.define_dims(info, value)
        self._require_ranges()
        self._outputs = self._arguments[count:]
        note_plan(self.name, argument_names(self.function), self.plan)
        self.owned.append([])
        self._make_arena()

    def _require_ranges(self) -> None:
        """Emit run-time errors for sizes outside the allowed ranges, before anything is computed."""
        ranges = allowed_ranges(self.function)
        names, seen = argument_names(self.function), set()
        for position, argument in enumerate(self._body.arguments if ranges else ()):
            for where, size in _sizes_in(decode(argument.type)):
                least, most = size_bounds(size, ranges)
                if str(size) in seen or (most is None and (least or 0) <= 0):
                    continue
                seen.add(str(size))
                named = f" '{names[position]}'" if names[position] else ""
                self._require_range(f"argument #{position}{named}{where}", size, max(least or 0, 0), most)

    def _require_range(self, where: str, size: SymExpr, least: int, most: int | None) -> None:
        extent = numbers.as_index(self.sizes.compute(size))
        expected = f"at least {least}" if most is None else f"{least} to {most}"
        inside = extent >= least if most is None else (extent >= least) & (extent <= most)
        message = f"{where}: {size} is {{}}, expected {expected}"
        tir.ops["assert"](inside, [numbers.as_i64(extent)], kind="ValueError", message=message)

    def define_dims(self, info: Info, value: Value) -> None:
        """Define the symbols of a tensor's type as the sizes of its memory."""
        if isinstance(info, TensorInfo):
            for axis, dim in enumerate(info.shape or ()):
                if isinstance(dim, SymExpr):
                    self.sizes.define(dim, memrefs.dim(value, axis))
        elif isinstance(info, ScalarInfo) and isinstance(info.value, SymExpr):
            self.sizes.define(info.value, value)

    def _make_arena(self) -> None:
        plan = self.plan
        for buffer in plan.buffers.values():
            if buffer.slot is not None or (buffer.root.offset is not None and self._may_be_negative(buffer)):
                self._require_room(buffer)
        total: Size = plan.fixed_bytes
        for size in plan.slots:
            self._slots.append(total)
            total = total + round_up(self.sizes.compute(size), memrefs.ALIGNMENT)
        if any(buffer.offset is not None or buffer.slot is not None for buffer in plan.buffers.values()):
            i8 = ir.IntegerType.get_signless(8)
            self._arena = self.own(memrefs.allocate([memrefs.ALIGNMENT if is_same(total, 0) else total], i8))
            self._arena.owner.attributes[ARENA] = ir.UnitAttr.get()

    def _may_be_negative(self, buffer: PlannedBuffer) -> bool:
        sizes = [dim for dim in dims_of(buffer.info) if isinstance(dim, SymExpr)]
        ranges = symbol_ranges(self.function) if sizes else {}
        return any(least is None or least < 0 for least, _ in (size_bounds(dim, ranges) for dim in sizes))

    def _require_room(self, buffer: PlannedBuffer) -> None:
        """Emit a run-time error for excessive sizes, for one buffer and for all slots together."""
        info = buffer.info
        element = memrefs.memref_type(info, self.context).element_type
        # The limit allows for rounding up to the largest element, and for all other buffers.
        most = memrefs.MOST_BYTES // (16 * len(self.plan.buffers) + 1)
        self.sizes.require_room(self.extents(info), element, memrefs.shape_text(info), most)

    # ---- blocks ----

    def lower_all(self, operations: Sequence[Operation]) -> None:
        for op in operations:
            with op.location:
                self._lower(self, op)

    def give_back(self) -> None:
        """Release the memory of the innermost block."""
        for value in reversed(self.owned.pop()):
            if isinstance(value.type, ir.MemRefType):
                memrefs.deallocate(value)
            else:
                tir.ops["release"](value)

    def finish(self, values: Sequence[Value]) -> None:
        """Store the results in the caller's memory, and return."""
        for index, value in enumerate(values):
            target = self._outputs[index]
            if not isinstance(target.type, ir.MemRefType):
                if isinstance(info := decode(value.type), TensorInfo):
                    tir.ops["give_tensor"](self.get(value), target, dtype=info.dtype)
                else:
                    tir.ops["give_object"](self.get(value), target)
                continue
            if not [buffer for buffer in self.plan.buffers.values() if buffer.output == index]:
                memrefs.copy(memrefs.cast(self.get(value), target.type), target)
        self.give_back()
        ir.Operation.create("func.return")


_REPLACED = frozenset({"sym_name", "function_type", "arg_attrs", "res_attrs"})


def _sizes_in(info: Info) -> list[tuple[str, SymExpr]]:
    """Return the symbolic sizes of an argument with their positions as text."""
    if isinstance(info, TensorInfo):
        return [(f" dimension {axis}", dim) for axis, dim in enumerate(info.shape or ()) if isinstance(dim, SymExpr)]
    return [("", info.value)] if isinstance(info, ScalarInfo) and isinstance(info.value, SymExpr) else []
