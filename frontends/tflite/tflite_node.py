# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a converter sees of an operator: its inputs as real numbers or as they are stored, its options.

@register_tflite("TRANSPOSE")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.known_numbers(1))
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ...bindings.ir import Operation
from ...dialects import relax
from ...support.suggest import counted
from ..core import sizes
from ..core.complex_numbers import Pair
from ..core.node import Node as CoreNode
from ..core.node import described
from ..core.sizes import Size
from ..core.values import ComplexValue, Held, Tensor, Value
from .quantized import dequantized
from .schema import names_in
from .tflite_file import OperatorRow, TensorRow
from .tflite_scope import TfliteScope

_REQUIRED = object()


class Node(CoreNode):
    """One operator."""

    graph: TfliteScope

    def __init__(
        self, name: str, row: OperatorRow, inputs: Sequence[Held | None], rows: Sequence[TensorRow | None],
        results: Sequence[TensorRow], graph: TfliteScope,
    ):  # fmt: skip
        """`rows` and `results` are the tensors of the inputs and of the outputs as the file describes them."""
        super().__init__(name, row.op, inputs, graph, [each.name if each else "" for each in rows])
        self.row, self.rows, self.results = row, list(rows), list(results)
        self._real: dict[int, Value] = {}

    # ---- options ----

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """An option by the schema's name: a number, text, a list of numbers. A custom operator's are a map of
        FlexBuffers, or bytes of its own: `node.row.custom_options`.
        """
        options = self.row.options or (self._custom(name) if self.row.is_custom else {})
        if name in options:
            return options[name]
        if default is _REQUIRED:
            raise self.fail(f"option '{name}' is missing", name)
        return default

    def _custom(self, name: str) -> dict[str, Any]:
        """An option of a custom operator, where it has that."""
        from flatbuffers import flexbuffers

        try:
            held = flexbuffers.GetRoot(bytearray(self.row.custom_options)).AsMap
            keys = [each.AsKey for each in (held.Keys[place] for place in range(len(held.Keys)))]
            if name not in keys:
                return {}
            found = held[name]
            if found.IsVector or found.IsTypedVector:
                return {name: [_plain(each) for each in found.AsVector]}
            return {name: _plain(found)}
        except (ArithmeticError, AssertionError, LookupError, RecursionError, TypeError, ValueError, struct.error):
            raise self.fail("its options are no map of FlexBuffers", name) from None

    @property
    def activation(self) -> str:
        """The function that is computed of its result: RELU and so on."""
        number = self.attr("fused_activation_function", 0)
        return names_in("ActivationFunctionType").get(number, f"#{number}")

    # ---- inputs ----

    def stored(self, index: int) -> Value:
        """An input as it is stored: of quantized numbers the integers."""
        held = super().held(index)
        if not isinstance(held, Value):
            raise self.fail(f"input #{index} has complex numbers, which it cannot compute with")
        return held

    def pair(self, index: int) -> Pair:
        """The real and the imaginary parts of complex numbers."""
        held = super().held(index)
        if not isinstance(held, ComplexValue):
            raise self.fail(f"input #{index} must have complex numbers")
        return Pair(held.real.ssa, held.imag.ssa)

    def held(self, index: int) -> Held:
        """An input; of quantized numbers the real ones that they stand for."""
        value, row = super().held(index), self.rows[index]
        return self.real(index, self.stored(index)) if row is not None and row.is_quantized else value

    def real(self, index: int, value: Value, axis: int | None = None) -> Value:
        """The real numbers of stored ones, quantized as an input is; scales may go along another axis."""
        row = self.rows[index]
        if row is None or row.quantization is None or value.dtype[0] in "fb":
            return value
        if axis is not None:
            return dequantized(value, row.quantization._replace(axis=axis), f"input '{row.name}'")
        if index not in self._real:
            self._real[index] = dequantized(value, row.quantization, f"input '{row.name}'")
        return self._real[index]

    def known_numbers(self, index: int) -> list[int]:
        """An input whose elements have to be known while the model is imported."""
        found = self.numbers(index)
        if found is None:
            raise self.fail(f"input #{index} '{self.input_names[index]}' is not known while the model is imported")
        return list(found)

    def axis(self, index: int, rank: int) -> int:
        """An input that is one known axis."""
        return self.axis_of(self._only(index, self.known_numbers(index)), rank)

    def sizes_in(self, index: int) -> list[Size]:
        """An input that is a shape: its sizes."""
        found = self.sizes(index) or self.graph.parts.get(self.row.inputs[index])
        if found is not None:
            return list(found)
        shape = self.value(index).shape
        if shape is None or len(shape) != 1 or not isinstance(shape[0], int):
            raise self.fail(f"how many sizes input #{index} has is not known while the model is imported")
        whole = self.integers(index)
        return [sizes.element(whole, place) for place in range(shape[0])]

    def integers(self, index: int) -> Tensor:
        """An input of integers, as 64-bit ones."""
        return _wide(self.stored(index).ssa)

    def size_in(self, index: int) -> Size:
        """An input that is one size."""
        found = self.sizes_in(index) if self.rank(index) else [sizes.of_scalar(self.stored(index))]
        if len(found) != 1:
            raise self.fail(f"input #{index} must be one number, not {len(found)}")
        return found[0]

    def sizes_of(self, index: int, least: int = 0) -> list[Size]:
        """The shape of an input, which has so many dimensions at least."""
        if self.rank(index) < least:
            raise self.fail(f"input #{index} has {counted(self.rank(index), 'dimension')}, {least} are needed")
        return sizes.sizes_of(self.stored(index))

    def fixed_sizes(self, index: int, rank: int) -> list[int]:
        """The same where all of so many dimensions have to be known, of weights for instance."""
        own = self.sizes_of(index)
        if len(own) != rank or not all(isinstance(size, int) for size in own):
            raise self.fail(
                f"input #{index} has {described(self.stored(index))}: {counted(rank, 'known size')} are needed"
            )
        return own

    # ---- results ----

    @property
    def dtype(self) -> str:
        """What the first result is computed in: real numbers where it is quantized."""
        return "f32" if self.results[0].is_quantized else self.results[0].dtype

    def keep(self, index: int, value: Tensor) -> None:
        """Gives a variable, which is an input, its value for the next call."""
        self.graph.keep(self.row.inputs[index], Value(ssa=value))

    # ---- other subgraphs ----

    def run_subgraph(self, option: str, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        """What a subgraph gives for these inputs, built where the insertion point is."""
        return self.graph.add_subgraph(self.attr(option), inputs, region_of)


def _wide(tensor: Tensor) -> Tensor:
    return relax.astype(tensor, dtype="i64")


def _plain(held: Any) -> Any:
    """A number or a text. What is in vectors or maps may be in itself, and more than memory holds."""
    if held.IsMap or held.IsVector or held.IsTypedVector:
        raise ValueError("a vector or a map in another one")
    return held.Value
