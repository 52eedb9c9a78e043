# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interpretation of modules: functions before and after a pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from relax_mlir.bindings.mlir import as_list, ir
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import DTYPE_BY_NAME, ScalarInfo
from relax_mlir_proof.interpreter.execution import Machine
from relax_mlir_proof.interpreter.sites import Frame, Slots

import relax_mlir as rx


def run_function(module: rx.Module, arguments: Sequence[Any], name: str = "main") -> list[Any]:
    """Return the results of a function: arrays for tensors, tuples of sizes for shapes."""
    return Machine(module.operation).call(name, arguments)


def values_in(module: rx.Module, block: Any, arguments: Sequence[Any]) -> dict[Any, Any]:
    """Return the values of the operations in a function's block so far."""
    machine = Machine(module.operation)
    slots = Slots(machine.numbers)
    body = machine.prepared(block.region, slots)
    frame = Frame(len(slots), slots.constants)
    for parameter, argument in zip(block.arguments, arguments, strict=True):
        assert not frame.match(decode(parameter.type), argument)
    with numpy.errstate(all="ignore"):
        body.run(frame, arguments)
    return {value: frame.values[slot] for value, slot in slots.items()}


def same(one: Any, other: Any) -> bool:
    """Check whether two results agree to the last bit. All NaNs are equal."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        return bool(one == other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool((one == other).all())
    signs = (numpy.signbit(one) == numpy.signbit(other)) | numpy.isnan(one)
    return bool(numpy.array_equal(one, other, equal_nan=True) and signs.all())


def function_of(module: rx.Module, name: str = "main") -> Any:
    return ir.SymbolTable(module.operation)[name]


def meant(name: str, *arguments: Any, wide: bool = False, symbols: Any = None, **attributes: Any) -> Any:
    """Return the result of an operator's reference.

    Arrays are arguments of the function; other values are constants in it. numpy's numbers are scalars that are known
    at run time only. `symbols` are the arrays' shapes in the module.
    """
    passed = numpy.ndarray, numpy.generic
    flat = [each for argument in arguments for each in (argument if isinstance(argument, list) else [argument])]
    given = [each for each in flat if isinstance(each, passed)]
    shapes = iter(symbols or [each.shape for each in given if isinstance(each, numpy.ndarray)])
    infos = [
        rx.tensor(next(shapes), DTYPE_BY_NAME[each.dtype.name])
        if isinstance(each, numpy.ndarray)
        else ScalarInfo(DTYPE_BY_NAME[each.dtype.name])
        for each in given
    ]
    module = rx.Module()
    with module.function("main", infos) as f:
        parameters = iter(f)

        def operand(argument: Any) -> Any:
            if isinstance(argument, list):
                return [operand(each) for each in argument]
            return next(parameters) if isinstance(argument, passed) else argument

        operands = list(map(operand, arguments))
        f.returns(*as_list(rx.find_op(f"relax.{name}")(*operands, **attributes)))
    return rx.reference(module, wide=wide)["main"](*given)
