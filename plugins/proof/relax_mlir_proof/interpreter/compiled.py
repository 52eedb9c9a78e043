# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowered functions as programs of LLVM at -O0: PrimFuncs, graph functions on memory, and host code.

A program goes through the required stages of the plain target llvm, even if another target lowered the function. The
stages bufferize, add host code and run upstream's conversions. No stage fuses, plans or schedules loops, places
constants, keeps an arena or shares loops between threads. A wrong pass of these kinds cannot change the evaluation.
The programs check each access to memory, until the stage `errors` has run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from relax_mlir.bindings.ir import Location, Module, Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import (
    body_of,
    function_type_of,
    functions_in,
    innermost,
    operations_in,
    operations_named,
    operations_of,
    symbol_name,
)
from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.core.ir_attributes import DEVICE, GRAPH_INPUTS
from relax_mlir.dialects.tir.prim_func import is_prim_func
from relax_mlir.passes.core.evaluating import evaluating_by
from relax_mlir.passes.core.pipeline import Pipeline
from relax_mlir.passes.kernels.tir_check_bounds import CheckBounds
from relax_mlir.runtime.arrays import tensor, to_numpy
from relax_mlir.runtime.executable import Executable
from relax_mlir.support.errors import OptionError, RefusalError
from relax_mlir.targets.core.code import build, stages_of
from relax_mlir.targets.core.code_options import code_options
from relax_mlir.targets.core.registry import parse_target

from .element_bits import element_of
from .held_values import stored
from .instructions import emulate_instructions, unknown_instruction
from .sites import IS_CODE, refusal

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.runtime.artifact import Artifact

#: Python functions by name, which programs call.
Functions: TypeAlias = Mapping[str, Callable[..., Any]]

_HOST = "llvm{bounds=check}"
#: Additional stages for graph functions on tensors.
_FROM_TENSORS = ("intrinsics", "bufferize")
#: Stages of every program.
_FROM_MEMORY = ("small-types", "entries", "errors", "calls", "to-llvm")
#: Passes of a program that has entries, without statuses of functions and with them.
_FROM_ENTRIES = ("tir-check-bounds", "errors", "calls", "to-llvm")
_FROM_STATUSES = ("calls", "to-llvm")
_REFERRING = frozenset("func.call func.constant memref.get_global llvm.mlir.addressof llvm.call".split())
_DEVICE = frozenset("gpu nvvm rocdl spirv nvgpu amx".split())


def is_lowered(function: Operation) -> bool:
    """Check whether passes have lowered a graph function to memory."""
    return GRAPH_INPUTS in function.attributes


def is_compiled(function: Operation) -> bool:
    return is_prim_func(function) or is_lowered(function)


def program_of_graph(module: Operation, functions: Functions) -> Executable:
    """Compile a module of graph functions on memory."""
    for function in functions_in(module):
        _require_host(function)
    return _program(_copy(module), _FROM_MEMORY, functions)


def program_of_host_code(module: Operation, functions: Functions) -> Executable:
    """Compile a module with host code: the stage `entries` has run, and later stages may have run, too."""
    if DEVICE in module.attributes:
        raise RefusalError(f"the module has code of a device: {IS_CODE}")
    _require_host(module)
    has_statuses = not any(map(is_lowered, functions_in(module)))  # the stage `errors` removes the attribute
    return _program(_copy(module), _FROM_STATUSES if has_statuses else _FROM_ENTRIES, functions)


def _copy(module: Operation) -> Module:
    with module.context, module.location:
        copied = ir.Module.create()
        for operation in operations_of(body_of(module)):
            operation.clone(ip=ir.InsertionPoint(copied.body))
        for name in module.attributes:
            copied.operation.attributes[name] = module.attributes[name]
    return copied


class CompiledPrimFunc:
    """PrimFunc that runs as programs, one for each combination of shapes and call."""

    def __init__(self, function: Operation, functions: Functions) -> None:
        _require_host(function)
        self._function, self._functions = function, functions
        self._types = list(function_type_of(function).inputs)
        self._elements = list(map(element_of, self._types))
        self._returned = len(function_type_of(function).results)
        shaped = [place for place, type_ in enumerate(self._types) if isinstance(type_, ir.ShapedType)]
        #: Positions of the arguments that the function may write to: outputs of tensors, or any memory.
        self._written = shaped[len(shaped) - self._returned :] if self._returned else shaped
        self._compiled: dict[tuple[object, ...], Executable] = {}

    def __call__(self, arguments: Sequence[Any], call: Operation | None) -> list[ndarray]:
        """Run the function and return its results. A function on memory returns none and changes its arguments."""
        given = [as_argument(*each) for each in zip(arguments, self._elements, strict=True)]
        found = self._program(tuple(map(numpy.shape, arguments)), call)["main"](*given)
        listed = list(found) if len(self._written) > 1 else [found] * len(self._written)
        results = [
            _like(arguments[place], to_numpy(each, stored(self._elements[place])))
            for each, place in zip(listed, self._written, strict=True)
        ]
        if self._returned:
            return results
        for place, result in zip(self._written, results, strict=True):
            if arguments[place].flags.writeable:
                arguments[place][...] = result
        return []

    def _program(self, shapes: Sequence[tuple[int, ...]], call: Operation | None) -> Executable:
        place = (self._function if call is None else call).location
        key = (*shapes, str(place))
        if key not in self._compiled:
            self._compiled[key] = self._compile(shapes, place)
        return self._compiled[key]

    def _compile(self, shapes: Sequence[tuple[int, ...]], place: Location) -> Executable:
        function = self._function
        with function.context, place:
            types = [_with_sizes(*each) for each in zip(self._types, shapes, strict=True)]
            module = ir.Module.create()
            for reference in _function_and_references(function):
                reference.clone(ip=ir.InsertionPoint(module.body))
            _add_caller(module, symbol_name(function), types, self._written)
        return _compile_cached(str(module.operation.get_asm(enable_debug_info=True)), module, self._functions)


