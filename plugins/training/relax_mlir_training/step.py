# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training step as one function: a loss, its gradients, and the update of the parameters by an optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, function_type_of, functions_in, symbol_name
from relax_mlir.dialects.core.codec import encode
from relax_mlir.dialects.relax.function_attributes import VISIBILITY, argument_names, function_attributes
from relax_mlir.dialects.relax.values import tensor_info
from relax_mlir.support.errors import RelaxError

from .gradient.scf_derivatives import Options
from .optimizers import Optimizer
from .relax_gradient import add_adjoint, parameters


def add_step(
    owner: Operation,
    function: Operation,
    optimizer: Optimizer,
    wrt: tuple[str, ...],
    target_index: int,
    options: Options,
) -> str:
    """Add @f_step for a function @f, and the private @f_adjoint and @f_update that it calls.

    @f_step takes the arguments of @f, then the states. It returns the results of @f, the new parameters and the new
    states.
    """
    name = symbol_name(function)
    taken = {symbol_name(each) for each in functions_in(owner)}
    for new in (f"{name}_step", f"{name}_update"):
        if new in taken:
            raise RelaxError(f"the module has a function @{new} already")
    places = parameters(function, wrt)
    names = argument_names(function)
    infos = {names[place]: tensor_info(body_of(function).arguments[place]) for place in places}
    added = {**optimizer.states(infos), **optimizer.arguments()}
    for each in added:
        if each in names:
            raise RelaxError(f"@{name} has a parameter '{each}', a name that the optimizer's function needs")
    adjoint = add_adjoint(function, wrt, target_index, options)
    try:
        adjoint.attributes[VISIBILITY] = ir.StringAttr.get("private")
        update = optimizer.add_to(owner, infos, f"{name}_update", private=True)
    except BaseException:
        adjoint.erase()
        raise
    _build(owner, function, places, names, update, added)
    return f"{name}_step"


def _build(
    owner: Operation,
    function: Operation,
    places: Sequence[int],
    names: Sequence[str],
    update: str,
    added: dict[str, Any],
) -> None:
    name = symbol_name(function)
    own = [argument.type for argument in body_of(function).arguments]
    results = list(function_type_of(function).results)
    trained = [own[place] for place in places]
    extra = [encode(info, owner.context) for info in added.values()]
    states = extra if "lr" not in added else extra[:-1]
    with ir.InsertionPoint(body_of(owner)):
        attributes = function_attributes(
            f"{name}_step", [*own, *extra], [*results, *trained, *states], [*names, *added]
        )
        made = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = made.regions[0].blocks.append(*own, *extra)
    arguments = list(block.arguments)
    with ir.InsertionPoint(block):
        found = _call(f"{name}_adjoint", arguments[: len(own)], [*results, *trained])
        before = [arguments[place] for place in places]
        after = _call(update, [*before, *found[len(results) :], *arguments[len(own) :]], [*trained, *states])
        ir.Operation.create("func.return", operands=[*found[: len(results)], *after])


def _call(name: str, operands: Sequence[Value], results: Sequence[Type]) -> list[Value]:
    attributes = {"callee": ir.FlatSymbolRefAttr.get(name)}
    call = ir.Operation.create("func.call", attributes=attributes, operands=list(operands), results=list(results))
    return list(call.results)
