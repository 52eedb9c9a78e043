# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of graph functions' operations to code on memrefs, with one function per operation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from string import Formatter

from ....bindings.ir import Operation, SymbolTable, Type, Value
from ....bindings.mlir import DYNAMIC, ir, string_value
from ....bindings.navigation import function_type_of, has_body, innermost
from ....bindings.rewriting import located_error
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info, ScalarInfo, TensorInfo, describe, is_bool, is_int
from ....dialects.core.ir_attributes import CONCURRENT, COPIED, GLOBAL, SITE
from ....dialects.graph_functions import input_symbols, is_sized
from ....dialects.tir import dialect as tir
from ....dialects.tir.assertion import MOST_NUMBERS
from ....emit import loops, memrefs
from ....emit.arithmetic import result_of
from ....emit.numbers import Number, as_i64, as_index, number
from . import scalar_arguments
from .function_lowering import FunctionLowering, Lower, Lowered
from .packed import PACKED, return_shapes
from .region_memory import CONTROL_FLOW
from .sites import call_site
from .views import match_cast, require_size, view


def lower_operation(into: FunctionLowering, op: Operation) -> None:
    lower = _OPERATIONS.get(op.name)
    row = row_of(op)
    if lower is not None:
        lower(into, op)
    elif row is not None and row.is_plain_view:
        view(into, op)
    elif _is_scalar(op):
        _copy(into, op)
    else:
        raise located_error(_refusal(op), op.location)


def _refusal(op: Operation) -> str:
    if op.name == "relax.call_external":
        return f"'{op.name}' op of @{op.opview.func} is still to be compiled: run its codegen first (relax-run-codegen)"
    types = ", ".join(str(operand.type) for operand in op.operands)
    if op.name.partition(".")[0] == "relax":
        return f"'{op.name}' op ({types}) is still an operator: legalize it first (relax-legalize-ops)"
    return f"'{op.name}' op ({types}) has no place in a graph function: put it into a PrimFunc"


def _is_scalar(op: Operation) -> bool:
    """Check whether an operation is scalar arithmetic, which needs no lowering."""
    if op.regions or op.name.partition(".")[0] not in ("arith", "index", "math"):
        return False
    return all(isinstance(decode(value.type), ScalarInfo) for value in (*op.operands, *op.results))


def _copy(into: FunctionLowering, op: Operation) -> None:
    made = op.clone()
    for index, operand in enumerate(op.operands):
        made.operands[index] = into.get(operand)
    for result, value in zip(op.results, made.results, strict=True):
        into.set(result, value)


# ---- calls ----


def _call_tir(into: FunctionLowering, op: Operation) -> None:
    outputs = [into.new_tensor(result) for result in op.results]
    if any(result in into.plan.needless for result in op.results):
        return
    _call(into, op, [into.lowered(value) for value in op.operands], outputs)


def _call_tir_inplace(into: FunctionLowering, op: Operation) -> None:
    inputs, outputs = [into.lowered(value) for value in op.operands], []
    for result, index in zip(op.results, op.opview.inplace_indices, strict=True):
        if index >= 0:
            inputs[index] = _writable(into, op, index, result)
            into.set(result, inputs[index])
        else:
            outputs.append(into.new_tensor(result))
    _call(into, op, inputs, outputs)


def _writable(into: FunctionLowering, op: Operation, index: int, result: Value) -> Value:
    """Return the memory of an in-place result, initialized with the argument."""
    if COPIED not in op.attributes or index not in op.attributes[COPIED]:
        return into.writable(op.operands[index])
    memref = into.new_tensor(result)
    memrefs.copy(into.get(op.operands[index]), memref)
    return memref


def _call(into: FunctionLowering, op: Operation, inputs: Sequence[Lowered], outputs: Sequence[Value]) -> None:
    name = op.opview.func
    callee = _function(op, name)
    types = list(function_type_of(callee).inputs)
    passed = [_fit(value, type_, op) for value, type_ in zip([*inputs, *outputs], types, strict=True)]
    reference = ir.FlatSymbolRefAttr.get(name)
    attributes = {"callee": reference, SITE: call_site(op, callee)}
    ir.Operation.create("func.call", operands=passed, attributes=attributes)


