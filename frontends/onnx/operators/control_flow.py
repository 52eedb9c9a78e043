# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators with subgraphs: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ....bindings.ir import Operation
from ....support.errors import RelaxError
from ....support.suggest import counted
from ...core.control.flattening import build_any_loop
from ...core.control.run_time_items import require
from ...core.control.run_time_sequences import all_joined, appended, joined_item, joined_length
from ...core.control.scf_branches import build_branches
from ...core.control.scf_loops import LoopSpec, Turn, build_loop, of_length, unrolled
from ...core.control.scf_regions import as_items, info_of, known_truth, scalar_of
from ...core.node import described
from ...core.sizes import element, shape_tensor
from ...core.values import Held, RunTimeSequence, SequenceValue
from ..importer import add_graph
from ..prelude import OnnxNode, Outputs, Tensor, Value, known, register_onnx, relax, with_first_at
from ..tensor_data import GraphProto, ValueInfoProto, array_of, dtype_of

# Loops with more nodes than this in all iterations are not unrolled.
_MOST_NODES = 256
# Sequences have static lengths only in unrolled loops, which are therefore unrolled up to this number of iterations.
_MOST_TURNS = 1024


# ---- If ----


@register_onnx("", "If")
def if_(node: OnnxNode) -> Outputs:
    then, otherwise = node.subgraph("then_branch"), node.subgraph("else_branch")
    if then is None or otherwise is None or {len(then.output), len(otherwise.output)} != {node.output_count}:
        raise node.fail(f"must have two branches with {counted(node.output_count, 'output')} each")
    if (condition := known_truth(node.value(0))) is not None:
        return add_graph(node, then if condition else otherwise, [])
    makers = [functools.partial(add_graph, node, branch, []) for branch in (then, otherwise)]
    return build_branches(node, node.value(0), makers)


# ---- Loop ----


@register_onnx("", "Loop")
def loop(node: OnnxNode) -> Outputs:
    """Convert Loop. The inputs are the largest trip count, the first condition, and the states."""
    body, states = node.subgraph("body"), [node.held(index) for index in range(2, len(node.inputs))]
    if body is None or len(body.input) != 2 + len(states) or len(body.output) < 1 + len(states):
        raise node.fail(f"must have a body with {2 + len(states)} inputs and at least {1 + len(states)} outputs")
    starts = known_truth(node.value(1)) if node.has(1) else True
    most = node.number(0) if node.has(0) else None
    count = None if most is None else max(most, 0)
    if starts is False or count == 0:
        return [*states, *(_no_rows(node, output) for output in body.output[1 + len(states) :])]
    always = _always_goes_on(node, body)

    def step(operation: Operation, index: Value, held: list[Any]) -> Turn:
        # An iteration runs only if the condition is true.
        goes_on, *outputs = add_graph(node, body, [index, known(True, "i1"), *held], operation)
        return Turn(outputs[: len(held)], outputs[len(held) :], None if always else goes_on)

    turns = LoopSpec(node, step, None, is_open=not always, first_state=2)
    if starts and count is not None and _can_unroll(body, count, states, always):
        made = unrolled(turns, count, states)
        if made is not None:
            return [*made[0], *(_stack(node, rows) for rows in made[1])]
    if always and starts and not node.has(0):
        raise node.fail("would never end: it has no trip count, and its condition is always true")
    turns = turns._replace(
        count=scalar_of(node, node.value(0), "the trip count") if node.has(0) else None,
        starts=None if starts else scalar_of(node, node.value(1), "the condition"),
    )
    after, gathered = build_any_loop(turns, states)
    return [*after, *of_length(gathered, count if turns.is_counted else None)]


def _can_unroll(body: GraphProto, count: int, states: Sequence[Held], always: bool) -> bool:
    if any(not isinstance(state, Value) for state in states):
        return count <= _MOST_TURNS
    return count * len(body.node) <= _MOST_NODES and always


def _stack(node: OnnxNode, rows: Sequence[Any], axis: int = 0) -> Tensor:
    for row in rows:
        info_of(node, row)
    return relax.stack([*(row.ssa for row in rows)], axis=axis)


