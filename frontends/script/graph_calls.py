# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Special calls in graphs, which are not operators of the tables: constants, shapes, casts, calls of functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence

from ...bindings.ir import Value
from ...dialects.core.infos import Info, dtype_name
from ...dialects.relax import const
from ...emit.arithmetic import constant_value, element
from ...support.registry import entering
from .annotations import TYPE_ARGUMENTS, argument_of, arguments_of, leaves
from .effects import Effect
from .graph_values import SPECIAL, Allocated, Callee, GraphValues, relax
from .module_prim_funcs import PrimFunc
from .names import RELAX, TIR, NotConstant
from .program import Buffer

_special = entering(SPECIAL)

#: Names of these floats in the output of TVM's printer.
_NO_NUMBERS = ("inf", "-inf", "nan")


@_special("const")
def _constant(graph: GraphValues, call: ast.Call) -> object:
    arguments = arguments_of(graph.names, call, ("value", "dtype"), 1)
    try:
        value = graph.names.constant(arguments["value"])
    except NotConstant:
        message = "a constant must be a number, an array or nested lists of numbers"
        raise graph.source.problem(arguments["value"], message) from None
    dtype = graph.annotations.dtype(arguments["dtype"]) if "dtype" in arguments else None
    if isinstance(value, str) and value in _NO_NUMBERS:
        value = float(value)
    return graph.source.guarded(call, lambda: const(list(value) if isinstance(value, tuple) else value, dtype))


_special("tuple")(lambda graph, call: tuple(map(graph.value, call.args)))
# An attribute may be negative; a size may not.
_special("emit", "prim_value")(lambda graph, call: graph.value(argument_of(graph.names, call, "value")))
_special("ExternFunc")(lambda graph, call: Callee(_text(graph, argument_of(graph.names, call, "global_symbol"))))


@_special("shape")
def _shape(graph: GraphValues, call: ast.Call) -> object:
    dims = graph.annotations.shape(argument_of(graph.names, call, "value"))
    return graph.source.guarded(call, lambda: relax["shape_expr"](dims))


@_special("null_value")
def _nothing(graph: GraphValues, call: ast.Call) -> None:
    """Return None for an omitted argument. An operator that needs the argument reports it."""
    arguments_of(graph.names, call, ())


@_special("one_hot")
def _one_hot(graph: GraphValues, call: ast.Call) -> object:
    """Build R.one_hot(x, T.float32(1), T.float32(0), depth, axis). Its values determine the result's element type."""
    arguments = arguments_of(graph.names, call, ("indices", "on_value", "off_value", "depth", "axis"), 4)
    named = {name: graph.value(node) for name, node in arguments.items()}
    for name in ("on_value", "off_value"):
        kind, word = graph.names.word(arguments[name])
        if kind == TIR and isinstance(value := named[name], (bool, int, float)):
            named[name] = constant_value(value, element(dtype_name(word) or word))
    return graph.built(call, relax["one_hot"], (), named)


@_special("TupleGetItem")
def _tuple_get_item(graph: GraphValues, call: ast.Call) -> object:
    arguments = arguments_of(graph.names, call, ("tuple_value", "index"), 2)
    return graph.read_element(
        ast.copy_location(ast.Subscript(arguments["tuple_value"], arguments["index"], ast.Load()), call)
    )


@_special("match_cast", "emit_match_cast")
def _match_cast(graph: GraphValues, call: ast.Call) -> object:
    arguments = arguments_of(graph.names, call, ("value", "struct_info"), 2)
    value, stated = graph.value(arguments["value"]), graph.annotations.type(arguments["struct_info"], new=True)

    def cast(leaf: object, info: Info) -> object:
        return graph.source.guarded(call, lambda: relax["match_cast"](graph.ssa(call, leaf), info))

    return graph.each_stated(call, value, stated, cast)


