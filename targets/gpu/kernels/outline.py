# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outlining of kernels: operations of host code become a gpu.func of pointers, sizes and scalars, and its launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....bindings.ir import Block, Operation, Type, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import (
    body_of,
    callee_of,
    functions_in,
    has_body,
    operations_in,
    operations_of,
    symbol_name,
    used_by,
)
from ....bindings.rewriting import located_error, made_again, use_instead
from ....dialects.core.ir_attributes import FORM
from ....emit.linalg import size
from ....emit.memrefs import is_dense
from ....emit.numbers import as_i64, as_index
from ....support.names import fresh_name
from ...host.llvm_ops import memref_at, pointer_of, type_of
from ..device_code import kernel_modules, kernels_of

#: Name of the module of all kernels.
KERNELS = "kernels"
#: Views, sizes and constants are computed again in the kernel.
_MADE_AGAIN = frozenset(
    "arith.constant memref.cast memref.collapse_shape memref.dim memref.expand_shape memref.reinterpret_cast "
    "memref.subview memref.view memref.memory_space_cast".split()
)
#: Operand groups of gpu.launch_func: dependencies, grid, block, cluster, dynamic shared memory, kernel operands.
_NO_OPERANDS = (0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)


@dataclass
class Kernels:
    """Kernels of a module."""

    module: Operation
    #: Names of all outlined kernels, in creation order.
    names: list[str] = field(default_factory=list)
    _made: Operation | None = None

    def outline(self, ops: Sequence[Operation], name: str, form: str, blocks: Value, threads: int) -> Operation:
        """Move operations of one block into a kernel, and return the launch that replaces the last of them.

        No value of the operations may have other users. `blocks` is an index.
        """
        passed, again = _survey(ops)
        parts = [part for value in passed for part in _parts(value, ops[-1])]
        kernel = self._function(name, form, threads, [value.type for value in parts])
        launch = _launch(ops[-1], symbol_name(kernel), blocks, threads, parts)
        block = body_of(kernel)
        end = operations_of(block)[-1]
        made = _map_received(passed, block, end)
        with ir.InsertionPoint(end):
            for op in again:
                copied = op.clone().operation
                use_instead(copied, made)
                made.update(zip(op.results, copied.results, strict=True))
        for op in ops:
            op.move_before(end)
            for operation in (op, *operations_in(op)):
                use_instead(operation, made)
                if operation.name == "func.call":
                    self._declare(operation)
        return launch

    def _declare(self, call: Operation) -> None:
        """Declare the callee in the kernel module, since kernels cannot refer to functions of another module."""
        name = callee_of(call)
        callee = next(function for function in functions_in(self.module) if symbol_name(function) == name)
        if has_body(callee):
            raise located_error(f"a kernel cannot call @{name}, which is host code", call.location)
        assert self._made is not None
        block = self._made.regions[0].blocks[0]
        if all(symbol_name(operation) != name for operation in operations_of(block)):
            with ir.InsertionPoint.at_block_begin(block):
                callee.clone()

    def _function(self, name: str, form: str, threads: int, inputs: Sequence[Type]) -> Operation:
        if self._made is None:
            self._made = _kernel_module(self.module)
        fresh = fresh_name(name.replace(".", "_"), self.names)
        self.names.append(fresh)
        attributes = {
            "sym_name": ir.StringAttr.get(fresh),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(inputs), [])),
            "kernel": ir.UnitAttr.get(),
            "known_block_size": ir.DenseI32ArrayAttr.get([threads, 1, 1]),
            FORM: ir.StringAttr.get(form),
        }
        with ir.InsertionPoint(self._made.regions[0].blocks[0]):
            function = ir.Operation.create("gpu.func", attributes=attributes, regions=1)
        with ir.InsertionPoint(function.regions[0].blocks.append(*inputs)):
            ir.Operation.create("gpu.return")
        return function


def _kernel_module(module: Operation) -> Operation:
    module.attributes["gpu.container_module"] = ir.UnitAttr.get()
    with ir.InsertionPoint(body_of(module)):
        kernel_module = ir.Operation.create(
            "gpu.module", attributes={"sym_name": ir.StringAttr.get(KERNELS)}, regions=1
        )
    kernel_module.regions[0].blocks.append()
    return kernel_module


