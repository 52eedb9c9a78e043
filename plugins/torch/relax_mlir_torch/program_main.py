# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of an exported program's module, with the graph-level function `main`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.ir_attributes import RESULT_NAMES, STRUCTURE
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.complex_numbers import in_pairs, of_pairs
from relax_mlir.frontends.core.limits import Limits, Room
from relax_mlir.frontends.core.main_function import add_function
from relax_mlir.frontends.core.problems import Problems
from relax_mlir.frontends.core.tensors import const, relax
from relax_mlir.frontends.core.values import ComplexValue, Tensor, Value
from relax_mlir.support.errors import ModelError

from .call_structure import plain_structure, structure_of
from .decomposition import Decomposer
from .draws import draws_in
from .dtypes import dtype_of_parts
from .fx_graph import GraphBuilder
from .fx_operators import is_scalar
from .model_constants import constant
from .size_limits import set_limits
from .symbolic_sizes import Expressions

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import GraphModule
    from torch.fx import Node as FxNode


#: Kinds of results that are values changed by a call.
_CHANGED = ("BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION")


class MainArgument(NamedTuple):
    """Argument of `main`: a placeholder that callers pass."""

    fx: FxNode
    name: str
    #: For sizes and numbers, passed as 0-D tensors: torch's symbol, or "" for a combination of symbols. None for
    #: tensors.
    symbol: str | None

    @property
    def is_complex(self) -> bool:
        return self.symbol is None and bool(self.fx.meta["val"].dtype.is_complex)


class Inputs(NamedTuple):
    """Placeholders of a graph: constants, and the arguments of the function in order."""

    fixed: Mapping[FxNode, Any]
    passed: Sequence[MainArgument]
    #: The key of the call's random numbers if callers pass one: the last argument.
    key: FxNode | None = None


class AddedGraph(NamedTuple):
    """Function of a graph: its arguments, and the number of its random draws."""

    passed: Sequence[MainArgument]
    draws: int
    #: Nodes that could not be imported.
    refused: Sequence[FxNode]


def add_main(module: Operation, program: ExportedProgram, problems: Problems, names: Sequence[Any], keep: bool) -> None:
    """Add an exported program's graph to a module. If nodes cannot be imported, report them and add nothing.

    `names` are the names of dimensions of tensors. With `keep`, parameters are arguments.
    """
    expressions = Expressions(_names_of_symbols(program, names))
    results, structure = partial(_results, program), partial(structure_of, program)
    inputs, decomposer = _inputs(program, keep), Decomposer()
    add_graph(module, program.graph_module, inputs, results, problems, expressions, structure, decomposer)
    set_limits(module, program, expressions)


def add_graph(
    module: Operation,
    graph_module: GraphModule,
    inputs: Inputs,
    results: Callable[[Sequence[Any]], Sequence[tuple[Any, str]]],
    problems: Problems,
    expressions: Expressions | None = None,
    structure: Callable[[], dict[str, Any] | None] = lambda: None,
    decomposer: Decomposer | None = None,
) -> AddedGraph:
    """Add a graph as the function `main`, and return its arguments. Sizes of tensors are not arguments.

    `results` selects and names the function's results among the graph's outputs. `structure` describes calls with
    arguments other than tensors one by one. Nodes without a converter go to the decomposer; AOTAutograd has decomposed
    its graphs already.
    """
    load_dialects(module.context, ("scf", "tensor"))
    found = Expressions() if expressions is None else expressions
    tensors = [each.fx.meta["val"] for each in inputs.passed if each.symbol is None]
    numbers = {each.symbol for each in inputs.passed if each.symbol}
    found.declare_sizes([size for tensor in tensors for size in tensor.shape], numbers)
    passed = [
        each for each in inputs.passed if each.symbol is None or not found.is_known(each.fx.meta["val"].node.expr)
    ]
    graph = GraphBuilder(
        graph_module, problems, FreshSymbols(module), Room(Limits(), "from_torch"), found, decomposer=decomposer
    )
    infos = [_info(each, found) for each in passed]

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        _set_inputs(graph, inputs, dict(zip(passed, arguments, strict=True)))
        if expressions is not None:  # Dynamo has guards for these sizes
            _add_conditions(found)
        outputs = graph.add_nodes()
        given.extend([] if problems.found else results(outputs))
        return [as_tensor(held, name) for held, name in given], [name for _, name in given]

    given: list[tuple[Any, str]] = []
    names = [each.name for each in passed]
    function = add_function(module, "main", infos, names, body, problems)
    places = {
        "inputs": [place for place, each in enumerate(passed) if each.is_complex],
        "outputs": [place for place, (held, _) in enumerate(given) if isinstance(held, (complex, ComplexValue))],
    }
    if function is not None:
        arguments = [argument.fx for argument in passed]
        if any(hasattr(getattr(node, "meta", {}).get("val"), "placements") for node in arguments):
            from .placements import annotate_placements

            nodes = {node.name: node for node in graph_module.graph.nodes}
            annotate_placements(function, arguments, [nodes.get(name) for _, name in given])
        _set_structure(function, structure(), names, places)
    return AddedGraph(passed, graph.draws.count, graph.refused)


