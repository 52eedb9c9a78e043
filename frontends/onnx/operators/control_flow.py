# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators with graphs: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ....support.errors import RelaxError
from ....support.suggest import counted
from ..control.flattening import build_any_loop
from ..control.run_time_items import require
from ..control.run_time_sequences import (
    all_joined,
    appended,
    joined_item,
    joined_length,
)
from ..control.scf_branches import build_branches
from ..control.scf_loops import Loop, Turn, build_loop, is_few, of_length
from ..control.scf_regions import as_items, info_of, known_truth, scalar_of
from ..dtypes import dtype_of
from ..importer import add_graph
from ..prelude import Node, Outputs, Tensor, Value, known, register_onnx, relax, with_first_at
from ..shapes.sizes import element, shape_tensor
from ..tensors import array_of
from ..values import RunTimeSequence, SequenceValue

# Loops whose turns have more nodes than this in all are not unrolled.
_MOST_NODES = 256
# Sequences have lengths only in unrolled loops, so those are unrolled up to this many turns.
_MOST_TURNS = 1024


# ---- If ----


@register_onnx("", "If")
def if_(node: Node) -> Outputs:
    branches = [node.subgraph("then_branch"), node.subgraph("else_branch")]
    if any(branch is None or len(branch.output) != node.output_count for branch in branches):
        raise node.fail(f"must have two branches with {counted(node.output_count, 'output')} each")
    condition = known_truth(node.value(0))
    if condition is not None:
        return add_graph(node, branches[0 if condition else 1], [])
    makers = [functools.partial(add_graph, node, branch, []) for branch in branches]
    return build_branches(node, node.value(0), makers)


# ---- Loop ----


@register_onnx("", "Loop")
def loop(node: Node) -> Outputs:
    """Inputs are the most turns, whether there is a first one, and the states."""
    body, states = node.subgraph("body"), node.inputs[2:]
    if body is None or len(body.input) != 2 + len(states) or len(body.output) < 1 + len(states):
        raise node.fail(f"must have a body with {2 + len(states)} inputs and at least {1 + len(states)} outputs")
    starts = known_truth(node.value(1)) if node.has(1) else True
    count = _most_turns(node)
    has_sequences = any(not isinstance(state, Value) for state in states)
    if starts is False or count == 0:
        return [*states, *(_no_rows(node, output) for output in body.output[1 + len(states) :])]
    if starts and count is not None and _can_unroll(node, body, count, has_sequences):
        unrolled = _unrolled(node, body, count, states)
        if unrolled is not None:
            return unrolled
    return _built(node, body, states, bool(starts))


def _most_turns(node: Node) -> int | None:
    turns = node.number(0) if node.has(0) else None
    return None if turns is None else max(turns, 0)


def _can_unroll(node: Node, body: Any, count: int, has_sequences: bool) -> bool:
    if has_sequences:
        return count <= _MOST_TURNS
    return count * len(body.node) <= _MOST_NODES and _always_goes_on(node, body)


def _built(node: Node, body: Any, states: Sequence[Any], starts: bool) -> list[Any]:
    always = _always_goes_on(node, body)
    if always and starts and not node.has(0):
        raise node.fail("would never end: it has no number of turns, and its condition is always true")

    def step(operation: Any, index: Value, held: list[Any]) -> Turn:
        # A turn is made only where the condition holds.
        goes_on, *outputs = add_graph(node, body, [index, known(True, "i1"), *held], operation)
        return Turn(outputs[: len(held)], outputs[len(held) :], None if always else goes_on)

    count = scalar_of(node, node.value(0)) if node.has(0) else None
    condition = None if starts else scalar_of(node, node.value(1))
    most = _most_turns(node)
    made = Loop(node, step, count, condition, is_open=not always, is_short=is_few(most))
    after, rows = build_any_loop(made, states)
    return [*after, *of_length(rows, most if made.is_counted else None)]


def _unrolled(node: Node, body: Any, count: int, states: Sequence[Any]) -> list[Any] | None:
    """None where only the run tells whether there is another turn."""
    rows: list[list[Any]] = [[] for _ in body.output[1 + len(states) :]]
    for index in range(count):
        goes_on, *outputs = add_graph(node, body, [known(index), known(True, "i1"), *states])
        states, made = outputs[: len(states)], outputs[len(states) :]
        for row, held in zip(rows, made, strict=True):
            row.append(held)
        decided = known_truth(goes_on)
        if decided is None:
            return None
        if not decided:
            break
    return [*states, *(_stacked(node, row) for row in rows)]


