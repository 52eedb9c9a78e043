# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of a model's module, with the graph-level function `main`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...bindings.context import load_dialects
from ...bindings.ir import Operation
from ...dialects.core.ir_attributes import INPUT_GROUPS, RESULT_GROUPS, RESULT_LABELS
from ...dialects.relax.function_attributes import LIST, VALUE, Group, encode_groups, encode_labels
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError
from ..core.control.flattening import all_tensors, form_of
from ..core.control.scf_branches import checked
from ..core.main_function import add_function
from ..core.problems import Problems, shown
from ..core.values import EmptyOptional, Held, OneOf, SequenceValue, Tensor, Texts, Value
from .import_notes import note_model
from .importer import GraphImporter
from .inputs import InputShape, PassedInput, passed_inputs
from .model import OnnxModel
from .symbol_sizes import contradictions
from .tensor_data import ValueInfoProto


def add_main(module: Operation, model: OnnxModel, shapes: Mapping[str, InputShape], problems: Problems) -> None:
    """Add the model's graph to a module. If nodes cannot be imported, add nothing and report them in `problems`."""
    graph = model.proto.graph
    inputs = passed_inputs(model, shapes)
    problems.notes += contradictions(model, shapes)
    note_model(model.proto, inputs)
    load_dialects(module.context, ("scf", "tensor"))
    outputs: list[Held] = []

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        outputs.extend(_add_body(GraphImporter(model, problems, FreshSymbols(module)), inputs, arguments))
        results = [value.ssa for value in all_tensors(list(map(form_of, outputs)), outputs)]
        return results, [output.name for output in graph.output]

    infos = [info for input_ in inputs for info in input_.infos]
    names = [name for input_ in inputs for name in input_.names]
    if (function := add_function(module, "main", infos, names, body, problems, place=graph.name)) is None:
        return
    with module.context:
        labels = {
            output.name: held.words
            for output, held in zip(graph.output, outputs, strict=True)
            if isinstance(held, Texts)
        }
        if labels:
            function.attributes[RESULT_LABELS] = encode_labels(labels)
        _set_groups(function, INPUT_GROUPS, [input_.group for input_ in inputs])
        _set_groups(function, RESULT_GROUPS, [form_of(output).group for output in outputs])


def _add_body(importer: GraphImporter, inputs: list[PassedInput], arguments: Sequence[Tensor]) -> list[Held]:
    graph = importer.model.proto.graph
    rest = iter(arguments)
    for input_ in inputs:
        values = [Value(ssa=next(rest)) for _ in input_.infos]
        single = values[0] if values else EmptyOptional()
        importer.define(input_.name, SequenceValue(values, input_.dtype) if input_.kind == LIST else single)
    importer.add_initializers(graph)
    importer.add_nodes(graph.node)
    if importer.problems.found:
        return []
    outputs: list[Held] = []
    for output in graph.output:
        if (held := importer.output(output.name)) is None:
            raise ModelError(
                f"output '{shown(output.name)}' is an output that the converter of its node does not return"
            )
        if isinstance(held, OneOf):
            held = _select_declared_rank(held, output)
        if isinstance(held, OneOf):
            raise ModelError(f"output '{shown(output.name)}' is {held}: an output of a program needs one rank")
        outputs.append(held)
    return outputs


def _select_declared_rank(choice: OneOf, output: ValueInfoProto) -> OneOf | Value:
    """Return the tensor of the rank that the model declares for its output. The rank is checked at run time."""
    tensor = output.type.tensor_type
    ranks = [each.rank for each in choice.tensors]
    if not tensor.HasField("shape") or ranks.count(len(tensor.shape.dim)) != 1:
        return choice
    message = f"output '{shown(output.name)}' is declared with {{}} dimensions, but has another rank"
    return checked(choice, ranks.index(len(tensor.shape.dim)), message)


def _set_groups(function: Operation, attribute: str, groups: list[Group]) -> None:
    """Store how callers pass arguments or receive results, unless each is a single tensor."""
    if any(group.kind != VALUE or group.is_optional for group in groups):
        function.attributes[attribute] = encode_groups(groups)
