# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RNN, LSTM and SVDF: one product of the inputs for all steps, followed by a loop over the steps.

Intermediate tensors have the shape [steps, batch, size].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from relax_mlir.frontends.core.control.recurrent_loops import run_steps

from ..prelude import Outputs, Tensor, TfliteNode, const, part, register_tflite, relax, sizes
from .activations import activated, function_of


def _rows(node: TfliteNode, is_major: bool) -> Tensor:
    x = node.tensor(0)
    return x if is_major else relax.permute_dims(x, axes=[1, 0, 2])


def _product(x: Tensor, weights: Tensor) -> Tensor:
    return relax.matmul(x, relax.permute_dims(weights, axes=[1, 0]))


def _bias(node: TfliteNode, index: int) -> Tensor | None:
    return node.real(index, node.stored(index)).ssa if node.has(index) else None


def _plus(x: Tensor, other: Tensor | None) -> Tensor:
    return x if other is None else relax.add(x, other)


# ---- RNN ----


def _run_rnn(node: TfliteNode, rows: Tensor, first: int, state: int) -> tuple[Tensor, Tensor]:
    """Return the results of all steps, and the state after the last step.

    `first` is the index of the weights, which the recurrent weights and the bias follow. `state` is the index of the
    initial state.
    """
    activation = function_of(node)
    from_input = _plus(_product(rows, node.tensor(first)), _bias(node, first + 2))
    recurrent = relax.permute_dims(node.tensor(first + 1), axes=[1, 0])

    def step(taken: Tensor, states: list[Tensor], _: object) -> tuple[list[Tensor], Tensor]:
        hidden = activation(relax.add(taken, relax.matmul(states[0], recurrent)))
        return [hidden], hidden

    made, (last,) = run_steps(node, from_input, [node.tensor(state)], step)
    return made, last


@register_tflite("UNIDIRECTIONAL_SEQUENCE_RNN")
def sequence_rnn(node: TfliteNode) -> Outputs:
    is_major = bool(node.attr("time_major", False))
    made, last = _run_rnn(node, _rows(node, is_major), 1, 4)
    node.keep(4, last)
    return made if is_major else relax.permute_dims(made, axes=[1, 0, 2])


@register_tflite("RNN")
def rnn(node: TfliteNode) -> Outputs:
    """Convert RNN, a sequence of one step."""
    _, last = _run_rnn(node, relax.expand_dims(node.tensor(0), axis=[0]), 1, 4)
    node.keep(4, last)
    return last


# ---- LSTM ----


class Places(NamedTuple):
    """Indices of an LSTM's operands: of single operands, or the first of operands that gates have.

    The order of the gates is input, forget, cell and output.
    """

    weights: int
    recurrent: int
    peepholes: int
    bias: int
    projection: int
    hidden: int
    cell: int
    norms: int | None


_LSTM = Places(1, 5, 9, 12, 16, 18, 19, 20)


class Lstm:
    """LSTM in one direction. Without weights for the input gate, the gate is 1 minus the forget gate."""

    def __init__(self, node: TfliteNode, places: Places):
        self.node, self.places = node, places
        self.is_coupled = not node.has(places.weights)
        self.gates = [gate for gate in range(4) if gate or not self.is_coupled]
        self.cell_clip, self.projection_clip = node.attr("cell_clip", 0.0), node.attr("proj_clip", 0.0)
        self.activation: Callable[[Tensor], Tensor] = function_of(node)

    def run(self, rows: Tensor) -> tuple[Tensor, list[Tensor]]:
        node, places = self.node, self.places
        weights = [relax.permute_dims(node.tensor(places.weights + gate), axes=[1, 0]) for gate in self.gates]
        recurrent = [relax.permute_dims(node.tensor(places.recurrent + gate), axes=[1, 0]) for gate in self.gates]
        from_input = relax.matmul(rows, relax.concat(weights, axis=1))
        if not self._has_norms:
            from_input = _plus(from_input, self._joined_bias())
        joined = relax.concat(recurrent, axis=1)
        states = [node.tensor(places.hidden), node.tensor(places.cell)]

        def step(taken: Tensor, tensors: list[Tensor], _: object) -> tuple[list[Tensor], Tensor]:
            after = self._step(relax.add(taken, relax.matmul(tensors[0], joined)), tensors[1])
            return after, after[0]

        return run_steps(node, from_input, states, step)

    @property
    def _has_norms(self) -> bool:
        return self.places.norms is not None and self.node.has(self.places.norms + 1)

    def _joined_bias(self) -> Tensor | None:
        found = [_bias(self.node, self.places.bias + gate) for gate in self.gates]
        given = [each for each in found if each is not None]
        if len(given) not in (0, len(found)):
            raise self.node.fail("either all gates or no gates must have a bias")
        return relax.concat(given, axis=0) if given else None

    def _step(self, total: Tensor, cell: Tensor) -> list[Tensor]:
        if not isinstance(size := self.node.sizes_of(self.places.cell, 1)[-1], int):
            raise self.node.fail("the size of its cell is not known at import")
        sums = {gate: part(total, 1, place * size, (place + 1) * size) for place, gate in enumerate(self.gates)}
        forget = self._gate(sums[1], 1, cell)
        kept = relax.subtract(const(1, "f32"), forget) if self.is_coupled else self._gate(sums[0], 0, cell)
        new = self.activation(self._normalize(sums[2], 2))
        cell = relax.add(relax.multiply(forget, cell), relax.multiply(kept, new))
        cell = relax.clip(cell, -self.cell_clip, self.cell_clip) if self.cell_clip > 0 else cell
        return [self._project(relax.multiply(self._gate(sums[3], 3, cell), self.activation(cell))), cell]

    def _gate(self, total: Tensor, gate: int, cell: Tensor) -> Tensor:
        place = self.places.peepholes + {0: 0, 1: 1, 3: 2}[gate]
        if self.node.has(place):
            total = relax.add(total, relax.multiply(cell, self.node.tensor(place)))
        return relax.sigmoid(self._normalize(total, gate))

    def _normalize(self, total: Tensor, gate: int) -> Tensor:
        if not self._has_norms or self.places.norms is None:
            return total
        centered = relax.subtract(total, relax.mean(total, axis=[-1], keepdims=True))
        variance = relax.mean(relax.square(centered), axis=[-1], keepdims=True)
        made = relax.divide(centered, relax.sqrt(relax.add(variance, const(1e-8, "f32"))))
        scaled = relax.multiply(made, self.node.tensor(self.places.norms + gate))
        return _plus(scaled, _bias(self.node, self.places.bias + gate))

    def _project(self, hidden: Tensor) -> Tensor:
        node, place = self.node, self.places.projection
        if not node.has(place):
            return hidden
        projected = _plus(_product(hidden, node.tensor(place)), _bias(node, place + 1))
        return (
            relax.clip(projected, -self.projection_clip, self.projection_clip)
            if self.projection_clip > 0
            else projected
        )