def _stacked(node: Node, rows: Sequence[Any], axis: int = 0) -> Tensor:
    for row in rows:
        info_of(node, row)
    return relax["stack"](*(row.ssa for row in rows), axis=axis)


def _no_rows(node: Node, output: Any) -> Tensor:
    """What a loop without turns gathers; of sizes that the model does not tell there are none."""
    tensor = output.type.tensor_type
    try:
        dtype = dtype_of(tensor.elem_type)
    except RelaxError as error:
        raise node.fail(error.message) from None
    return relax["zeros"]((0, *(max(dim.dim_value, 0) for dim in tensor.shape.dim)), dtype=dtype)


def _always_goes_on(node: Node, body: Any) -> bool:
    """Whether the condition that a turn makes for the next is its own, or constant."""
    import numpy

    makers = {name: maker for maker in body.node for name in maker.output}
    name = body.output[0].name
    passed: set[str] = set()  # of a body that breaks the rules, which may go round in a circle
    while name in makers and makers[name].op_type in ("Identity", "Cast") and name not in passed:
        passed.add(name)
        name = next(iter(makers[name].input), "")
    if name in makers:
        constants = [each.t for each in makers[name].attribute if each.name == "value"]
        return makers[name].op_type == "Constant" and bool(constants) and _is_true(node, constants[0])
    if name in [each.name for each in body.input]:
        return bool(name == body.input[1].name)
    for initializer in body.initializer:
        if initializer.name == name:
            return _is_true(node, initializer)
    array = getattr(node.graph.lookup(name), "array", None)
    return array is not None and bool(numpy.all(array))


def _is_true(node: Node, tensor: Any) -> bool:
    return bool(array_of(tensor, node.graph.model.data).all())


# ---- Scan ----


@register_onnx("", "Scan", since=9)
def scan(node: Node) -> Outputs:
    body, number = _scanned(node, len(node.inputs))
    states = [node.value(index) for index in range(len(node.inputs) - number)]
    return _Scan(node, body, len(states)).run(states, node.inputs[len(states) :])


@register_onnx("", "Scan")
def scan_of_batches(node: Node) -> Outputs:
    """Before version 9 every input has a batch axis in front, and each sequence of a batch may have its own length."""
    body, number = _scanned(node, len(node.inputs) - 1)
    if node.has(0):
        raise node.fail("sequences of several lengths (input 'sequence_lens') are not supported")
    inputs = [node.value(index) for index in range(1, len(node.inputs))]
    batches = inputs[0].shape[0] if inputs[0].shape else None
    if not isinstance(batches, int) or batches < 1:
        raise node.fail("the number of batches must be known")
    results = []
    for batch in range(batches):
        own = [Value(ssa=_element(value.ssa, known(batch), 0)) for value in inputs]
        states = len(inputs) - number
        results.append(_Scan(node, body, states).run(own[:states], own[states:]))
    return [_stacked(node, each) for each in zip(*results, strict=True)]


def _scanned(node: Node, inputs: int) -> tuple[Any, int]:
    """The body, and how many of the inputs are scanned."""
    body, number = node.subgraph("body"), node.int("num_scan_inputs", 0)
    states = inputs - number
    if body is None or number < 1 or states < 0 or len(body.input) != inputs or len(body.output) < states:
        raise node.fail(
            f"must scan some of its inputs, in a body with {counted(inputs, 'input')} and at least "
            f"{counted(states, 'output')}"
        )
    return body, number