def as_argument(value: Any, element: str) -> object:
    """Return a value as an argument of a program: tensors of the element type, and plain numbers."""
    if not isinstance(value, numpy.ndarray):
        return value.item() if isinstance(value, numpy.generic) else value
    held = stored(element)
    if value.dtype.kind in "iu" and held.kind in "iu" and value.itemsize == held.itemsize:
        value = value.view(held)
    if value.dtype != held and not (value.dtype == numpy.float64 and is_float(element)):
        raise OptionError(f"an argument has elements of {value.dtype}, not {element}")
    return tensor(numpy.array(value, held, order="C"))


def _like(argument: ndarray, result: ndarray) -> ndarray:
    """Return a result with the elements of an argument: wide floats, and integers with their signs."""
    is_integer = argument.dtype.kind in "iu" and result.dtype.kind in "iu"
    return result.view(argument.dtype) if is_integer else result.astype(argument.dtype)


def _with_sizes(type_: Type, shape: Sequence[int]) -> Type:
    return ir.RankedTensorType.get(shape, type_.element_type) if isinstance(type_, ir.ShapedType) else type_


def _add_caller(module: Module, callee: str, types: Sequence[Type], written: Sequence[int]) -> None:
    """Add @main, a graph function that calls a PrimFunc with its own arguments and returns the written ones."""
    results = [types[place] for place in written]
    with ir.InsertionPoint(module.body):
        type_ = ir.TypeAttr.get(ir.FunctionType.get(types, results))
        main = ir.Operation.create(
            "func.func", attributes={"sym_name": ir.StringAttr.get("main"), "function_type": type_}, regions=1
        )
    block = main.regions[0].blocks.append(*types)
    attributes = {"func": ir.FlatSymbolRefAttr.get(callee), "inplace_indices": ir.DenseI64ArrayAttr.get(written)}
    with ir.InsertionPoint(block):
        call = ir.Operation.create(
            "relax.call_tir_inplace", results=results, operands=list(block.arguments), attributes=attributes
        )
        ir.Operation.create("func.return", operands=list(call.results))


def _function_and_references(function: Operation) -> list[Operation]:
    """Return a function, and all functions and constants of its module that the function refers to."""
    symbols = ir.SymbolTable(innermost(function, "builtin.module"))
    found = {symbol_name(function): function}
    for operation in (pending := [function]):
        for name in _references(operation):
            if name not in found and name in symbols:
                found[name] = symbols[name].operation
                pending.append(found[name])
    return list(found.values())


def _references(operation: Operation) -> list[str]:
    """Return the names of the symbols in the attributes of operations inside of an operation."""
    return [
        attribute.value
        for each in operations_named(operation, *_REFERRING)
        for attribute in map(each.attributes.__getitem__, list(each.attributes))
        if isinstance(attribute, ir.FlatSymbolRefAttr)
    ]


def _require_host(function: Operation) -> None:
    """Raise RefusalError for code of a device, and for instructions without a definition."""
    for operation in operations_in(function):
        if operation.name.partition(".")[0] in _DEVICE:
            raise refusal(operation, IS_CODE)
        if name := unknown_instruction(operation):
            raise refusal(operation, f"the reference cannot run {name}: it has no definition of the instruction")


#: Programs of PrimFuncs by their text, which are the same before and after most passes.
_programs: OrderedDict[str, Executable] = OrderedDict()
_MOST_PROGRAMS = 256


def _compile_cached(text: str, module: Module, functions: Functions) -> Executable:
    if functions:
        return _program(module, (*_FROM_TENSORS, *_FROM_MEMORY), functions)
    if text not in _programs:
        _programs[text] = _program(module, (*_FROM_TENSORS, *_FROM_MEMORY), functions)
        if len(_programs) > _MOST_PROGRAMS:
            _programs.popitem(last=False)
    return _programs[text]


def _program(module: Module, names: Sequence[str], functions: Functions) -> Executable:
    # A fresh context hides this compilation from observers (journals, statistics) of another compilation.
    artifact = Context().run(_build, module, names)
    own = {name: _with_arrays(functions[name]) for name in artifact.calls if name in functions}
    return Executable(replace(artifact, functions={**artifact.functions, **own}))


def _with_arrays(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function that a program can call, for a Python function of NumPy arrays."""

    def call(*arguments: object) -> object:
        result = function(
            *(to_numpy(argument) if hasattr(argument, "__dlpack__") else argument for argument in arguments)
        )
        return tensor(result) if isinstance(result, numpy.ndarray) else result

    return call


def _build(module: Module, names: Sequence[str]) -> Artifact:
    with evaluating_by(None):
        emulate_instructions(module.operation)
        if names[0] == CheckBounds.name:
            Pipeline(names[0]).run(module, all_or_nothing=False)
        for stage in stages_of(_HOST, 0):
            if stage.name in names:
                stage.run(module, _HOST)
        return build(module, parse_target(_HOST), code_options(0, 1, False), "")