@register_tflite("UNIDIRECTIONAL_SEQUENCE_LSTM")
def sequence_lstm(node: TfliteNode) -> Outputs:
    is_major = bool(node.attr("time_major", False))
    if node.attr("diagonal_recurrent_tensors", False):
        raise node.fail("diagonal recurrent weights are not supported", "diagonal_recurrent_tensors")
    tensor = _run_lstm(node, _rows(node, is_major))
    return tensor if is_major else relax.permute_dims(tensor, axes=[1, 0, 2])


def _run_lstm(node: TfliteNode, rows: Tensor) -> Tensor:
    if node.rows[0] is not None and node.rows[0].is_quantized:
        raise node.fail("an integer LSTM, which has separate scales for its gates, is not supported")
    made, states = Lstm(node, _LSTM).run(rows)
    for index, state in zip((_LSTM.hidden, _LSTM.cell), states, strict=True):
        node.keep(index, state)
    return made


@register_tflite("LSTM")
def lstm(node: TfliteNode) -> Outputs:
    """Convert LSTM, a sequence of one step."""
    if node.attr("kernel_type", 0):
        raise node.fail("the basic kernel, which has different operands, is not supported", "kernel_type")
    return relax.squeeze(_run_lstm(node, relax.expand_dims(node.tensor(0), axis=[0])), axis=[0])


# ---- both directions ----


@register_tflite("BIDIRECTIONAL_SEQUENCE_RNN")
def both_rnns(node: TfliteNode) -> Outputs:
    """Convert a bidirectional RNN: forward weights and state, followed by backward weights and state."""
    if node.has(9):
        raise node.fail("an auxiliary input is not supported")
    is_major = bool(node.attr("time_major", False))
    rows = _rows(node, is_major)
    forward, last = _run_rnn(node, rows, 1, 4)
    backward, first = _run_rnn(node, relax.flip(rows, axis=0), 5, 8)
    node.keep(4, last)
    node.keep(8, first)
    return _both(node, forward, relax.flip(backward, axis=0), is_major)


_FORWARD, _BACKWARD = Places(1, 5, 9, 12, 16, 35, 36, None), Places(18, 22, 26, 29, 33, 37, 38, None)


@register_tflite("BIDIRECTIONAL_SEQUENCE_LSTM")
def both_lstms(node: TfliteNode) -> Outputs:
    if any(node.has(index) for index in range(39, 48)):
        raise node.fail("an auxiliary input is not supported")
    is_major = bool(node.attr("time_major", True))
    rows = _rows(node, is_major)
    forward, ends = Lstm(node, _FORWARD).run(rows)
    backward, starts = Lstm(node, _BACKWARD).run(relax.flip(rows, axis=0))
    for index, state in zip(range(35, 39), [*ends, *starts], strict=True):
        node.keep(index, state)
    return _both(node, forward, relax.flip(backward, axis=0), is_major)


def _both(node: TfliteNode, forward: Tensor, backward: Tensor, is_major: bool) -> Sequence[Tensor]:
    """Return both directions, concatenated along the last dimension or as separate results."""
    tensors = [relax.concat([forward, backward], axis=2)] if node.attr("merge_outputs", False) else [forward, backward]
    return [tensor if is_major else relax.permute_dims(tensor, axes=[1, 0, 2]) for tensor in tensors]


# ---- SVDF ----


@register_tflite("SVDF")
def svdf(node: TfliteNode) -> Outputs:
    """Convert SVDF: filters over the features, then over the last results in time.

    One unit is the sum of `rank` filters.
    """
    rank, (filters, memory) = node.attr("rank"), node.fixed_sizes(2, 2)
    if rank < 1 or filters % rank:
        raise node.fail(f"{filters} filters cannot be divided into units of {rank}", "rank")
    batch = node.sizes_of(0, 1)[0]
    newest = relax.expand_dims(_product(node.tensor(0), node.tensor(1)), axis=[-1])
    state = sizes.reshaped(node.tensor(4), [batch, filters, memory])
    state = relax.concat([part(state, 2, 1, memory), newest], axis=2) if memory > 1 else newest
    node.keep(4, sizes.reshaped(state, [batch, filters * memory]))
    over_time = relax.sum(relax.multiply(state, node.tensor(2)), axis=[2])
    units = relax.sum(sizes.reshaped(over_time, [batch, filters // rank, rank]), axis=[2])
    return activated(node, _plus(units, _bias(node, 3)))
