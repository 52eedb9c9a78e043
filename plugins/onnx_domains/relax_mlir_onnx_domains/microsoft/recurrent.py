# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of LSTMs with 8-bit weights, which onnxruntime's quantizer writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.frontends.onnx.operators.activations import Activation
from relax_mlir.frontends.onnx.operators.quantization import dynamic_quantized
from relax_mlir.frontends.onnx.operators.recurrent import Cell, LstmCell, Recurrent, Weights
from relax_mlir.frontends.onnx.prelude import Tensor, part, register_rows, relax


class _DirectionWeights(NamedTuple):
    """Weights of a direction, as integers minus the zero point, and their scale."""

    integers: Tensor
    scale: Tensor

    def product(self, data: Tensor) -> Tensor:
        """Multiply data, quantized as in DynamicQuantizeLinear, by the weights."""
        bytes_, scale, zero_point = dynamic_quantized(data)
        sums = relax.matmul(_difference(bytes_, zero_point), self.integers, out_dtype="i32")
        return relax.multiply(relax.astype(sums, dtype="f32"), relax.multiply(scale, self.scale))


class _QuantizedCell(LstmCell):
    def __init__(self, lstm: Recurrent, weights: Weights, functions: Sequence[Activation], matrix: _DirectionWeights):
        super().__init__(lstm.node, lstm.size, weights, functions)
        self._matrix = matrix

    def product(self, hidden: Tensor) -> Tensor:
        return self._matrix.product(hidden)


class _QuantizedLstm(Recurrent):
    """LSTM with 8-bit weights W and R, [directions, elements, gates], with scales and zero points, single or per gate.

    The inputs of all steps are quantized together, the states in each step.
    """

    weights_shown = "directions, hidden, gates * hidden"

    def weight_sizes(self, taken: Dim) -> tuple[Dim, ...]:
        return len(self.directions), taken, self.cell.gates * self.size

    def state_size(self) -> Dim:
        gates = (self.node.value(2).shape or ())[2]
        return gates // LstmCell.gates if isinstance(gates, int) else gates

    def cell_of(self, index: int, functions: Sequence[Activation]) -> Cell:
        matrix = self._quantize(2, 10, index)
        return _QuantizedCell(self, self.weights_of(index, matrix.integers), functions, matrix)

    def product(self, data: Tensor, index: int) -> Tensor:
        return self._quantize(1, 8, index).product(data)

    def _quantize(self, weight: int, scale: int, index: int) -> _DirectionWeights:
        """Return a direction's weights. `scale` is the index of an input; the next input is the zero point."""
        taken = (
            part(self.node.tensor(input_), 0, index, index + 1, drop=True) for input_ in (weight, scale, scale + 1)
        )
        bytes_, own_scale, zero_point = taken
        return _DirectionWeights(_difference(bytes_, zero_point), own_scale)


def _difference(bytes_: Tensor, zero_point: Tensor) -> Tensor:
    return relax.subtract(relax.astype(bytes_, dtype="i32"), relax.astype(zero_point, dtype="i32"))


register_rows("com.microsoft", {"DynamicQuantizeLSTM": lambda node: _QuantizedLstm(node, LstmCell).outputs()})