def _survey(ops: Sequence[Operation]) -> tuple[list[Value], list[Operation]]:
    """Return the values that the kernel receives as operands, and the operations that it repeats, operands first."""
    passed: list[Value] = []
    again: list[Operation] = []
    seen = {result for op in ops for result in op.results}
    for op in ops:
        for value in used_by(op):
            _add_needed(value, seen, passed, again)
    return passed, again


def _add_needed(value: Value, seen: set[Value], passed: list[Value], again: list[Operation]) -> None:
    """Add a value to the passed values, or its definition with all operands to the repeated operations."""
    if value in seen:
        return
    seen.add(value)
    maker = None if isinstance(value.owner, Block) else value.owner.operation
    if maker is None or maker.name not in _MADE_AGAIN or (maker.name == "memref.dim" and _is_whole(maker)):
        passed.append(value)
        return
    for operand in maker.operands:
        _add_needed(operand, seen, passed, again)
    again.append(maker)


def _is_whole(dim: Operation) -> bool:
    """Check whether the dim's memory is not passed for another reason. The size is passed by itself then."""
    maker = dim.operands[0].owner
    return isinstance(maker, Block) or maker.operation.name not in _MADE_AGAIN


def _parts(value: Value, before: Operation) -> list[Value]:
    """Return the kernel operands for a value. Memory becomes its address and its dynamic sizes."""
    if not isinstance(type_ := value.type, ir.MemRefType):
        if isinstance(type_, (ir.IndexType, ir.IntegerType, ir.FloatType)) or type_ == type_of("ptr"):
            return [value]
        raise located_error(f"a kernel cannot be passed a {type_}", before.location)
    if not is_dense(type_):
        raise located_error(f"a kernel cannot be passed memory with the layout of {type_}", before.location)
    with before.location, ir.InsertionPoint(before):
        open_axes = [axis for axis, known in enumerate(type_.shape) if known == DYNAMIC]
        return [pointer_of(value), *(size(value, axis).value for axis in open_axes)]


def _map_received(passed: Sequence[Value], block: Block, end: Operation) -> dict[Value, Value]:
    """Map each passed value to its value in the kernel."""
    arguments = iter(block.arguments)
    values: dict[Value, Value] = {}
    with ir.InsertionPoint(end), end.location:
        for value in passed:
            argument = next(arguments)
            if isinstance(value.type, ir.MemRefType):
                shape = [as_i64(next(arguments)).value if known == DYNAMIC else known for known in value.type.shape]
                argument = memref_at(argument, value.type, shape)
            values[value] = argument
    return values


def _launch(before: Operation, kernel: str, blocks: Value, threads: int, values: Sequence[Value]) -> Operation:
    with before.location, ir.InsertionPoint(before):
        one = as_index(1).value
        operands = [blocks, one, one, as_index(threads).value, one, one, *values]
        attributes = {
            "kernel": ir.SymbolRefAttr.get([KERNELS, kernel]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([*_NO_OPERANDS, len(values), 0]),
        }
        return ir.Operation.create("gpu.launch_func", operands=operands, attributes=attributes)


def kernels_in(module: Operation) -> list[Operation]:
    """Return the kernels of all GPU modules in a module."""
    return [kernel for kernels in kernel_modules(module) for kernel in kernels_of(kernels)]


def launched(launch: Operation) -> str:
    """Return the name of the launched kernel."""
    return str(launch.attributes["kernel"].value[-1])


def pass_more(launch: Operation, more: Sequence[Value]) -> None:
    """Append operands to a launch."""
    with launch.location, ir.InsertionPoint(launch):
        operation = made_again(launch, [*launch.operands, *more], [])
        counts = list(launch.attributes["operandSegmentSizes"])
        counts[len(_NO_OPERANDS)] += len(more)
        operation.attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(counts)
    launch.erase()


def tell_type(kernel: Operation) -> None:
    """Update a kernel's function type from its block arguments."""
    inputs = [argument.type for argument in body_of(kernel).arguments]
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))
