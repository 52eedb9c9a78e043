# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls across levels: from the graph to PrimFuncs, to external functions and to packed functions."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation, SymbolTable, Type
from ...bindings.mlir import DYNAMIC, ir
from ...bindings.navigation import body_of, function_type_of, innermost
from ...support.suggest import suggest
from ..core.attributes import Ints, Str, Symbol
from ..core.codec import decode
from ..core.infos import Info, OtherInfo, TensorInfo, VectorInfo, describe, signless
from ..core.ir_attributes import CODEGEN, PRIM_FUNC
from ..core.opdef import Call, OpProblem
from ..core.symbols import Dim
from ..core.verifier import compatible, compatible_dims
from .dialect import op


def _lookup(operation: Operation, name: str) -> Operation | None:
    """Return the operation of a symbol (nested ones as "outer::inner"), or None outside of a module."""
    if (found := innermost(operation, "builtin.module")) is None:
        return None
    place = "the module"
    for part in name.split("::"):
        if (symbols := _symbols_in(found)) is None:
            raise OpProblem(f"attribute 'func': {place} is a {found.name}, which holds no functions")
        if part not in symbols:
            hint = suggest(part, _symbol_names(found))
            raise OpProblem(f"attribute 'func': there is no function @{part} in {place}{hint}")
        found, place = symbols[part].operation, f"@{part}"
    return found


def _symbols_in(operation: Operation) -> SymbolTable | None:
    """Return the symbol table of an operation, or None if it has none."""
    # An unverified operation may be malformed, and MLIR's symbol table crashes on such an operation.
    if len(operation.regions) != 1 or len(operation.regions[0].blocks) != 1:
        return None
    try:
        return ir.SymbolTable(operation)
    except TypeError:
        return None


def _symbol_names(module: Operation) -> list[str]:
    attributes = [op.operation.attributes for op in body_of(module).operations]
    return [
        attribute["sym_name"].value_bytes.decode("utf-8", "replace")
        for attribute in attributes
        if "sym_name" in attribute
    ]


def _results(operation: Operation) -> list[Info]:
    return [decode(type_) for type_ in operation.results.types]


def _verify_call_tir(operation: Operation, call: Call) -> None:
    """Check that the PrimFunc exists and takes the arguments, then the results, in destination-passing style."""
    results = _results(operation)
    _check_prim_func(operation, call, results, list(range(len(results))))


def _verify_call_tir_inplace(operation: Operation, call: Call) -> None:
    """Check the call. Results that overwrite an argument have no parameter of their own."""
    results = _results(operation)
    _check_inplace(call, results, "relax.call_tir")
    own = [i for i, index in enumerate(call.inplace_indices) if index == -1]
    _check_prim_func(operation, call, results, own)


def _check_prim_func(operation: Operation, call: Call, results: Sequence[Info], outputs: Sequence[int]) -> None:
    """Check the signature of the PrimFunc. `outputs` are the results that are passed as parameters."""
    _check_allocated(results, outputs)
    if (function := _lookup(operation, call.func)) is None:
        return
    if function.name != "func.func":
        raise OpProblem(f"attribute 'func': @{call.func} is a {function.name}, not a function")
    if PRIM_FUNC not in function.attributes:
        raise OpProblem(f"attribute 'func': @{call.func} is no PrimFunc (it has no attribute {PRIM_FUNC})")
    if "function_type" not in function.attributes:
        return  # malformed, which its own verifier reports
    type_ = function_type_of(function)
    _check_parameters(call, list(type_.inputs), results, outputs)
    if type_.results:
        _check_returned(call, list(type_.results), results)


def _check_parameters(call: Call, parameters: Sequence[Type], results: Sequence[Info], outputs: Sequence[int]) -> None:
    passed = [("argument", i, info) for i, info in enumerate(call.args)]
    passed += [("result", i, results[i]) for i in outputs]
    if len(parameters) != len(passed):
        counts = f"{len(call.args)} arguments and {len(outputs)} results"
        raise OpProblem(f"@{call.func} takes {len(parameters)} parameters, but the call passes {counts}")
    for position, ((what, index, info), parameter) in enumerate(zip(passed, parameters, strict=True)):
        if not _fits(info, parameter):
            taken = f"parameter #{position} of @{call.func} ({parameter})"
            raise OpProblem(f"{what} #{index} ({describe(info)}) does not fit {taken}")


