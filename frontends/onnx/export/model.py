# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export of a graph function as a model: named inputs and outputs, nodes, constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....bindings.ir import Operation
from ....bindings.mlir import string_value
from ....bindings.navigation import body_of, functions_in, has_body, is_private, last_of, symbol_name
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import RESULT_GROUPS, RESULT_NAMES
from ....dialects.relax.function_attributes import argument_names, decode_groups
from ....dialects.tir.prim_func import is_prim_func
from ....support.errors import OptionError
from ....support.suggest import counted, suggest
from ...core.node import Incomplete, Unsupported
from ..tensor_data import ModelProto
from .export_problems import Problems
from .export_values import Held, Ref
from .function_exporter import FunctionExporter, tensor_info
from .graph import Graph
from .model_writer import ModelWriter

LEAST_OPSET = 20
USUAL_OPSET = 21


def export_function(module: Operation, name: str, opset: int) -> ModelProto:
    """Return the model of a graph function, or of the only public one without a name. Raise RelaxError."""
    check_opset(opset)
    function = find_function(module, name)
    problems = Problems()
    exported = exported_graph(function, graph_functions(module), opset, problems)
    problems.check()
    assert exported is not None, "nothing is missing where there are no problems"
    graph, inputs, outputs = exported
    names = list(zip(argument_names(function), inputs, strict=True))
    return ModelWriter(graph).model(symbol_name(function), names, _named(function, outputs))


def exported_graph(
    function: Operation, functions: Mapping[str, Operation], opset: int, problems: Problems
) -> tuple[Graph, list[tuple[Ref, TensorInfo]], list[tuple[Ref, TensorInfo]]] | None:
    """Return a graph with its inputs and outputs, or None if problems were found."""
    graph = Graph(opset)
    try:
        arguments = list(body_of(function).arguments)
        infos = [tensor_info(argument, f"argument #{place}") for place, argument in enumerate(arguments)]
        inputs = [Ref(info.dtype) for info in infos]
        graph.inputs = inputs
        exporter = FunctionExporter(functions, problems, called=(symbol_name(function),))
        outputs = exporter.export_body(function, inputs, graph)
        returned = list(last_of(body_of(function)).operands)
        given = [tensor_info(each, f"result #{place}") for place, each in enumerate(returned)]
        results = [(_tensor(output), info) for output, info in zip(outputs, given, strict=True)]
    except Incomplete:
        return None
    except Unsupported as problem:
        problems.add(function, problem)
        return None
    return graph, list(zip(inputs, infos, strict=True)), results


def _tensor(tensor: Held) -> Ref:
    assert isinstance(tensor, Ref), "shapes are refused by their types"
    return tensor


def check_opset(opset: int) -> None:
    """Refuse opsets that the exporters do not support or that the installed onnx package does not have."""
    from onnx import defs

    newest = defs.onnx_opset_version()
    if not isinstance(opset, int) or not LEAST_OPSET <= opset <= newest:
        raise OptionError(f"opset={opset!r}: expected a version from {LEAST_OPSET} to {newest}")


def graph_functions(module: Operation) -> dict[str, Operation]:
    """Return the module's graph functions by name."""
    return {
        symbol_name(function): function
        for function in functions_in(module)
        if has_body(function) and not is_prim_func(function)
    }


def find_function(module: Operation, name: str) -> Operation:
    functions = graph_functions(module)
    public = [key for key, function in functions.items() if not is_private(function)]
    if not name and len(public) == 1:
        return functions[public[0]]
    if not name and "main" not in public:
        raise OptionError(f"the module has {counted(len(public), 'public graph function')}: name one (function=)")
    if (name or "main") not in functions:
        raise OptionError(f"the module has no graph function @{name}{suggest(name, functions)}")
    return functions[name or "main"]


def _named(function: Operation, outputs: Sequence[tuple[Ref, TensorInfo]]) -> list[tuple[str, tuple[Ref, TensorInfo]]]:
    count = len(outputs)
    names = (
        [string_value(each) for each in function.attributes[RESULT_NAMES]]
        if RESULT_NAMES in function.attributes
        else []
    )
    if RESULT_GROUPS in function.attributes and names:
        sizes = [group.size for group in decode_groups(function.attributes[RESULT_GROUPS], count)]
        names = [
            name if size == 1 else f"{name}.{place}"
            for name, size in zip(names, sizes, strict=True)
            for place in range(size)
        ]
    if len(names) != count:
        names = ["output"] if count == 1 else [f"output_{place}" for place in range(count)]
    return list(zip(names, outputs, strict=True))
