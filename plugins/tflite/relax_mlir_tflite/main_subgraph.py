# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of `main`, the function of an imported TFLite model, from the first subgraph or from a signature's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relax_mlir import ModelError, TensorInfo
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core.limits import Limits, Room
from relax_mlir.frontends.core.main_function import add_function
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.frontends.core.problems import Problem, Problems
from relax_mlir.frontends.core.values import ComplexValue, Tensor, Value
from relax_mlir.rewriting import Operation, load_dialects

from .tensor_data import checked_shape
from .tflite_file import FileSignature, TensorRow, TfliteFile
from .tflite_graph import TfliteGraph


def add_main(
    module: Operation, model: TfliteFile, signature: str | None, keeps_states: bool, problems: Problems
) -> None:
    """Add the function `main` to a module.

    If a part of the model cannot be imported, `problems` lists that part and the module stays unchanged.
    """
    load_dialects(module.context, ("scf", "tensor"))
    chosen = _choose(model, signature)
    symbols = FreshSymbols(module)
    graph = TfliteGraph(model, chosen.subgraph, problems, symbols, Room(Limits(), "from_tflite"))
    inputs, outputs = graph.subgraph.inputs, graph.subgraph.outputs
    if not outputs:
        raise ModelError(f"{model.name} has no outputs: there is nothing to compile")
    if len(set(inputs)) < len(inputs):
        raise ModelError(f"{model.name}: the same tensor is an input twice")
    states = (
        [place for place, tensor in enumerate(graph.subgraph.tensors) if tensor.is_variable] if keeps_states else []
    )
    infos = [_argument(graph, place, symbols) for place in (*inputs, *states)]
    names = _names(graph, (*inputs, *states), chosen.inputs)

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        values = [Value(ssa=argument) for argument in arguments]
        for place, value in zip(states, values[len(inputs) :], strict=True):
            graph.start(place, value)
        made = graph.add(values[: len(inputs)])
        made += [graph.held(place) for place in states]
        if any(isinstance(each, ComplexValue) for each in made):
            raise Unsupported("it has complex numbers, which programs cannot return: return real and imaginary parts")
        ssas = [each.ssa for each in made if isinstance(each, Value)]
        return [] if problems.found else ssas, _names(graph, (*outputs, *states), chosen.outputs)

    try:
        add_function(module, "main", infos, names, body, problems, place=graph.subgraph.name)
    except Unsupported as problem:
        problems.add(Problem(f"output of '{graph.subgraph.name}'", "-", None, "", problem.reason))


def _choose(model: TfliteFile, key: str | None) -> FileSignature:
    """Return the signature with the key.

    Without a key, return the only signature of the first subgraph. If that subgraph has no signature or several, the
    result has no names.
    """
    if key is not None:
        found = model.signature(key)
        if found.subgraph >= len(model.subgraphs):
            raise ModelError(
                f"signature '{key}' refers to subgraph #{found.subgraph}, which {model.name} does not have"
            )
        return found
    of_first = [signature for signature in model.signatures if signature.subgraph == 0]
    return of_first[0] if len(of_first) == 1 else FileSignature("", 0, {}, {})


def _argument(graph: TfliteGraph, place: int, symbols: FreshSymbols) -> TensorInfo:
    """Return the type of an input. Each dynamic size becomes a new symbol."""
    try:
        row = graph.row(place)
        checked_shape(row)
        if not row.dtype or row.type == "INT4":
            raise Unsupported(f"elements of type {row.type} are not supported")
    except Unsupported as problem:
        raise ModelError(f"{graph.model.name}: input #{place}: {problem.reason}") from None
    return TensorInfo(tuple(sym(symbols.next()) if size == -1 else size for size in row.shape), row.dtype)


def _names(graph: TfliteGraph, places: Sequence[int], given: Mapping[int, str]) -> list[str]:
    """Return the names of tensors in a signature or in the file.

    If a name is empty or occurs twice, the tensors are numbered instead.
    """
    rows: list[TensorRow] = [graph.row(place) for place in places]
    names = [given.get(place) or row.name for place, row in zip(places, rows, strict=True)]
    if all(names) and len(set(names)) == len(names):
        return names
    return [f"tensor{number}" for number in range(len(places))]