def _verify_call_external(operation: Operation, call: Call) -> None:
    """Check that the external module has the function, with the call's arguments and results."""
    results = _results(operation)
    _check_allocated(results, list(range(len(results))))
    function = _lookup(operation, call.func)
    if function is None or "function_type" not in function.attributes:
        return  # not in a module yet, or malformed, which its own verifier reports
    shown = f"@{call.func.replace('::', '::@')}"
    module = function.parent.operation
    if function.name != "func.func" or "::" not in call.func or CODEGEN not in module.attributes:
        raise OpProblem(f"attribute 'func': {shown} is no function of an external module (@module::@function)")
    type_ = function_type_of(function)
    for what, infos, types in (("argument", call.args, type_.inputs), ("result", results, type_.results)):
        if len(infos) != len(types):
            raise OpProblem(f"{shown} has {len(types)} {what}s, the call {len(infos)}")
        for index, (info, each) in enumerate(zip(infos, types, strict=True)):
            if not compatible(_drop_symbols(info), _drop_symbols(decode(each))):
                raise OpProblem(f"{what} #{index} ({describe(info)}) does not fit that of {shown} ({each})")


def _drop_symbols(info: Info) -> Info:
    """Return the info without symbols, whose names are local to a function."""
    if not isinstance(info, TensorInfo) or info.shape is None:
        return info
    return info.with_shape(_drop_symbolic(info.shape))


def _drop_symbolic(shape: Sequence[Dim]) -> list[int | None]:
    """Drop symbolic sizes: across functions, only static sizes can contradict."""
    return [dim if isinstance(dim, int) else None for dim in shape]


def _check_returned(call: Call, returned: Sequence[Type], results: Sequence[Info]) -> None:
    """Check the results: a PrimFunc on tensors returns its outputs; one on memrefs returns nothing."""
    if len(returned) != len(results):
        raise OpProblem(f"@{call.func} returns {len(returned)} values, but the call has {len(results)} results")
    for index, (info, type_) in enumerate(zip(results, returned, strict=True)):
        if not _fits(info, type_):
            raise OpProblem(f"result #{index} ({describe(info)}) is not what @{call.func} returns ({type_})")


def _fits(info: Info, parameter: Type) -> bool:
    """Check whether a value fits a parameter.

    Tensors fit tensors and memrefs of the same element type and rank, unless sizes contradict.
    """
    if not isinstance(info, TensorInfo):
        return compatible(info, decode(parameter))
    if not isinstance(parameter, ir.ShapedType) or isinstance(parameter, ir.VectorType):
        return False
    # PrimFuncs are signless: their operations state the signedness of numbers.
    if str(parameter.element_type) not in (info.dtype, signless(info.dtype)):
        return False
    if not parameter.has_rank or info.shape is None:
        return True
    sizes = [None if size == DYNAMIC else size for size in parameter.shape]
    return compatible_dims(_drop_symbolic(info.shape), sizes)


def _check_inplace(call: Call, results: Sequence[Info], without: str) -> None:
    """Check the indices of the overwritten arguments, or -1, for each result.

    `without` names the operator for calls without any.
    """
    indices: tuple[int, ...] = call.inplace_indices
    if len(indices) != len(results):
        raise OpProblem(f"attribute 'inplace_indices' has {len(indices)} entries for {len(results)} results")
    if all(index == -1 for index in indices):
        raise OpProblem(f"attribute 'inplace_indices' names no argument: use {without}")
    for position, index in enumerate(indices):
        if not -1 <= index < len(call.args):
            count = len(call.args)
            raise OpProblem(f"attribute 'inplace_indices': {index} is no argument (there are {count}) nor -1")
        if index != -1 and indices.count(index) > 1:
            raise OpProblem(f"attribute 'inplace_indices': argument {index} is named for two results")
        if index != -1 and not compatible(call.args[index], results[position]):
            result, argument = describe(results[position]), describe(call.args[index])
            raise OpProblem(f"result #{position} ({result}) cannot take the place of argument #{index} ({argument})")


