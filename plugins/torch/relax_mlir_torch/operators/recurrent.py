# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of RNN, GRU and LSTM, and of single steps.

One product computes the inputs' part of the gates for all steps. Internally, tensors are [steps, batch, size] for one
direction of one layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from relax_mlir.frontends.core.control.recurrent_loops import run_steps

from ..prelude import Outputs, Tensor, TorchNode, Value, info_of, part, register_rows, relax


class LayerWeights(NamedTuple):
    """Weights of a direction of a layer, with transposed matrices. `projection` narrows an LSTM's rows."""

    input: Tensor
    hidden: Tensor
    input_bias: Tensor | None = None
    hidden_bias: Tensor | None = None
    projection: Tensor | None = None


#: `step(input's part of the gates, states, weights)` returns the next states.
Cell = Callable[[Tensor, Sequence[Tensor], LayerWeights], list[Tensor]]


def _from_hidden(hidden: Tensor, weights: LayerWeights) -> Tensor:
    return _plus(relax.matmul(hidden, weights.hidden), weights.hidden_bias)


def _plus(tensor: Tensor, bias: Tensor | None) -> Tensor:
    return tensor if bias is None else relax.add(tensor, bias)


def _gates(tensor: Tensor, count: int) -> list[Tensor]:
    axis = tensor.type.rank - 1
    size = (info_of(tensor).shape or ())[axis] // count
    return [part(tensor, axis, place * size, (place + 1) * size) for place in range(count)]


def _rnn(activation: Callable[[Tensor], Tensor]) -> Cell:
    def step(from_input: Tensor, states: Sequence[Tensor], weights: LayerWeights) -> list[Tensor]:
        return [activation(relax.add(from_input, _from_hidden(states[0], weights)))]

    return step


def _gru(from_input: Tensor, states: Sequence[Tensor], weights: LayerWeights) -> list[Tensor]:
    (hidden,) = states
    ours, theirs = _gates(from_input, 3), _gates(_from_hidden(hidden, weights), 3)
    reset, update = (relax.sigmoid(relax.add(ours[place], theirs[place])) for place in (0, 1))
    new = relax.tanh(relax.add(ours[2], relax.multiply(reset, theirs[2])))
    return [relax.add(new, relax.multiply(update, relax.subtract(hidden, new)))]


def _lstm(from_input: Tensor, states: Sequence[Tensor], weights: LayerWeights) -> list[Tensor]:
    hidden, cell = states
    entering, forgetting, new, leaving = _gates(relax.add(from_input, _from_hidden(hidden, weights)), 4)
    kept = relax.multiply(relax.sigmoid(forgetting), cell)
    cell = relax.add(kept, relax.multiply(relax.sigmoid(entering), relax.tanh(new)))
    row = relax.multiply(relax.sigmoid(leaving), relax.tanh(cell))
    return [row if weights.projection is None else relax.matmul(row, weights.projection), cell]


# ---- sequences ----


def sequence(node: TorchNode, cell: Cell) -> Outputs:
    """Return the rows of the last layer, and the last states of each direction of each layer."""
    if node.has("batch_sizes"):
        raise node.fail("packed sequences are not supported: give it padded ones, [steps, batch, size]")
    if node.bool("train") and node.float("dropout", 0.0) > 0:
        raise node.fail("it drops elements at random: call model.eval() before the model is imported", "dropout")
    initial = node.tensors("hx") if isinstance(node.get("hx"), list) else [node.tensor("hx")]
    data, has_batch, batch_first = node.tensor("input"), node.rank("input") == 3, node.bool("batch_first")
    if not has_batch:
        data, initial = (relax.expand_dims(data, axis=[1])), [relax.expand_dims(each, axis=[1]) for each in initial]
    elif batch_first:
        data = relax.permute_dims(data, axes=[1, 0, 2])
    lasts: list[list[Tensor]] = [[] for _ in initial]
    directions = 2 if node.bool("bidirectional") else 1
    learned = _weights(node, len(initial) == 2 and info_of(initial[0]).shape != info_of(initial[1]).shape)
    for layer in range(node.int("num_layers")):
        rows = []
        for direction in range(directions):
            index = layer * directions + direction
            states = [part(each, 0, index, index + 1, drop=True) for each in initial]
            made, after = _run(node, cell, data, states, learned[index], direction == 1)
            rows.append(made)
            for last, state in zip(lasts, after, strict=True):
                last.append(state)
        data = rows[0] if directions == 1 else relax.concat(rows, axis=-1)
    results = [relax.stack(last, axis=0) for last in lasts]
    if not has_batch:
        return [relax.squeeze(result, axis=[1]) for result in (data, *results)]
    return [relax.permute_dims(data, axes=[1, 0, 2]) if batch_first else data, *results]


def _weights(node: TorchNode, is_projected: bool) -> list[LayerWeights]:
    """Return the weights of each direction of each layer."""
    values = node.values("params")
    has_biases = node.bool("has_biases")
    count = 2 + (2 if has_biases else 0) + is_projected
    return [_arrange(values[place : place + count], has_biases, is_projected) for place in range(0, len(values), count)]


def _arrange(values: Sequence[Value], has_biases: bool, is_projected: bool) -> LayerWeights:
    input_bias, hidden_bias = (value.ssa for value in values[2:4]) if has_biases else (None, None)
    projection = _transpose(values[-1]) if is_projected else None
    return LayerWeights(_transpose(values[0]), _transpose(values[1]), input_bias, hidden_bias, projection)


def _transpose(matrix: Value) -> Tensor:
    return relax.permute_dims(matrix.ssa, axes=[1, 0])


def _run(
    node: TorchNode, cell: Cell, data: Tensor, states: Sequence[Tensor], weights: LayerWeights, is_backwards: bool
) -> tuple[Tensor, list[Tensor]]:
    """Run a direction of a layer. Return its rows and its last states."""
    data = relax.flip(data, axis=0) if is_backwards else data
    from_input = _plus(relax.matmul(data, weights.input), weights.input_bias)

    def step(taken: Tensor, tensors: list[Tensor], _: Value) -> tuple[list[Tensor], Tensor]:
        after = cell(taken, tensors, weights)
        return after, after[0]

    rows, after = run_steps(node, from_input, states, step)
    return (relax.flip(rows, axis=0) if is_backwards else rows), after


register_rows(
    {
        "aten::rnn_tanh": lambda node: sequence(node, _rnn(relax.tanh)),
        "aten::rnn_relu": lambda node: sequence(node, _rnn(relax.nn.relu)),
        "aten::gru": lambda node: sequence(node, _gru),
        "aten::lstm": lambda node: sequence(node, _lstm),
        "aten::rnn_tanh_cell": lambda node: one_step(node, _rnn(relax.tanh))[0],
        "aten::rnn_relu_cell": lambda node: one_step(node, _rnn(relax.nn.relu))[0],
        "aten::gru_cell": lambda node: one_step(node, _gru)[0],
        "aten::lstm_cell": lambda node: one_step(node, _lstm),
    }
)


# ---- one step ----


def one_step(node: TorchNode, cell: Cell) -> list[Tensor]:
    states = node.tensors("hx") if isinstance(node.get("hx"), list) else [node.tensor("hx")]
    of_input, of_hidden = (_transpose(node.value(name)) for name in ("w_ih", "w_hh"))
    weights = LayerWeights(of_input, of_hidden, node.optional("b_ih"), node.optional("b_hh"))
    from_input = _plus(relax.matmul(node.tensor("input"), weights.input), weights.input_bias)
    return cell(from_input, states, weights)