def _no_rows(node: OnnxNode, output: ValueInfoProto) -> Tensor:
    """Return the rows of a loop without iterations. Sizes that the model does not state are 0."""
    tensor = output.type.tensor_type
    try:
        dtype = dtype_of(tensor.elem_type)
    except RelaxError as error:
        raise node.fail(error.message) from None
    return relax.zeros((0, *(max(dim.dim_value, 0) for dim in tensor.shape.dim)), dtype=dtype)


def _always_goes_on(node: OnnxNode, body: GraphProto) -> bool:
    """Check whether the condition for the next iteration is the current condition, or constant and true."""
    makers = {name: maker for maker in body.node for name in maker.output}
    name = body.output[0].name
    passed: set[str] = set()  # Invalid bodies may contain cycles.
    while name in makers and makers[name].op_type in ("Identity", "Cast") and name not in passed:
        passed.add(name)
        name = next(iter(makers[name].input), "")
    tensors = {each.name: each for each in body.initializer}
    if name in makers:
        constants = [each.t for each in makers[name].attribute if each.name == "value"]
        if makers[name].op_type != "Constant" or not constants:
            return False
        tensors[name] = constants[0]
    elif name in [each.name for each in body.input]:
        return bool(name == body.input[1].name)
    array = array_of(tensors[name], node.graph.model.data) if name in tensors else None
    if array is None:
        array = getattr(node.graph.lookup(name), "array", None)
    return array is not None and bool(array.all())


# ---- Scan ----


@register_onnx("", "Scan", since=9)
def scan(node: OnnxNode) -> Outputs:
    body, number = _read_scan(node, len(node.inputs))
    values = [node.value(index) for index in range(len(node.inputs))]
    states = len(values) - number
    return _scan(node, body, values[:states], values[states:])


@register_onnx("", "Scan")
def scan_of_batches(node: OnnxNode) -> Outputs:
    """Convert Scan before version 9, in which every input has a batch axis in front.

    Each sequence of a batch may have its own length, which is refused.
    """
    body, number = _read_scan(node, len(node.inputs) - 1)
    if node.has(0):
        raise node.fail("sequences of several lengths (input 'sequence_lens') are not supported")
    inputs = [node.value(index) for index in range(1, len(node.inputs))]
    batches = inputs[0].shape[0] if inputs[0].shape else None
    if not isinstance(batches, int) or batches < 1:
        raise node.fail("the number of batches must be known")
    results = []
    for batch in range(batches):
        own = [Value(ssa=relax.take(value.ssa, known(batch).ssa, axis=0)) for value in inputs]
        states = len(inputs) - number
        results.append(_scan(node, body, own[:states], own[states:]))
    return [_stack(node, each) for each in zip(*results, strict=True)]


def _read_scan(node: OnnxNode, inputs: int) -> tuple[GraphProto, int]:
    """Return the body, and the number of scanned inputs."""
    body, number = node.subgraph("body"), node.int("num_scan_inputs", 0)
    states = inputs - number
    if body is None or number < 1 or states < 0 or len(body.input) != inputs or len(body.output) < states:
        raise node.fail(
            f"must scan some of its inputs, in a body with {counted(inputs, 'input')} and at least "
            f"{counted(states, 'output')}"
        )
    return body, number


