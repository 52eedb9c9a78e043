# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addition of a function that computes gradients of another function's result. The folder gradient/ has the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, has_body, last_of, symbol_name
from relax_mlir.bindings.rewriting import located_error
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo, describe, is_float
from relax_mlir.dialects.core.ir_attributes import RESULT_GROUPS, RESULT_LABELS, RESULT_NAMES, STRUCTURE
from relax_mlir.dialects.relax.function_attributes import VISIBILITY, argument_names
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.passes.graph.relax_inline import inline_calls_in
from relax_mlir.support.errors import OptionError
from relax_mlir.support.suggest import suggest

from .gradient.operation_path import forwards, unused_in
from .gradient.remembered import Remembered, erase_unused
from .gradient.reverse import gradients
from .gradient.scf_derivatives import Options


@register_pass
@dataclass(frozen=True)
class Gradient(Pass):
    """Add @f_adjoint for a function @f. It returns the results of @f, then the gradients of one scalar result."""

    name: ClassVar[str] = "relax-gradient"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "scf", "arith", "tensor")

    #: Function to differentiate.
    function: str = "main"
    #: Parameters to differentiate by. Default: all float tensors.
    wrt: tuple[str, ...] = ()
    #: Index of the result to differentiate.
    target_index: int = 0
    #: Number of iterations of a loop per stored state. The states between are recomputed.
    checkpoint_every: int = 1

    def __post_init__(self) -> None:
        if self.target_index < 0:
            raise OptionError(f"pass '{self.name}': target-index must be 0 or more, got {self.target_index}")
        if self.checkpoint_every < 1:
            raise OptionError(f"pass '{self.name}': checkpoint-every must be 1 or more, got {self.checkpoint_every}")

    def run(self, op: Operation) -> None:
        options = Options(self.checkpoint_every, replaces_loops=True)
        add_adjoint(function_of(op, self.function), self.wrt, self.target_index, options)


def function_of(module: Operation, name: str) -> Operation:
    """Return the function with this name. Raises OptionError if there is none."""
    functions = {symbol_name(function): function for function in functions_in(module)}
    if name not in functions:
        raise OptionError(f"the module has no function @{name}{suggest(name, functions)}")
    return functions[name]


def add_adjoint(function: Operation, wrt: tuple[str, ...], target_index: int, options: Options) -> Operation:
    """Insert the adjoint behind the function that it differentiates, and return it."""
    name = f"{symbol_name(function)}_adjoint"
    _check(function, name, target_index)
    places = parameters(function, wrt)
    adjoint = function.clone(ip=ir.InsertionPoint.after(function)).operation
    try:
        adjoint.attributes["sym_name"] = ir.StringAttr.get(name)
        if VISIBILITY in adjoint.attributes:
            del adjoint.attributes[VISIBILITY]
        inline_calls_in(adjoint, function)
        _append_gradients(adjoint, places, target_index, options)
    except BaseException:
        adjoint.erase()
        raise
    return adjoint


def _check(function: Operation, name: str, target_index: int) -> None:
    around = symbol_name(function)
    if not has_body(function):
        raise located_error(f"@{around} has no body to differentiate", function.location)
    if len(function.regions[0].blocks) > 1:
        raise located_error(f"@{around} has several blocks: only one can be differentiated", function.location)
    if any(symbol_name(other) == name for other in functions_in(function.parent)):
        raise located_error(f"the module has a function @{name} already", function.location)
    returned = list(last_of(body_of(function)).operands)
    if target_index >= len(returned):
        raise located_error(f"@{around} has no result #{target_index}: it returns {len(returned)}", function.location)
    info = decode(returned[target_index].type)
    if not isinstance(info, TensorInfo) or info.rank != 0 or not is_float(info.dtype):
        raise located_error(
            f"result #{target_index} of @{around} is {describe(info)}: only a 0-D tensor of floats can be "
            "differentiated",
            last_of(body_of(function)).location,
        )


def parameters(function: Operation, wrt: tuple[str, ...]) -> list[int]:
    """Return the positions of the parameters with these names, or of all float tensors if there are no names."""
    arguments, names = list(body_of(function).arguments), argument_names(function)
    if not wrt:
        places = [place for place, argument in enumerate(arguments) if _is_float(argument)]
        if not places:
            raise located_error(f"@{symbol_name(function)} has no parameter of floats", function.location)
        return places
    for name in wrt:
        if name not in names:
            raise located_error(
                f"@{symbol_name(function)} has no parameter '{name}'{suggest(name, names)}", function.location
            )
        argument = arguments[names.index(name)]
        if not _is_float(argument):
            raise located_error(
                f"parameter '{name}' of @{symbol_name(function)} is {describe(decode(argument.type))}: only tensors of "
                "floats have gradients",
                function.location,
            )
        if wrt.count(name) > 1:
            raise OptionError(f"wrt names '{name}' twice")
    return [names.index(name) for name in wrt]


def _is_float(value: Value) -> bool:
    info = decode(value.type)
    return isinstance(info, TensorInfo) and is_float(info.dtype)


def _append_gradients(function: Operation, places: list[int], target_index: int, options: Options) -> None:
    block = body_of(function)
    end = last_of(block)
    arguments = list(block.arguments)
    xs = [arguments[place] for place in places]
    remembered = Remembered()
    depending, unused = forwards(block, xs)
    with ir.InsertionPoint(end):
        y = end.operands[target_index]
        made = gradients(y, xs, options=options, step_of=depending.get, remembered=remembered)
    with end.location, ir.InsertionPoint(end):
        # The gradients may have replaced loops, so the results are looked up again.
        returned = [*end.operands, *made]
        ir.Operation.create("func.return", operands=returned)
    # Rules recompute values of which the gradients need only a part.
    erase_unused(unused_in(function) if remembered.has_unused else unused)
    end.erase()
    types = ir.FunctionType.get([argument.type for argument in arguments], [value.type for value in returned])
    function.attributes["function_type"] = ir.TypeAttr.get(types)
    # The number and the kinds of the results have changed.
    for name in (RESULT_NAMES, RESULT_LABELS, RESULT_GROUPS, STRUCTURE, "res_attrs"):
        if name in function.attributes:
            del function.attributes[name]
