# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Crossing levels: calls from the graph to PrimFuncs, to external functions and to packed functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.mlir import ir
from ...bindings.suggest import suggest
from ..core.attributes import Ints, Str, Symbol
from ..core.codec import decode
from ..core.infos import Info, OtherInfo, TensorInfo, describe
from ..core.opdef import Call, OpProblem
from ..core.verifier import compatible, compatible_dims
from .dialect import op


def _enclosing_module(operation: Any) -> Any:
    """The operation of the innermost module around; None for a function that stands alone."""
    parent = operation.parent
    while parent is not None and parent.operation.name != "builtin.module":
        parent = parent.operation.parent
    return None if parent is None else parent.operation


def _lookup(operation: Any, name: str) -> Any:
    module = _enclosing_module(operation)
    if module is None:
        return None
    found = module
    for part in name.split("::"):
        symbols = ir.SymbolTable(found)
        if part not in symbols:
            hint = suggest(part, _symbol_names(found))
            raise OpProblem(f"attribute 'func': there is no function @{part} in the module{hint}")
        found = symbols[part].operation
    return found


def _symbol_names(module: Any) -> list[str]:
    attributes = [op.operation.attributes for op in module.regions[0].blocks[0].operations]
    return [held["sym_name"].value for held in attributes if "sym_name" in held]


def _verify_call_tir(operation: Any, call: Call) -> None:
    """The PrimFunc must be there and take the arguments, then the results, in destination-passing style."""
    function = _lookup(operation, call.func)
    if function is None:
        return
    if function.name != "func.func":
        raise OpProblem(f"attribute 'func': @{call.func} is a {function.name}, not a function")
    if "tir.prim_func" not in function.attributes:
        raise OpProblem(f"attribute 'func': @{call.func} is no PrimFunc (it has no attribute tir.prim_func)")
    results = [decode(type_) for type_ in operation.results.types]
    outputs = _outputs_passed(call, results)
    parameters = list(ir.FunctionType(function.attributes["function_type"].value).inputs)
    expected = [("argument", i, info) for i, info in enumerate(call.args)]
    expected += [("result", i, results[i]) for i in outputs]
    if len(parameters) != len(expected):
        raise OpProblem(
            f"@{call.func} takes {len(parameters)} parameters, but the call passes {len(call.args)} arguments and "
            f"{len(outputs)} results"
        )
    for position, ((what, index, info), parameter) in enumerate(zip(expected, parameters, strict=True)):
        if not _fits_parameter(info, parameter):
            raise OpProblem(
                f"{what} #{index} ({describe(info)}) does not fit parameter #{position} of @{call.func} ({parameter})"
            )


def _outputs_passed(call: Call, results: Sequence[Info]) -> list[int]:
    """Which results have a parameter of their own: in-place ones share their argument's."""
    inplace = call.attributes.get("inplace_indices")
    return [i for i in range(len(results)) if inplace is None or inplace[i] == -1]


def _fits_parameter(info: Info, parameter: Any) -> bool:
    """Tensors go to tensor or memref parameters of the same element type and rank; sizes may not contradict."""
    if not isinstance(info, TensorInfo):
        return compatible(info, decode(parameter))
    if not isinstance(parameter, ir.ShapedType) or isinstance(parameter, ir.VectorType):
        return False
    if str(parameter.element_type) != info.dtype:
        return False
    if not parameter.has_rank or info.shape is None:
        return True
    dynamic = ir.ShapedType.get_dynamic_size()
    # Symbols are names within one function: across functions only fixed sizes can contradict.
    sizes = [None if size == dynamic else size for size in parameter.shape]
    fixed = [dim if isinstance(dim, int) else None for dim in info.shape]
    return compatible_dims(fixed, sizes)


