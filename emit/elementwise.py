# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise PrimFuncs, which fuse like operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.context import load_dialects
from ..bindings.ir import Value
from ..bindings.mlir import ir
from ..bindings.navigation import innermost
from ..dialects.core.codec import decode, encode
from ..dialects.core.facts import OpPattern
from ..dialects.core.infos import TensorInfo
from ..dialects.relax import dialect
from ..dialects.relax.function_attributes import VISIBILITY
from ..dialects.tir.prim_func import make_prim_func
from ..support.names import fresh_name
from .broadcast import broadcast_generic, broadcast_plan
from .kernels import parameter_type
from .numbers import Number

# Dialects of Numbers and of loops over tensors.
_DIALECTS = ("arith", "linalg", "math", "scf", "tensor", "tir")

#: `function(*numbers, *parameters)` returns the element of the result.
ScalarFunction = Callable[..., Number]


def call_elementwise(
    function: ScalarFunction,
    operands: Sequence[Value],
    parameters: Sequence[object],
    result: TensorInfo,
    known: dict[object, str],
) -> Value:
    """Return a tensor of `function` at each index.

    Operands are broadcast; their types must prove that they fit.

    Equal functions and parameters for equal types share one PrimFunc. `known` maps existing PrimFuncs to their names.
    """
    infos = [decode(operand.type) for operand in operands]
    key = (function, *map(repr, parameters), *(str(operand.type) for operand in operands), str(result))
    if key not in known:
        known[key] = _add(function, infos, parameters, result)
    return dialect.ops["call_tir"](known[key], list(operands), encode(result, ir.Context.current))


def _add(function: ScalarFunction, infos: Sequence[Any], parameters: Sequence[object], result: TensorInfo) -> str:
    context = ir.Context.current
    module = innermost(ir.InsertionPoint.current.block.owner, "builtin.module")
    plans = [broadcast_plan(info, result) for info in infos]
    is_plain = all(plan == list(range(len(result.shape or ()))) for plan in plans)
    load_dialects(context, _DIALECTS)
    inputs = [parameter_type(info, context, on_memrefs=False) for info in infos]
    output = parameter_type(result, context, on_memrefs=False)

    def scalar(*numbers: Number) -> Number:
        return function(*(number.of(info.dtype) for number, info in zip(numbers, infos, strict=True)), *parameters)

    def body(*values: Value) -> Value:
        return broadcast_generic(values[:-1], values[-1], plans, scalar)

    name = fresh_name(f"each_{function.__name__.strip('_')}", ir.SymbolTable(module))
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        make_prim_func(
            name,
            inputs,
            [output],
            body,
            pattern=OpPattern.ELEMWISE if is_plain else OpPattern.BROADCAST,
            attributes={VISIBILITY: ir.StringAttr.get("private")},
        )
    return name
