# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PrimFuncs of single tensor operations with their initial values. Equal PrimFuncs are merged."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, made_by, operations_in, used_by
from ....bindings.pass_manager import run_upstream
from ....bindings.rewriting import use_instead
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.relax.function_attributes import VISIBILITY
from ....dialects.tir import dialect as tir
from ....dialects.tir.prim_func import make_prim_func
from ....emit.kernels import parameter_type
from ....emit.numbers import intrinsic, number
from ....support.names import fresh_name
from .within_bounds import limit_indices

MEMORY = ("tensor.empty", "bufferization.alloc_tensor")
_NAME = re.compile(r"@\w+")


def is_tensor(value: Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType)


def is_start(op: Operation | None) -> bool:
    """Check for operations that are cloned into a PrimFunc: new or filled memory, and scalar constants."""
    if op is None:
        return False
    if op.name == "arith.constant":
        return not is_tensor(op.results[0])
    return _is_memory(op) or (op.name == "linalg.fill" and all(is_start(made_by(operand)) for operand in op.operands))


def _is_memory(op: Operation) -> bool:
    """Check for memory without initial elements."""
    return op.name in MEMORY and not any(map(is_tensor, op.operands))


class TensorKernel:
    """An operation, its inputs from outside, and the operations cloned into its PrimFunc."""

    def __init__(self, op: Operation):
        self.op = op
        #: New memory for each result, or None if the result overwrites an existing tensor.
        self.destinations = _destinations(op)
        #: Operations to clone, in order. Producers come first.
        self.again: list[Operation] = []
        self.given: list[Value] = []
        for value in used_by(op):
            self._need(value)

    def _need(self, value: Value) -> None:
        if (maker := made_by(value)) is None or not is_start(maker):
            if value not in self.given:
                self.given.append(value)
        elif maker not in [*self.again, *filter(None, self.destinations)]:
            # The sizes of memory may be values of the program.
            for operand in maker.operands:
                self._need(operand)
            self.again.append(maker)

    def write(self, arguments: Sequence[Value]) -> list[Value]:
        """Write the body of a PrimFunc. Arguments are the inputs, then the memory of the results."""
        values = {old: _as_type(new, old) for old, new in zip(self.given, arguments, strict=False)}
        outputs = arguments[len(self.given) :]
        for memory, new in zip(self.destinations, outputs, strict=True):
            if memory is not None:
                values[memory.results[0]] = _as_type(new, memory.results[0])
        for each in self.again:
            values[each.results[0]] = _clone_with(each, values).results[0]
        results = _clone_with(self.op, values).results
        return [_as_type(_as_tensor(result), output) for result, output in zip(results, outputs, strict=True)]


def _destinations(op: Operation) -> list[Operation | None]:
    count = len(op.results)
    if not op.name.startswith("linalg."):
        return [None] * count
    return [_memory(operand) for operand in list(op.operands)[len(op.operands) - count :]]


def _memory(value: Value) -> Operation | None:
    maker = made_by(value)
    if maker is not None and maker.name == "linalg.fill":
        maker = made_by(maker.operands[1])
    return maker if maker is not None and _is_memory(maker) else None


def _clone_with(op: Operation, values: dict[Value, Value]) -> Operation:
    made = op.clone().operation
    for operation in (made, *operations_in(made)):
        use_instead(operation, values)
    return made


def _as_type(new: Value, old: Value) -> Value:
    """Cast a value to another one's type. Indices are passed as integers."""
    if new.type == old.type:
        return new
    name = "tensor.cast" if is_tensor(old) else "arith.index_cast"
    return ir.Operation.create(name, results=[old.type], operands=[new]).result


def _as_tensor(value: Value) -> Value:
    """Wrap a scalar in a tensor without dimensions, because PrimFuncs return no scalars."""
    if is_tensor(value):
        return value
    if isinstance(value.type, ir.IndexType):
        wide = ir.IntegerType.get_signless(64)
        value = ir.Operation.create("arith.index_cast", results=[wide], operands=[value]).result
    type_ = ir.RankedTensorType.get([], value.type)
    return ir.Operation.create("tensor.from_elements", results=[type_], operands=[value]).result


class TensorKernels:
    """PrimFuncs added to a module."""

    def __init__(self, module: Operation):
        self._module = module
        self._made: dict[str, Operation] = {}

    def made_of(self, kernel: TensorKernel, values: Sequence[Value], results: Sequence[TensorInfo]) -> Operation:
        """Return the PrimFunc of an operation for these arguments. Add it unless an equal one exists."""
        context = self._module.context
        inputs = [parameter_type(decode(value.type), context, on_memrefs=False) for value in values]
        outputs = [parameter_type(result, context, on_memrefs=False) for result in results]
        name = fresh_name(kernel.op.name.replace(".", "_"), ir.SymbolTable(self._module))
        private = {VISIBILITY: ir.StringAttr.get("private")}
        with ir.InsertionPoint.at_block_begin(body_of(self._module)):
            prim_func = make_prim_func(name, inputs, outputs, lambda *each: kernel.write(each), attributes=private)
        _generalize(prim_func)
        limit_indices(prim_func)
        # Its constants are small.
        if (key := _NAME.sub("", prim_func.get_asm(), count=1)) in self._made:
            prim_func.erase()
            return self._made[key]
        self._made[key] = prim_func
        return prim_func


def _generalize(function: Operation) -> None:
    """Convert to linalg.generic, which passes analyse, and to tir's math functions, for which targets have code."""
    run_upstream(function, ["linalg-generalize-named-ops"])
    for op in operations_in(function):
        if name := _intrinsic_of(op):
            with op.location, ir.InsertionPoint(op):
                made = intrinsic(name, *map(number, op.operands))
            op.results[0].replace_all_uses_with(made.value)
            op.erase()


def _intrinsic_of(op: Operation) -> str:
    dialect, _, name = op.name.partition(".")
    name = "pow" if name == "powf" else name
    are_floats = all(isinstance(operand.type, ir.FloatType) for operand in op.operands)
    return name if dialect == "math" and are_floats and name in tir.ops else ""
