# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model as a function of the graph level, `main`, in a module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...bindings.context import load_dialects
from ...bindings.errors import RelaxError
from ...bindings.mlir import ir
from ...dialects.core.codec import encode
from ...dialects.core.function_attributes import ARGUMENT_NAME
from .importer import GraphImporter
from .inputs import Shape, input_infos
from .model import Model
from .problems import Problems
from .values import Value

#: On the function: the names of its results in the model.
RESULT_NAMES = "relax.result_names"


def add_main(module: Any, model: Model, shapes: Mapping[str, Shape], problems: Problems) -> None:
    """Adds the model's graph to a module; what cannot be imported is in `problems` afterwards, and nothing is added."""
    graph = model.proto.graph
    infos = input_infos(model, shapes)
    context = module.context
    load_dialects(context, ("scf", "tensor"))
    with context, ir.Location.name(graph.name or "main"):
        types = [encode(info, context) for info in infos.values()]
        with ir.InsertionPoint(module.regions[0].blocks[0]):
            function = ir.Operation.create(
                "func.func", attributes=_attributes("main", list(infos), types, []), regions=1
            )
        block = function.regions[0].blocks.append(*types)
        try:
            with ir.InsertionPoint(block):
                results = _add_body(model, list(infos), list(block.arguments), problems)
                if problems.found:
                    raise _Incomplete
                ir.Operation.create("func.return", operands=results)
        except _Incomplete:
            function.erase()
            return
        except BaseException:
            function.erase()
            raise
        attributes = _attributes("main", list(infos), types, [value.type for value in results])
        function.attributes["function_type"] = attributes["function_type"]
        names = [ir.StringAttr.get(output.name) for output in graph.output]
        function.attributes[RESULT_NAMES] = ir.ArrayAttr.get(names)


class _Incomplete(Exception):
    """Some nodes could not be imported."""


def _attributes(name: str, inputs: list[str], types: list[Any], results: list[Any]) -> dict[str, Any]:
    named = [ir.DictAttr.get({ARGUMENT_NAME: ir.StringAttr.get(each)}) for each in inputs]
    return {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
        "arg_attrs": ir.ArrayAttr.get(named),
    }


def _add_body(model: Model, names: list[str], arguments: list[Any], problems: Problems) -> list[Any]:
    graph = model.proto.graph
    importer = GraphImporter(model, problems)
    for name, argument in zip(names, arguments, strict=True):
        importer.define(name, Value(ssa=argument))
    importer.add_initializers(graph)
    importer.add_nodes(graph.node)
    if problems.found:
        return []
    return [_returned(importer.lookup(output.name), output.name) for output in graph.output]


def _returned(value: Any, name: str) -> Any:
    if not isinstance(value, Value):
        raise RelaxError(f"output '{name}' is a sequence or an optional: only tensors can be returned")
    return value.ssa