#: Prefix of the builtin functions of TVM's virtual machine.
_OF_MACHINE = "vm.builtin."
#: Builtin functions that graphs call before TVM lowers them, and the corresponding operators.
_MACHINES = {"vm.builtin.tensor_to_shape": "tensor_to_shape", "vm.builtin.reshape": "reshape"}


def _text(graph: GraphValues, node: ast.expr) -> str:
    if isinstance(node, ast.Call) and graph.names.word(node) == (RELAX, "ExternFunc"):
        node = node.args[0] if node.args else node
    held = graph.values.get(node.id) if isinstance(node, ast.Name) else None
    value = held.name if isinstance(held, Callee) else graph.names.found(node)
    if not isinstance(value, str):
        raise graph.source.problem(node, "the name of a function must be text")
    return value


def _places(graph: GraphValues, node: ast.expr) -> tuple[int, ...]:
    """Return the positions of the arguments that results overwrite."""
    value = graph.names.found(node)
    places = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(place, int) for place in places):
        raise graph.source.problem(node, "the positions of arguments must be numbers")
    return places


def _passed(graph: GraphValues, node: ast.expr) -> list[Value]:
    """Return the arguments of a call, a tuple or a single value."""
    return [graph.ssa(node, leaf) for leaf in leaves(graph.value(node))]


def _stated(graph: GraphValues, node: ast.expr) -> object:
    """Return the types that a call states: a list if the results are a tuple."""
    is_several = isinstance(node, (ast.List, ast.Tuple))
    found = graph.types(node)
    tree = None if is_several else graph.annotations.type(node)
    return found if is_several or type(tree) is tuple else found[0]


@_special("call_tir", "call_tir_with_grad")
def _call_tir(graph: GraphValues, call: ast.Call) -> object:
    names = ("func", "args", "out_sinfo", "tir_vars")
    given = arguments_of(graph.names, call, (*names, "te_grad_name", "te_grad_kwargs"), 3)
    prim, arguments = _prim_func(graph, given["func"]), _passed_with_sizes(graph, given)
    stated = _stated(graph, given["out_sinfo"])
    buffers = [parameter for parameter in prim.program.parameters if isinstance(parameter, Buffer)]
    types = leaves(tuple(stated) if isinstance(stated, list) else stated)
    _check_written(graph, call, prim, dict(zip(reversed(buffers), reversed(types), strict=False)))
    if prim.kept:
        prim = graph.module.cleared(prim.program.name)
    return graph.built(call, relax["call_tir"], (prim.symbol, arguments), {"out_ty": stated})


def _check_written(graph: GraphValues, call: ast.Call, prim: PrimFunc, results: Collection[Buffer]) -> None:
    """Check that the call needs no previous contents of its results, and that no other argument is written to."""
    for buffer, effect in prim.effects.items():
        position = prim.program.parameters.index(buffer)
        hint = f"R.call_tir_inplace(cls.{prim.program.name}, (...), [{position}, ...], ...) passes it and returns it"
        if buffer not in results:
            message = (
                f"'{prim.program.name}' writes to its argument '{buffer.name}', but values of a graph are immutable"
            )
            raise graph.source.problem(call, f"{message}; {hint}")
        if effect is Effect.READS:
            message = f"'{prim.program.name}' reads its result '{buffer.name}' before it writes it"
            raise graph.source.problem(call, f"{message}; {hint}")


@_special("call_tir_inplace")
def _call_tir_inplace(graph: GraphValues, call: ast.Call) -> object:
    names = ("func", "args", "inplace_indices", "out_sinfo", "tir_vars")
    given = arguments_of(graph.names, call, names, 4)
    arguments = _passed_with_sizes(graph, given)
    named = {"inplace_indices": _places(graph, given["inplace_indices"]), "out_ty": _stated(graph, given["out_sinfo"])}
    return graph.built(call, relax["call_tir_inplace"], (_prim_func(graph, given["func"]).symbol, arguments), named)


