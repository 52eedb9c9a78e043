# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of RNN, GRU and LSTM. One product computes the inputs' part of the gates for all steps; a loop the rest.

Internally, tensors are [steps, batch, size] for one direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....dialects.core.equalities import contradict
from ....dialects.core.symbols import Dim
from ...core.control.recurrent_loops import run_steps
from ...core.control.scf_regions import as_info
from ...core.sizes import is_known, size_of, zeros
from ...core.values import Array
from ..prelude import OnnxNode, Tensor, Value, cast, const, like, part, register_rows, relax
from .activations import Activation, activations_of


class Weights(NamedTuple):
    """Weights of a direction. `recurrent` is [size, gates * size]; biases and peepholes are vectors or None."""

    recurrent: Tensor
    input_bias: Tensor | None
    recurrent_bias: Tensor | None
    peepholes: Tensor | None


class Cell:
    """Step of a direction. `from_input` is [batch, gates * size]: the input's part of the gates, with its bias."""

    gates = 1
    states = 1
    activations: tuple[str, ...] = ("Tanh",)

    def __init__(self, node: OnnxNode, size: int, weights: Weights, functions: Sequence[Activation]):
        self.node, self.size, self.weights, self.functions = node, size, weights, functions
        self.clip = node.float("clip", None)

    def step(self, from_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        return [self.activate(0, relax.add(from_input, self.recurrent_part(states[0])))]

    def recurrent_part(self, hidden: Tensor) -> Tensor:
        return _plus(self.product(hidden), self.weights.recurrent_bias)

    def product(self, hidden: Tensor) -> Tensor:
        return relax.matmul(hidden, self.weights.recurrent)

    def activate(self, index: int, value: Tensor) -> Tensor:
        if self.clip:
            value = relax.clip(value, -self.clip, self.clip)
        return self.functions[index](value)

    def gate(self, gates: Tensor, first: int, count: int = 1) -> Tensor:
        """Return some of the gates, which are adjacent in the last axis."""
        return part(gates, gates.type.rank - 1, first * self.size, (first + count) * self.size)


class GruCell(Cell):
    gates = 3
    activations = ("Sigmoid", "Tanh")

    def step(self, from_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        (hidden,) = states
        if self.node.int("linear_before_reset", 0):
            recurrent = self.recurrent_part(hidden)
            update, reset = self._update_and_reset(from_input, self.gate(recurrent, 0, 2))
            candidate = relax.multiply(reset, self.gate(recurrent, 2))
        else:
            both = relax.matmul(hidden, self.gate(self.weights.recurrent, 0, 2))
            update, reset = self._update_and_reset(from_input, _plus(both, self._bias(0, 2)))
            kept = relax.multiply(reset, hidden)
            candidate = _plus(relax.matmul(kept, self.gate(self.weights.recurrent, 2)), self._bias(2, 1))
        new = self.activate(1, relax.add(self.gate(from_input, 2), candidate))
        left = relax.subtract(like(new, 1), update)
        return [relax.add(relax.multiply(left, new), relax.multiply(update, hidden))]

    def _update_and_reset(self, from_input: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
        both = self.activate(0, relax.add(self.gate(from_input, 0, 2), recurrent))
        return self.gate(both, 0), self.gate(both, 1)

    def _bias(self, first: int, count: int) -> Tensor | None:
        bias = self.weights.recurrent_bias
        return None if bias is None else self.gate(bias, first, count)


class LstmCell(Cell):
    """LSTM step. The gates are input, output, forget, cell; the first three have peepholes."""

    gates = 4
    states = 2
    activations = ("Sigmoid", "Tanh", "Tanh")

    def step(self, from_input: Tensor, states: list[Tensor]) -> list[Tensor]:
        hidden, cell = states
        gates = relax.add(from_input, self.recurrent_part(hidden))
        entering = self.activate(0, self._peeping(self.gate(gates, 0), 0, cell))
        if self.node.int("input_forget", 0):
            forgetting = relax.subtract(like(entering, 1), entering)
        else:
            forgetting = self.activate(0, self._peeping(self.gate(gates, 2), 2, cell))
        new = self.activate(1, self.gate(gates, 3))
        cell = relax.add(relax.multiply(forgetting, cell), relax.multiply(entering, new))
        leaving = self.activate(0, self._peeping(self.gate(gates, 1), 1, cell))
        # The cell state is not clipped here, because it is not a sum of a gate.
        return [relax.multiply(leaving, self.functions[2](cell)), cell]

    def _peeping(self, gate: Tensor, index: int, cell: Tensor) -> Tensor:
        if self.weights.peepholes is None:
            return gate
        return relax.add(gate, relax.multiply(self.gate(self.weights.peepholes, index), cell))


class Recurrent:
    """Recurrent node with its directions."""

    def __init__(self, node: OnnxNode, cell: type[Cell]):
        self.node, self.cell = node, cell
        self.batch_first = bool(node.int("layout", 0))
        self.directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(
            node.string("direction", "forward").lower(), []
        )
        if not self.directions:
            raise node.fail("must be forward, reverse or bidirectional", "direction")
        for index, letter, sizes in ((0, "X", self._data_sizes()), (2, "R", self.weights_shown)):
            if node.rank(index) != 3:
                raise node.fail(f"{letter} {node.described(index)} must be 3-D: [{sizes}]")
        if not isinstance(size := self.state_size(), int):
            raise node.fail("the size of the hidden state (R's last dimension) must be known")
        self.size = size
        self.lengths = node.optional(4)
        data = node.tensor(0)
        self.data = relax.permute_dims(data, axes=[1, 0, 2]) if self.batch_first else data
        self.shape = Value(ssa=self.data).shape or ()
        self._check_sizes()

    def _data_sizes(self) -> str:
        return "batch, steps, input" if self.batch_first else "steps, batch, input"

    def _check_sizes(self) -> None:
        """Check the sizes of weights and states against the directions and R. Errors use the inputs' names in ONNX."""
        directions, gates, size = len(self.directions), self.cell.gates * self.size, self.size
        batch = self.shape[1]
        states = (batch, directions, size) if self.batch_first else (directions, batch, size)
        wanted: dict[str, tuple[int, tuple[Dim, ...]]] = {
            "W": (1, self.weight_sizes(self.shape[2])), "R": (2, self.weight_sizes(size)),
            "B": (3, (directions, 2 * gates)), "sequence_lens": (4, (batch,)),
            **{name: (5 + index, states) for index, name in enumerate(("initial_h", "initial_c")[: self.cell.states])},
            **({"P": (7, (directions, 3 * size))} if self.cell.states == 2 else {}),
        }  # fmt: skip
        for name, (index, sizes) in wanted.items():
            shape = self.node.value(index).shape if self.node.has(index) else None
            if shape is None:
                continue
            if len(shape) != len(sizes) or any(map(contradict, shape, sizes)):
                shown = ", ".join("?" if each is None else str(each) for each in sizes)
                raise self.node.fail(f"{name} {self.node.described(index)} must be [{shown}]")

    #: Sizes of R for messages.
    weights_shown = "directions, gates * hidden, hidden"

    def state_size(self) -> Dim:
        return (self.node.value(2).shape or ())[2]

    def weight_sizes(self, taken: Dim) -> tuple[Dim, ...]:
        """Return the sizes of weights for vectors of size `taken`."""
        return len(self.directions), self.cell.gates * self.size, taken

    def outputs(self) -> list[Tensor]:
        functions = activations_of(self.node, self.cell.activations, len(self.directions))
        count = len(self.cell.activations)
        runs = [
            self._run(index, backwards, functions[index * count : (index + 1) * count])
            for index, backwards in enumerate(self.directions)
        ]
        rows = relax.stack([*(rows for rows, _ in runs)], axis=1)
        lasts = [relax.stack([*each], axis=0) for each in zip(*(states for _, states in runs), strict=True)]
        if self.batch_first:
            rows = relax.permute_dims(rows, axes=[2, 0, 1, 3])
            lasts = [relax.permute_dims(last, axes=[1, 0, 2]) for last in lasts]
        return [rows, *lasts][: max(self.node.output_count, 1)]

    def _run(self, index: int, backwards: bool, functions: Sequence[Activation]) -> tuple[Tensor, list[Tensor]]:
        """Return the rows [steps, batch, size] and the last states of a direction."""
        cell = self.cell_of(index, functions)
        data = self._reversed(self.data) if backwards else self.data
        from_input = _plus(self.product(data, index), cell.weights.input_bias)
        states = [self._initial(5 + position, index) for position in range(self.cell.states)]
        step = lambda taken, held, turn: self._step(cell, taken, held, turn)  # noqa: E731
        rows, states = run_steps(self.node, from_input, states, step)
        return (self._reversed(rows) if backwards else rows), states

    def cell_of(self, index: int, functions: Sequence[Activation]) -> Cell:
        return self.cell(self.node, self.size, self.weights_of(index, self._matrix(2, index)), functions)

    def product(self, data: Tensor, index: int) -> Tensor:
        """Return the inputs' part of a direction's gates for all steps."""
        return relax.matmul(data, self._matrix(1, index))

    def _reversed(self, data: Tensor) -> Tensor:
        if self.lengths is None:
            return relax.flip(data, axis=0)
        return relax.reverse_sequence(data, self.lengths, seq_axis=0, batch_axis=1)

    def weights_of(self, index: int, recurrent: Tensor) -> Weights:
        node, gates = self.node, self.cell.gates * self.size
        peepholes = self._vector(7, index, 0, 3 * self.size) if self.cell.states == 2 and node.has(7) else None
        if not node.has(3):
            return Weights(recurrent, None, None, peepholes)
        return Weights(recurrent, self._vector(3, index, 0, gates), self._vector(3, index, gates, 2 * gates), peepholes)

    def _matrix(self, input_: int, index: int) -> Tensor:
        """Return a direction's matrix, transposed: at import if it is a constant, else in each call."""
        if (array := self.node.constant(input_)) is not None:
            return _const(array[index].T)
        return relax.permute_dims(part(self.node.tensor(input_), 0, index, index + 1, drop=True), axes=[1, 0])

    def _vector(self, input_: int, index: int, begin: int, end: int) -> Tensor:
        if (array := self.node.constant(input_)) is not None:
            return _const(array[index, begin:end])
        return part(part(self.node.tensor(input_), 0, index, index + 1, drop=True), 0, begin, end)

    def _initial(self, input_: int, index: int) -> Tensor:
        """Return an initial state of the batch's size. Unknown sizes are checked at run time."""
        node, batch = self.node, size_of(self.data, 1)
        if not node.has(input_):
            return zeros([batch, self.size], node.value(0).dtype)
        taken = part(node.tensor(input_), 1 if self.batch_first else 0, index, index + 1, drop=True)
        return as_info(taken, Value(ssa=taken).info.with_shape((batch if is_known(batch) else None, self.size)))

    def _step(self, cell: Cell, from_input: Tensor, states: list[Tensor], turn: Value) -> tuple[list[Tensor], Tensor]:
        """Return the states after a step, and its row."""
        pairs = zip(cell.step(from_input, states), states, strict=True)
        # Sizes of the weights that are unknown in the graph are checked here.
        new = [as_info(made, Value(ssa=state).info) for made, state in pairs]
        if self.lengths is None:
            return new, new[0]
        # Shorter sequences keep their last states, and their later rows are 0.
        running = relax.expand_dims(relax.greater(self.lengths, cast(turn.ssa, "i32")), axis=[1])
        kept = [relax.where(running, after, before) for after, before in zip(new, states, strict=True)]
        return kept, relax.where(running, new[0], like(new[0], 0))


register_rows(
    "",
    {
        "GRU": lambda node: Recurrent(node, GruCell).outputs(),
        "LSTM": lambda node: Recurrent(node, LstmCell).outputs(),
        "RNN": lambda node: Recurrent(node, Cell).outputs(),
    },
)


def _const(array: Array) -> Tensor:
    import numpy

    return const(numpy.ascontiguousarray(array))


def _plus(tensor: Tensor, bias: Tensor | None) -> Tensor:
    return tensor if bias is None else relax.add(tensor, bias)