def _scan(node: OnnxNode, body: GraphProto, states: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
    """Loop over the elements of the inputs along their axes."""
    places, rows = [0] * len(inputs), [0] * (len(body.output) - len(states))
    axes = node.ints("scan_input_axes", places)
    directions = node.ints("scan_input_directions" if node.version >= 9 else "directions", places)
    output_axes, output_directions = (node.ints(f"scan_output_{name}", rows) for name in ("axes", "directions"))
    if (shape := inputs[0].shape) is None:
        raise node.fail("the ranks of scan inputs must be known")
    if (flat := next((input_ for input_ in inputs if input_.rank == 0), None)) is not None:
        raise node.fail(f"a scan input is {described(flat)}: it has no axis to be scanned along")
    count = shape[axes[0]]
    is_short = isinstance(count, int) and count > 0 and count * len(body.node) <= _MOST_NODES
    sources = [
        relax.flip(value.ssa, axis=axis) if backwards and not is_short else value.ssa
        for value, axis, backwards in zip(inputs, axes, directions, strict=True)
    ]

    def step(operation: Operation, index: Value, values: list[Value]) -> Turn:
        # Long inputs are flipped as a whole instead.
        from_behind = index if index.array is None else known(count - 1 - int(index.array))
        elements = [
            Value(ssa=relax.take(source, (from_behind if backwards else index).ssa, axis=axis))
            for source, axis, backwards in zip(sources, axes, directions, strict=True)
        ]
        outputs = add_graph(node, body, [*values, *elements], operation)
        return Turn(outputs[: len(states)], outputs[len(states) :])

    turns = LoopSpec(node, step, None)
    made = unrolled(turns, count, states) if is_short else None
    if made is not None:
        after, stacked = (
            made[0],
            [
                _stack(node, row[::-1] if backwards else row, axis)
                for row, axis, backwards in zip(made[1], output_axes, output_directions, strict=True)
            ],
        )
    else:
        size = element(shape_tensor(sources[0]), axes[0] % sources[0].type.rank)
        after, gathered = build_loop(turns._replace(count=scalar_of(node, Value(ssa=size))), states)
        stacked = [
            with_first_at(relax.flip(row.ssa, axis=0) if backwards else row.ssa, axis)
            for row, axis, backwards in zip(of_length(gathered, count), output_axes, output_directions, strict=True)
        ]
    return [*after, *(Value(ssa=tensor) for tensor in stacked)]


# ---- SequenceMap ----


@register_onnx("", "SequenceMap")
def sequence_map(node: OnnxNode) -> Outputs:
    """Convert SequenceMap: run the body for each item of the first sequence.

    The other inputs are sequences of the same length, or tensors for all items.
    """
    body = node.subgraph("body")
    if body is None or len(body.input) != len(node.inputs):
        raise node.fail(f"must have a body with {counted(len(node.inputs), 'input')}")
    given = [node.held(index) for index in range(len(node.inputs))]
    if any(isinstance(held, RunTimeSequence) for held in given):
        return mapped_at_run_time(node, body, given)
    count = len(node.sequence(0).items)
    others = [held for held in given if isinstance(held, SequenceValue)]
    if any(len(other.items) != count for other in others):
        raise node.fail("the sequences have different lengths")
    turns = [[held.items[turn] if isinstance(held, SequenceValue) else held for held in given] for turn in range(count)]
    values = [as_items(node, add_graph(node, body, inputs)) for inputs in turns]
    return [SequenceValue(items) for items in zip(*values, strict=True)] if values else empty_sequences(body)


def mapped_at_run_time(node: OnnxNode, body: GraphProto, given: Sequence[Held]) -> list[RunTimeSequence]:
    """Run the body for each item of sequences of dynamic length. The lengths must be equal."""
    lists = (SequenceValue, RunTimeSequence)
    inputs = [all_joined(node, held) if isinstance(held, lists) else held for held in given]
    lengths = [joined_length(input_) for input_ in inputs if isinstance(input_, RunTimeSequence)]
    for length in lengths[1:]:
        require(node, relax.equal(lengths[0], length), "the sequences have different lengths")

    def step(operation: Operation, index: Value, states: list[Any]) -> Turn:
        items = [
            joined_item(input_, index.ssa) if isinstance(input_, RunTimeSequence) else input_.inside(operation)
            for input_ in inputs
        ]
        outputs = as_items(node, add_graph(node, body, items, operation))
        return Turn([appended(node, state, output) for state, output in zip(states, outputs, strict=True)], [])

    turns = scalar_of(node, Value(ssa=lengths[0]))
    return build_any_loop(LoopSpec(node, step, turns), empty_sequences(body))[0]


def empty_sequences(body: GraphProto) -> list[SequenceValue]:
    """Return empty sequences for the outputs of a body, before or without iterations."""
    return [SequenceValue([], dtype_of(output.type.tensor_type.elem_type or 1)) for output in body.output]