@_special("call_dps_packed")
def _call_dps_packed(graph: GraphValues, call: ast.Call) -> object:
    given = arguments_of(graph.names, call, ("func", "args", "out_sinfo"), 3)
    passed = [_packed(graph, given["args"], leaf) for leaf in leaves(graph.value(given["args"]))]
    arguments = (_text(graph, given["func"]), passed)
    return graph.built(call, relax["call_dps_packed"], arguments, {"out_ty": _stated(graph, given["out_sinfo"])})


@_special("call_packed", "call_pure_packed", "call_inplace_packed")
def _call_packed(graph: GraphValues, call: ast.Call) -> object:
    _, word = graph.names.word(call)
    if not call.args:
        raise graph.source.problem(call, f"R.{word} lacks the function's name")
    name, arguments = _text(graph, call.args[0]), call.args[1:]
    if name in _MACHINES:
        return graph.built(call, relax[_MACHINES[name]], tuple(map(graph.value, arguments)), {})
    if name.startswith(_OF_MACHINE):
        hint = "read the module as it was before tvm.compile"
        raise graph.source.problem(
            call, f"this function belongs to TVM's virtual machine, which does not exist here: {hint}"
        )
    named: dict[str, object] = {"ty_args": []}
    for keyword in call.keywords:
        if keyword.arg in TYPE_ARGUMENTS:
            named["ty_args"] = _stated(graph, keyword.value)
        elif keyword.arg == "inplace_indices" and word == "call_inplace_packed":
            named["inplace_indices"] = _places(graph, keyword.value)
        else:
            known = ("sinfo_args", "ty_args")
            raise graph.source.problem(keyword.value, f"no argument '{keyword.arg}'", known, str(keyword.arg))
    held = [(argument, leaf) for argument in arguments for leaf in leaves(graph.held(argument))]
    written = [leaf for _, leaf in held if isinstance(leaf, Allocated) and leaf.value is None]
    if written and [leaf for _, leaf in held[-len(written) :]] == written and not named["ty_args"]:
        values = [_packed(graph, each, leaf) for each, leaf in held[: -len(written)]]
        return _write_packed(graph, call, (name, values), written)
    values = [_packed(graph, each, leaf) for each, leaf in held]
    return graph.built(call, relax[word], (name, values), named)


def _write_packed(
    graph: GraphValues, call: ast.Call, arguments: tuple[str, list[Value]], written: Sequence[Allocated]
) -> object:
    """Build a call with uninitialized memory as last arguments: TVM's lowered form of R.call_dps_packed."""
    made = graph.built(call, relax["call_dps_packed"], arguments, {"out_ty": [each.info for each in written]})
    for allocated, value in zip(written, made if isinstance(made, tuple) else (made,), strict=True):
        allocated.value = value
    return written[0].value


def _packed(graph: GraphValues, node: ast.expr, leaf: object) -> Value:
    """Return an argument of a packed function as an SSA value. Truth values and floats of Python keep their type."""
    if isinstance(leaf, (bool, float)):
        return constant_value(leaf, element("i1" if isinstance(leaf, bool) else "f64"))
    return graph.ssa(node, leaf)


def _prim_func(graph: GraphValues, node: ast.expr) -> PrimFunc:
    callee = graph.value(node)
    if not isinstance(callee, Callee) or callee.name not in graph.module.prim_funcs:
        raise graph.source.problem(node, "expected a PrimFunc of this module: cls.name", graph.module.prim_funcs)
    return graph.module.prim_funcs[callee.name]


def _passed_with_sizes(graph: GraphValues, exprs: Mapping[str, ast.expr]) -> list[Value]:
    """Return the arguments of a call, followed by the sizes."""
    sizes: list[Value] = []
    if (node := exprs.get("tir_vars")) is not None:
        if isinstance(node, ast.Call) and graph.names.word(node) == (RELAX, "shape"):
            node = argument_of(graph.names, node, "values")
        sizes = [graph.ssa(node, dim) for dim in graph.annotations.shape(node)]
    return [*_passed(graph, exprs["args"]), *sizes]