def _set_structure(
    function: Operation, structure: dict[str, Any] | None, names: Sequence[str], complex_places: Mapping[str, list[int]]
) -> None:
    """Store how callers call the function, unless they pass real tensors one by one."""
    if any(complex_places.values()):
        results = function.attributes[RESULT_NAMES]
        structure = {**(structure or plain_structure(names, len(results))), "complex": complex_places}
    if structure is not None:
        function.attributes[STRUCTURE] = ir.StringAttr.get(json.dumps(structure), function.context)


def _set_inputs(graph: GraphBuilder, inputs: Inputs, arguments: Mapping[MainArgument, Tensor]) -> None:
    """Set the values of placeholders: constants, arguments of the function, and sizes that follow from arguments."""
    for fx, fixed in inputs.fixed.items():
        graph.set(fx, fixed)
    for key, argument in arguments.items():
        value = of_pairs(argument) if key.is_complex else Value(ssa=argument)
        graph.set(key.fx, value)
        if key.symbol:
            graph.expressions.bind(key.symbol, Value(ssa=argument))
        if key.fx is inputs.key:
            graph.draws.bring(argument, is_repeated=True in draws_in(graph.module))
    for each in inputs.passed:
        if each not in arguments:
            graph.set(each.fx, graph.expressions.scalar(each.fx.meta["val"]))


def _add_conditions(expressions: Expressions) -> None:
    """Add assertions that inputs have the sizes that the model states, such as a multiple of 4 for `4*n`."""
    for size, condition in expressions.conditions.items():
        if not isinstance(holds := expressions.scalar(condition), bool):
            (symbol,) = size.free_symbols
            text = f"an input has the size {{}}, expected {size} with a whole number {symbol}"
            relax.assert_op(holds.ssa, [sizes.as_scalar(expressions.size(size), "i64")], format=text, kind="ValueError")


def _names_of_symbols(program: ExportedProgram, names: Sequence[Sequence[tuple[int, str]]]) -> dict[str, str]:
    """Return names for torch's symbols: the user's, else from an input and its dimension of this size."""
    found: dict[str, str] = {}
    placeholders = {node.name: node for node in program.graph_module.graph.find_nodes(op="placeholder")}
    users = [placeholders[input_] for input_ in program.graph_signature.user_inputs if input_ in placeholders]
    tensors = [user for user in users if hasattr(user.meta.get("val"), "shape")]
    for fx, dims in zip(tensors, names, strict=False):
        for axis, name in dims:
            size = fx.meta["val"].shape[axis]
            if hasattr(size, "node") and size.node.expr.is_Symbol:
                found.setdefault(size.node.expr.name, name)
    for fx in tensors:
        for axis, size in enumerate(fx.meta["val"].shape):
            if hasattr(size, "node") and size.node.expr.is_Symbol:
                found.setdefault(size.node.expr.name, f"{fx.name}_{axis}")
    return found