def _verify_call_tir_inplace(operation: Any, call: Call) -> None:
    indices, results = call.inplace_indices, [decode(type_) for type_ in operation.results.types]
    if len(indices) != len(results):
        raise OpProblem(f"attribute 'inplace_indices' has {len(indices)} entries for {len(results)} results")
    if all(index == -1 for index in indices):
        raise OpProblem("attribute 'inplace_indices' names no argument: use relax.call_tir")
    for position, index in enumerate(indices):
        if not -1 <= index < len(call.args):
            raise OpProblem(f"attribute 'inplace_indices': {index} is no argument (there are {len(call.args)}) nor -1")
        if index != -1 and indices.count(index) > 1:
            raise OpProblem(f"attribute 'inplace_indices': argument {index} is named for two results")
        if index != -1 and not compatible(call.args[index], results[position]):
            raise OpProblem(
                f"result #{position} ({describe(results[position])}) cannot take the place of argument #{index} "
                f"({describe(call.args[index])})"
            )
    _verify_call_tir(operation, call)


def _check_tensors(operation: Any, what: str) -> None:
    for index, type_ in enumerate(operation.results.types):
        info = decode(type_)
        if not isinstance(info, TensorInfo) or info.shape is None:
            raise OpProblem(f"result #{index} must be a tensor of known rank: {what} allocates it, got {describe(info)}")


def _verify_dps(operation: Any, call: Call) -> None:
    if not call.func:
        raise OpProblem("attribute 'func' is empty: name the external function")
    _check_tensors(operation, "the caller")


def _verify_packed(operation: Any, call: Call) -> None:
    if not call.func:
        raise OpProblem("attribute 'func' is empty: name the packed function")
    for index, info in enumerate(call.args):
        if isinstance(info, OtherInfo):
            raise OpProblem(f"operand 'args' #{index} ({info.text}) is nothing a packed function can take")


def _verify_inplace_packed(operation: Any, call: Call) -> None:
    _verify_packed(operation, call)
    bad = [index for index in call.inplace_indices if not -1 <= index < len(call.args)]
    if bad:
        raise OpProblem(f"attribute 'inplace_indices': {bad[0]} is no argument (there are {len(call.args)}) nor -1")
    if len(call.inplace_indices) != len(operation.results):
        count = len(operation.results)
        raise OpProblem(f"attribute 'inplace_indices' has {len(call.inplace_indices)} entries for {count} results")


_FUNC = {"func": Symbol(doc="the PrimFunc")}
_NAME = {"func": Str(doc="the external function's name")}

op("call_tir", "*args:any", attrs=_FUNC, results="*results", explicit="out_ty", verify=_verify_call_tir,
   signature="func args out_ty", doc="Calls a PrimFunc in destination-passing style.")  # fmt: skip
op("call_tir_inplace", "*args:any", attrs={**_FUNC, "inplace_indices": Ints(doc="per result: an argument, or -1")},
   results="*results", explicit="out_ty", verify=_verify_call_tir_inplace, signature="func args inplace_indices out_ty",
   doc="Calls a PrimFunc that writes results into some of its arguments.")  # fmt: skip
op("call_dps_packed", "*args:any", attrs=_NAME, results="*results", explicit="out_ty", verify=_verify_dps,
   signature="func args out_ty", doc="Calls an external function in destination-passing style.")  # fmt: skip
op("call_pure_packed", "*args:any", attrs=_NAME, results="*results", explicit="ty_args", verify=_verify_packed,
   signature="func args ty_args", doc="Calls a packed function without side effects; it returns its value.")  # fmt: skip
op("call_packed", "*args:any", attrs=_NAME, results="*results", explicit="ty_args", verify=_verify_packed, pure=False,
   own=True, signature="func args ty_args", doc="Calls a packed function that may have side effects.")  # fmt: skip
op("call_inplace_packed", "*args:any", attrs={**_NAME, "inplace_indices": Ints(doc="per result: an argument, or -1")},
   results="*results", explicit="ty_args", verify=_verify_inplace_packed, signature="func args inplace_indices ty_args",
   doc="Calls a packed function that writes results into some of its arguments.")  # fmt: skip