def _function(op: Operation, name: str) -> Operation:
    symbols = SymbolTable(innermost(op, "builtin.module"))
    if name in symbols:
        return symbols[name].operation
    raise located_error(f"'{op.name}' op calls @{name}, which the module does not have", op.location)


def _fit(lowered: Lowered, type_: Type, op: Operation) -> Value:
    value = _require_memref(lowered, op)
    if isinstance(type_, ir.MemRefType):
        _require_sizes(value, type_)
        return memrefs.cast(value, type_)
    if not isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType)):
        return value
    raise located_error(f"'{op.name}' op calls a PrimFunc on tensors: bufferize it first (tir-bufferize)", op.location)


def _require_memref(lowered: Lowered, op: Operation) -> Value:
    if isinstance(lowered, list):
        raise located_error(f"'{op.name}' op passes a shape, which has no place in memory", op.location)
    return lowered


def _require_sizes(memref: Value, type_: Type) -> None:
    """Emit run-time checks that the memory has the static sizes of a type."""
    for axis, size in enumerate(type_.shape):
        extent = memrefs.dim(memref, axis)
        if size != DYNAMIC and not isinstance(extent, int):
            require_size(axis, as_index(size), extent, "{}")


def _call_function(into: FunctionLowering, op: Operation) -> None:
    """Lower a call of another graph function, which is lowered likewise."""
    callee = str(op.attributes["callee"].value)
    if not has_body(_function(op, callee)):
        reason = "which has no body: call a packed function of that name (relax.call_dps_packed)"
        raise located_error(f"'func.call' op calls @{callee}, {reason}", op.location)
    inputs, outputs = [decode(value.type) for value in op.operands], []
    for result in op.results:
        info = decode(result.type)
        if not isinstance(info, TensorInfo) or not is_sized(info, input_symbols(inputs)):
            raise located_error(f"'func.call' op returns {describe(info)}: inline it first (relax-inline)", op.location)
        outputs.append(_as_declared(into.new_tensor(result), info))
    passed = [_require_memref(into.lowered(value), op) for value in op.operands]
    arguments = [_as_declared(*pair) for pair in zip(passed, inputs, strict=True)]
    kept = {name: op.attributes[name] for name in ("callee", CONCURRENT) if name in op.attributes}
    ir.Operation.create("func.call", operands=[*arguments, *outputs], attributes=kept)


def _as_declared(value: Value, info: Info) -> Value:
    """Cast a value to the callee's type. More of a tensor's sizes may be known here."""
    if isinstance(info, TensorInfo):
        return memrefs.cast(value, memrefs.memref_type(info, value.context))
    return scalar_arguments.pass_scalar(value, info) if isinstance(info, ScalarInfo) else value


def _return(into: FunctionLowering, op: Operation) -> None:
    return_shapes(into, op)
    into.finish(list(op.operands))


# ---- values without a kernel ----


def _constant(into: FunctionLowering, op: Operation) -> None:
    """Lower a constant: scalars stay, tensors become globals."""
    result = op.results[0]
    if not isinstance(info := decode(result.type), TensorInfo):
        _copy(into, op)
        return
    name = ir.FlatSymbolRefAttr.get(string_value(op.attributes[GLOBAL]))
    into.set(result, result_of("memref.get_global", [], memrefs.memref_type(info, into.context), name=name))


def _shape_expr(into: FunctionLowering, op: Operation) -> None:
    into.set(op.results[0], [into.sizes.compute(dim) for dim in op.opview.dims])


def _prim_value(into: FunctionLowering, op: Operation) -> None:
    into.set(op.results[0], as_i64(into.sizes.compute(op.opview.value)))


def _random_key(into: FunctionLowering, op: Operation) -> None:
    into.set(op.results[0], tir.ops["random_key"]())


def _shape_of(into: FunctionLowering, op: Operation) -> None:
    into.set(op.results[0], memrefs.dims(into.get(op.operands[0])))


