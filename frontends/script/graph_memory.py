# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explicit memory in graphs, as TVM's passes emit it: tensors are allocated, written by a PrimFunc, then read.

Here tensors are values. A tensor takes the value that the PrimFunc writes, and memory is planned again later.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...bindings.mlir import ir
from ...dialects.core.infos import TensorInfo
from ...support.registry import entering
from .annotations import argument_of, arguments_of
from .effects import Effect
from .graph_values import SPECIAL, Allocated, GraphValues, relax
from .module_prim_funcs import PrimFunc
from .names import RELAX

_special = entering(SPECIAL)


class _Nothing(NamedTuple):
    """Result of a call without a value: storage, or the end of a tensor's live range."""


_TENSOR = ("shape", "dtype", "runtime_device_index", "storage_scope", "ty_args", "sinfo_args")
_TENSOR_IN_STORAGE = ("storage", "offset", "shape", "dtype", "runtime_device_ind", "ty_args", "sinfo_args")


@_special("builtin.alloc_tensor", "memory.alloc_tensor", "vm.alloc_tensor")
def _allocated(graph: GraphValues, call: ast.Call) -> Allocated:
    names = _TENSOR if graph.names.word(call) == (RELAX, "builtin.alloc_tensor") else _TENSOR_IN_STORAGE
    arguments = arguments_of(graph.names, call, names)
    for name in ("shape", "dtype"):
        if name not in arguments:
            raise graph.source.problem(call, f"{ast.unparse(call.func)} lacks its argument '{name}'")
    shape = arguments["shape"]
    if isinstance(shape, ast.Call) and graph.names.word(shape) == (RELAX, "shape"):
        shape = argument_of(graph.names, shape, "value")
    dtype: Any = graph.value(arguments["dtype"])
    dtype = graph.annotations.dtype(ast.copy_location(ast.Constant(dtype), arguments["dtype"]))
    return Allocated(TensorInfo(graph.annotations.shape(shape), dtype))


# R.str("global") and R.dtype("float32") are text.
_special("str", "dtype")(lambda graph, call: graph.names.found(argument_of(graph.names, call, "value")))
_special("memory.alloc_storage", "vm.alloc_storage", "memory.kill_storage", "memory.kill_tensor", "vm.kill_object")(
    lambda graph, call: _Nothing()
)


@_special("hint_on_device", "to_vdevice", "builtin.stop_lift_params")
def _itself(graph: GraphValues, call: ast.Call) -> object:
    """Return the data of R.hint_on_device(x, device). The target and the passes choose the device."""
    return graph.value(arguments_of(graph.names, call, ("data", "dst_vdevice", "memory_scope"), 1)["data"])


def called(graph: GraphValues, node: ast.Call, prim: PrimFunc, arguments: Sequence[object]) -> object:
    """Call a PrimFunc: `cls.f(x, alloc)`, or `n = cls.f(x, alloc)`. Returns its number, or () if there is none."""
    returned, count = prim.program.returned, len(prim.program.parameters)
    if len(arguments) != count - (returned is not None):
        message = f"'{prim.program.name}' takes {count - (returned is not None)} arguments, not {len(arguments)}"
        raise graph.source.problem(node, message)
    if returned is None:
        _write(graph, node, prim, arguments)
        return ()
    number = Allocated(TensorInfo((), returned.dtype))
    _write(graph, node, prim, (*arguments, number))
    assert number.value is not None
    type_ = ir.ShapedType(number.value.type).element_type
    return ir.Operation.create("tensor.extract", results=[type_], operands=[number.value]).result


def _write(graph: GraphValues, node: ast.Call, prim: PrimFunc, arguments: Sequence[Any]) -> None:
    """Emit the call, and update the allocated tensors that the PrimFunc writes."""
    held = dict(zip(prim.program.parameters, arguments, strict=True))
    for buffer, effect in prim.effects.items():
        if not isinstance(target := held[buffer], Allocated):
            hint = f"R.call_tir(cls.{prim.program.name}, (...), out_sinfo=...)"
            message = (
                f"'{prim.program.name}' writes to '{buffer.name}', which was not allocated by R.builtin.alloc_tensor"
            )
            raise graph.source.problem(node, f"{message}; a graph calls it by {hint}")
        if effect is Effect.READS and target.value is None:
            raise graph.source.problem(
                node, f"'{prim.program.name}' reads '{buffer.name}' before anything is written to it"
            )
    if not prim.effects:
        return
    if prim.kept and all(held[each].value is None for each in prim.kept):
        prim = graph.module.cleared(prim.program.name)
        held = dict(zip(prim.program.parameters, arguments, strict=True))
    for target in (held[each] for each in prim.kept if held[each].value is None):
        # Another tensor already has contents. The unwritten elements of this tensor are 0, as in a cleared PrimFunc.
        target.value = graph.built(node, relax["zeros"], (target.info.shape,), {"dtype": target.info.dtype})
    values = {each: graph.ssa(node, held[each]) for each in held if each in prim.inputs or each in prim.kept}
    name, operands, named = prim.call(values, {each: held[each].info for each in prim.effects})
    made = graph.built(node, relax[name], operands, named)
    for buffer, value in zip(prim.written, made if isinstance(made, tuple) else (made,), strict=True):
        held[buffer].value = value