def _check_allocated(results: Sequence[Info], outputs: Sequence[int]) -> None:
    """Check that the result types state a known rank: the caller allocates these results."""
    if not results:
        raise OpProblem("has no result for the function to write to")
    for index in outputs:
        info = results[index]
        if not isinstance(info, TensorInfo) or info.shape is None:
            wanted = "a tensor of known rank, because the caller allocates it"
            raise OpProblem(f"result #{index} must be {wanted}, got {describe(info)}")


def _verify_dps_packed(operation: Operation, call: Call) -> None:
    _check_name(call, "external function")
    _check_passable("operand 'args'", call.args)
    results = _results(operation)
    _check_allocated(results, list(range(len(results))))


def _verify_packed(operation: Operation, call: Call) -> None:
    _check_name(call, "packed function")
    _check_passable("operand 'args'", call.args)
    _check_passable("result", _results(operation))


def _verify_inplace_packed(operation: Operation, call: Call) -> None:
    _verify_packed(operation, call)
    _check_inplace(call, _results(operation), "relax.call_pure_packed")


def _check_name(call: Call, what: str) -> None:
    if not call.func:
        raise OpProblem(f"attribute 'func' is empty: name the {what}")


def _check_passable(what: str, infos: Sequence[Info]) -> None:
    for index, info in enumerate(infos):
        if isinstance(info, (OtherInfo, VectorInfo)):
            raise OpProblem(f"{what} #{index} ({describe(info)}) is nothing that packed functions can pass")


_FUNC = {"func": Symbol(doc="PrimFunc to call")}
_NAME = {"func": Str(doc="name of the external function")}
_INPLACE = Ints(doc="for each result, the argument that it overwrites, or -1")

op("call_tir", "*args:any", attrs=_FUNC, results="*results", explicit="out_ty", verify=_verify_call_tir,
   signature="func args out_ty", role="call", destinations=True,
   doc="Calls a PrimFunc in destination-passing style.")  # fmt: skip
op("call_tir_inplace", "*args:any", attrs={**_FUNC, "inplace_indices": _INPLACE}, results="*results", explicit="out_ty",
   verify=_verify_call_tir_inplace, signature="func args inplace_indices out_ty", role="call",
   inplace="inplace_indices", destinations=True,
   doc="Calls a PrimFunc that writes results into some of its arguments.")  # fmt: skip
op("call_dps_packed", "*args:any", attrs=_NAME, results="*results", explicit="out_ty", verify=_verify_dps_packed,
   signature="func args out_ty", role="call", destinations=True,
   doc="Calls an external function in destination-passing style.")  # fmt: skip
op("call_external", "*args:any", attrs={"func": Symbol(doc="symbols of module and function")}, results="*results",
   explicit="out_ty", verify=_verify_call_external, signature="func args out_ty", role="call", destinations=True,
   doc="Calls a function of an external module, which a codegen compiles.")  # fmt: skip
op("call_pure_packed", "*args:any", attrs=_NAME, results="*results", explicit="ty_args", verify=_verify_packed,
   signature="func args ty_args", role="call",
   doc="Calls a packed function without side effects.")  # fmt: skip
op("call_packed", "*args:any", attrs=_NAME, results="*results", explicit="ty_args", verify=_verify_packed, pure=False,
   own=True, signature="func args ty_args", role="call", writes="args",
   doc="Calls a packed function that may have side effects.")  # fmt: skip
op("call_inplace_packed", "*args:any", attrs={**_NAME, "inplace_indices": _INPLACE}, results="*results",
   explicit="ty_args", verify=_verify_inplace_packed, signature="func args inplace_indices ty_args", role="call",
   inplace="inplace_indices",
   doc="Calls a packed function that writes results into some of its arguments.")  # fmt: skip
