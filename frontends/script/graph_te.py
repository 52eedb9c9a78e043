# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`R.emit_te(function, x, y)` in graphs of a running program: a te function defines each element."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...bindings.context import load_dialects
from ...bindings.ir import Value
from ...bindings.mlir import as_list, ir
from ...bindings.navigation import functions_in, symbol_name
from ...dialects.core.codec import decode
from ...dialects.core.infos import TensorInfo, describe
from ...dialects.tir.prim_func import make_prim_func
from ...emit.kernels import parameter_type
from ...support.errors import RelaxError
from ...support.names import fresh_name
from .graph_values import SPECIAL, GraphValues, relax
from .names import NotConstant

if TYPE_CHECKING:
    from ...emit.te.tensors import Placeholder, Tensor


def _passed(graph: GraphValues, values: dict[Placeholder, Value], node: ast.AST, value: object) -> object:
    """Return an argument for a te function: a placeholder for a tensor, and all other values unchanged."""
    from ...emit.te.dependence_graph import placeholder_of  # long to load, and few graphs ask

    if type(value) is tuple:
        return [_passed(graph, values, node, each) for each in value]
    if not isinstance(value, ir.Value):
        return value
    info = decode(value.type)
    if not isinstance(info, TensorInfo) or info.shape is None:
        raise graph.source.problem(node, f"a function of te takes tensors of known rank, not {describe(info)}")
    placeholder = placeholder_of(info.shape, info.dtype, len(values))
    values[placeholder] = value
    return placeholder


def _emit_te(graph: GraphValues, call: ast.Call) -> object:
    if not call.args or any(keyword.arg is None for keyword in call.keywords):
        raise graph.source.problem(call, "R.emit_te takes a function of te and its arguments")
    first, *rest = call.args
    try:
        function = graph.names.running(first)
    except NotConstant:
        hint = "R.call_tir(cls.f, ...) calls a PrimFunc of the module"
        message = f"R.emit_te calls a function of the running program, and '{ast.unparse(first)}' is not one; {hint}"
        raise graph.source.problem(first, message) from None
    values: dict[Placeholder, Value] = {}
    positional = [_passed(graph, values, each, graph.value(each)) for each in rest]
    named = {
        str(keyword.arg): _passed(graph, values, keyword.value, graph.value(keyword.value)) for keyword in call.keywords
    }
    try:
        outputs = as_list(function(*positional, **named))
    except RelaxError:
        raise
    except Exception as error:  # user code may raise any error
        message = f"'{ast.unparse(first)}' raised {type(error).__name__}: {error}"
        raise graph.source.problem(call, message) from error
    symbol, results = _prim_func(graph, call, getattr(function, "__name__", "te"), values, outputs)
    stated = results if len(results) > 1 else results[0]
    return graph.built(call, relax["call_tir"], (symbol, list(values.values())), {"out_ty": stated})


def _prim_func(
    graph: GraphValues, call: ast.Call, name: str, values: dict[Placeholder, Value], outputs: list[Tensor]
) -> tuple[str, list[TensorInfo]]:
    """Build the module's function that computes the tensors, and return its name and their types."""
    from ...emit.te.dependence_graph import needs_memory
    from ...emit.te.emission import Emission
    from ...emit.te.tensors import Placeholder, Tensor
    from ...emit.te.tracing import DIALECTS

    wrong = [output for output in outputs if not isinstance(output, Tensor) or isinstance(output, Placeholder)]
    if wrong or not outputs:
        shown = repr(wrong[0]) if wrong else "nothing"
        raise graph.source.problem(call, f"the function must return tensors that te computes, not {shown}")
    owner = graph.module.owner
    load_dialects(graph.module.context, ("func", *DIALECTS))
    results = [Placeholder(output.shape, output.name, output.place, output.dtype).info for output in outputs]
    on_memory = needs_memory(outputs)
    infos = [*(placeholder.info for placeholder in values), *results]
    types = [parameter_type(info, graph.module.context, on_memrefs=on_memory) for info in infos]

    def body(*parameters: Value) -> object:
        emission = Emission(dict(zip(values, parameters, strict=False)), on_memory=on_memory)
        return emission.emit(outputs, parameters[len(values) :])

    taken = [*graph.module.functions, *map(symbol_name, functions_in(owner.operation))]
    symbol = fresh_name(name if name.isidentifier() else "te", taken)
    with ir.InsertionPoint.at_block_begin(owner.body):
        attributes = {"sym_visibility": ir.StringAttr.get("private")}
        make_prim_func(symbol, types[: len(values)], types[len(values) :], body, attributes=attributes)
    return symbol, results


SPECIAL["emit_te"] = _emit_te