def _tensor_to_shape(into: FunctionLowering, op: Operation) -> None:
    """Lower the conversion of a tensor to a shape, with a check that all sizes are nonnegative."""
    memref = into.get(op.operands[0])
    if not isinstance(length := memrefs.dim(memref, 0), int):
        raise located_error("'relax.tensor_to_shape' op gives a shape of unknown rank", op.location)
    sizes = [as_index(loops.load(memref, axis)) for axis in range(length)]
    into.sizes.require_each_natural([size.value for size in sizes])
    into.set(op.results[0], list(sizes))


def _shape_to_tensor(into: FunctionLowering, op: Operation) -> None:
    memrefs.store_sizes(into.sizes_of(op.operands[0]), into.new_tensor(op.results[0]))


def _extract(into: FunctionLowering, op: Operation) -> None:
    source, *indices = op.operands
    into.set(op.results[0], loops.load(into.get(source), *(into.get(index) for index in indices)))


def _dim(into: FunctionLowering, op: Operation) -> None:
    into.set(op.results[0], result_of("memref.dim", [into.get(value) for value in op.operands], ir.IndexType.get()))


def _from_elements(into: FunctionLowering, op: Operation) -> None:
    flat = memrefs.reshape_if_needed(into.new_tensor(op.results[0]), [len(op.operands)])
    for index, value in enumerate(op.operands):
        loops.store(into.get(value), flat, index)


# Placeholder that cannot occur in messages.
_PLACE = "\0"


def _assert(into: FunctionLowering, op: Operation) -> None:
    """Lower an assertion.

    The message shows integers up to the supported number, and question marks for other values.
    """
    condition, *values = op.operands
    numbers: list[Number] = []
    message, following = "", itertools.count()
    for literal, field, specification, _ in Formatter().parse(op.opview.format or "assertion failed"):
        message += literal
        if field is None:
            continue
        value = values[int(field or next(following))]
        for _ in range((specification or "").count("{}")):
            next(following)
        number = _as_number(into, value) if len(numbers) < MOST_NUMBERS else None
        message += "?" if number is None else _PLACE
        numbers += [] if number is None else [number]
    # Literal braces must not become placeholders.
    message = message.replace("{}", "{ }").replace(_PLACE, "{}")
    tir.ops["assert"](_element(into, condition), numbers, kind=op.opview.kind, message=message)


def _element(into: FunctionLowering, value: Value) -> Value:
    """Return a scalar, or the only element of a tensor."""
    lowered = into.get(value)
    is_tensor = isinstance(lowered.type, ir.MemRefType)
    return loops.load(lowered, *[0] * lowered.type.rank) if is_tensor else lowered


def _as_number(into: FunctionLowering, value: Value) -> Number | None:
    """Return an integer or Boolean, or such a 0-D tensor, as an i64; None for other values."""
    info = decode(value.type)
    dtype = info.dtype if isinstance(info, ScalarInfo) or isinstance(info, TensorInfo) and info.shape == () else ""
    if not is_int(dtype) and not is_bool(dtype):
        return None
    element = _element(into, value)
    if is_bool(dtype):
        return number(element).to("i64")
    return as_i64(scalar_arguments.pass_scalar(element, ScalarInfo(dtype)))


_OPERATIONS: dict[str, Lower] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir_inplace,
    "func.call": _call_function,
    "func.return": _return,
    "relax.match_cast": match_cast,
    "arith.constant": _constant,
    "relax.constant": _constant,
    "relax.shape_expr": _shape_expr,
    "relax.prim_value": _prim_value,
    "relax.shape_of": _shape_of,
    "relax.tensor_to_shape": _tensor_to_shape,
    "relax.shape_to_tensor": _shape_to_tensor,
    "tensor.extract": _extract,
    "tensor.dim": _dim,
    "tensor.from_elements": _from_elements,
    "relax.assert_op": _assert,
    "relax.random_key": _random_key,
    **PACKED,
    **CONTROL_FLOW,
}