def _inputs(program: ExportedProgram, keep: bool) -> Inputs:
    """Return the constants among the placeholders, and the others in the order of main's arguments.

    The order is: the user's arguments, kept parameters, then the state that a call changes.
    """
    signature = program.graph_signature
    placeholders = {node.name: node for node in program.graph_module.graph.find_nodes(op="placeholder")}
    changed = {output_spec.target for output_spec in signature.output_specs if output_spec.kind.name in _CHANGED}
    fixed: dict[FxNode, Any] = {}
    users, kept, states = [], [], []
    for spec in signature.input_specs:
        fx = placeholders.get(getattr(spec.arg, "name", ""))
        kind = spec.kind.name
        if fx is None:
            continue
        if kind == "USER_INPUT":
            if type(spec.arg).__name__ == "ConstantArgument":
                fixed[fx] = spec.arg.value
            else:
                users.append(passed_as(fx, fx.name))
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            if spec.target in changed:
                states.append(MainArgument(fx, spec.target, None))
            elif keep and kind == "PARAMETER":
                kept.append(MainArgument(fx, spec.target, None))
            else:
                fixed[fx] = constant(_tensor_of(program, spec.target), spec.target)
        elif kind == "TOKEN":
            fixed[fx] = no_token()
        else:
            raise ModelError(f"input '{spec.arg.name}' is a {kind.lower()}: objects of torch's own are not supported")
    return Inputs(fixed, [*users, *kept, *states])


def no_token() -> Value:
    """Return the value for a token of effects, which nothing reads."""
    import numpy

    return Value(array=numpy.zeros((0,), "float32"))


def _tensor_of(program: ExportedProgram, target: str) -> Any:
    return program.state_dict[target] if target in program.state_dict else program.constants[target]


def passed_as(fx: FxNode, name: str) -> MainArgument:
    """Return the argument for a placeholder: a tensor or a size. Backward graphs may take a product of sizes."""
    value = fx.meta["val"]
    if not is_scalar(value):
        return MainArgument(fx, name, None)
    if not hasattr(value, "node"):
        raise ModelError(f"input '{name}' is {value}: only tensors and sizes are passed")
    return MainArgument(fx, name, value.node.expr.name if value.node.expr.is_Symbol else "")


def _info(passed: MainArgument, expressions: Expressions) -> TensorInfo:
    if passed.symbol is not None:
        return TensorInfo((), "f64" if "Float" in type(passed.fx.meta["val"]).__name__ else "i64")
    tensor = passed.fx.meta["val"]
    if "strided" not in str(tensor.layout):
        raise ModelError(f"input '{passed.name}' has the layout {tensor.layout}: only strided tensors are supported")
    try:
        shape = (*(expressions.size(each) for each in tensor.shape), *([2] if passed.is_complex else []))
        return TensorInfo(shape, dtype_of_parts(tensor.dtype))
    except ModelError as error:
        raise ModelError(f"input '{passed.name}': {error.message}") from None


def _results(program: ExportedProgram, outputs: Sequence[object]) -> list[tuple[Any, str]]:
    """Return main's results with their names: the user's, then the values that a call has changed."""
    given: list[tuple[Any, str]] = []
    states: list[tuple[Any, str]] = []
    for index, (spec, output) in enumerate(zip(program.graph_signature.output_specs, outputs, strict=True)):
        kind = spec.kind.name
        name = getattr(spec.arg, "name", "") or f"result{index}"
        if type(spec.arg).__name__ == "ConstantArgument":
            continue  # The caller has this constant.
        if kind in _CHANGED:
            states.append((output, spec.target))
        elif kind == "USER_OUTPUT":
            given.append((output, name))
        elif kind != "TOKEN":
            raise ModelError(f"result '{name}' is a {kind.lower()}: such results are not supported")
    return [*given, *states]


def as_tensor(held: object, name: str) -> Tensor:
    """Return a graph's output as a tensor. Numbers and sizes become 0-D, complex numbers pairs."""
    if isinstance(held, Value):
        return held.ssa
    if isinstance(held, ComplexValue):
        return in_pairs(held)
    if isinstance(held, complex):
        return const([held.real, held.imag], "f64")
    if isinstance(held, (str, bytes)):
        raise ModelError(f"result '{name}' is text: programs return only tensors and numbers")
    dtype = "i1" if isinstance(held, bool) else "f64" if isinstance(held, float) else "i64"
    return sizes.as_scalar(held, dtype)