class _Scan:
    """A loop over the elements of inputs along their axes."""

    def __init__(self, node: Node, body: Any, states: int):
        self.node, self.body, self.states = node, body, states
        self.rows = len(body.output) - states
        inputs = len(body.input) - states
        name = "scan_input_directions" if node.version >= 9 else "directions"
        self.input_axes = node.ints("scan_input_axes", [0] * inputs)
        self.input_directions = node.ints(name, [0] * inputs)
        self.output_axes = node.ints("scan_output_axes", [0] * self.rows)
        self.output_directions = node.ints("scan_output_directions", [0] * self.rows)

    def run(self, states: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
        shape = inputs[0].shape
        if shape is None:
            raise self.node.fail("the ranks of scan inputs must be known")
        count = shape[self.input_axes[0]]
        if isinstance(count, int) and count > 0 and count * len(self.body.node) <= _MOST_NODES:
            return self._unrolled(count, states, inputs)
        return self._built(count, states, inputs)

    def _unrolled(self, count: int, states: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
        rows: list[list[Value]] = [[] for _ in range(self.rows)]
        for turn in range(count):
            elements = [
                Value(ssa=_element(value.ssa, known(count - 1 - turn if backwards else turn), axis))
                for value, axis, backwards in zip(inputs, self.input_axes, self.input_directions, strict=True)
            ]
            outputs = add_graph(self.node, self.body, [*states, *elements])
            states = outputs[: self.states]
            for row, made in zip(rows, outputs[self.states :], strict=True):
                row.append(made)
        stacked = [
            _stacked(self.node, row[::-1] if backwards else row, axis)
            for row, axis, backwards in zip(rows, self.output_axes, self.output_directions, strict=True)
        ]
        return [*states, *(Value(ssa=each) for each in stacked)]

    def _built(self, turns: Any, states: Sequence[Value], inputs: Sequence[Value]) -> list[Value]:
        node = self.node
        sources = [value.ssa for value in inputs]
        directed = [
            relax["flip"](source, axis=axis) if backwards else source
            for source, axis, backwards in zip(sources, self.input_axes, self.input_directions, strict=True)
        ]

        def step(operation: Any, index: Value, held: list[Value]) -> Turn:
            pairs = zip(directed, self.input_axes, strict=True)
            elements = [Value(ssa=_element(source, index, axis)) for source, axis in pairs]
            outputs = add_graph(node, self.body, [*held, *elements], operation)
            return Turn(outputs[: self.states], outputs[self.states :])

        count = scalar_of(node, Value(ssa=element(shape_tensor(sources[0]), self.input_axes[0] % sources[0].type.rank)))
        after, rows = build_loop(Loop(node, step, count, is_short=is_few(turns)), states)
        moved = [
            _moved(row.ssa, axis, bool(backwards))
            for row, axis, backwards in zip(
                of_length(rows, turns), self.output_axes, self.output_directions, strict=True
            )
        ]
        return [*after, *(Value(ssa=each) for each in moved)]


def _moved(rows: Tensor, axis: int, backwards: bool) -> Tensor:
    """Rows that were gathered along the first axis, along another one."""
    return with_first_at(relax["flip"](rows, axis=0) if backwards else rows, axis)


def _element(source: Any, index: Value, axis: int) -> Tensor:
    return relax["take"](source, index.ssa, axis=axis)


# ---- SequenceMap ----


@register_onnx("", "SequenceMap")
def sequence_map(node: Node) -> Outputs:
    """The body for each item of the first sequence; the other inputs are sequences alongside, or tensors for all."""
    body = node.subgraph("body")
    if body is None or len(body.input) != len(node.inputs):
        raise node.fail(f"must have a body with {counted(len(node.inputs), 'input')}")
    if any(isinstance(held, RunTimeSequence) for held in node.inputs):
        return mapped_at_run_time(node, body)
    count = len(node.sequence(0).items)
    others = [held for held in node.inputs if isinstance(held, SequenceValue)]
    if any(len(other.items) != count for other in others):
        raise node.fail("the sequences have different lengths")
    turns = [[held.items[turn] if held in others else held for held in node.inputs] for turn in range(count)]
    made = [as_items(node, add_graph(node, body, inputs)) for inputs in turns]
    return [SequenceValue(items) for items in zip(*made, strict=True)] if made else empty_sequences(body)


def mapped_at_run_time(node: Node, body: Any) -> list[Any]:
    """The body for each item of the sequences; their lengths must be equal."""
    lists = (SequenceValue, RunTimeSequence)
    inputs = [all_joined(node, held) if isinstance(held, lists) else held for held in node.inputs]
    lengths = [joined_length(held) for held in inputs if isinstance(held, RunTimeSequence)]
    for length in lengths[1:]:
        require(node, relax["equal"](lengths[0], length), "the sequences have different lengths")

    def step(operation: Any, index: Value, states: list[Any]) -> Turn:
        items = [
            joined_item(held, index.ssa) if isinstance(held, RunTimeSequence) else held.inside(operation)
            for held in inputs
        ]
        outputs = as_items(node, add_graph(node, body, items, operation))
        return Turn([appended(node, state, output) for state, output in zip(states, outputs, strict=True)], [])

    turns = scalar_of(node, Value(ssa=lengths[0]))
    return build_any_loop(Loop(node, step, turns), empty_sequences(body))[0]


def empty_sequences(body: Any) -> list[SequenceValue]:
    """Sequences for the outputs of a body that is never used, or not yet."""
    return [SequenceValue([], dtype_of(output.type.tensor_type.elem_type or 1)) for output in body.output]
