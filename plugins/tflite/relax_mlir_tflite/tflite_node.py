# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that converters read: options of an operator, and inputs as real numbers or as stored integers.

@register_tflite("TRANSPOSE")
def transpose(node):
    return relax.permute_dims(node.tensor(0), axes=node.known_numbers(1))
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from relax_mlir import relax
from relax_mlir.frontends.core import sizes
from relax_mlir.frontends.core.complex_numbers import Pair
from relax_mlir.frontends.core.node import Node as CoreNode
from relax_mlir.frontends.core.node import described
from relax_mlir.frontends.core.sizes import Size
from relax_mlir.frontends.core.values import ComplexValue, Held, Tensor, Value
from relax_mlir.rewriting import Operation
from relax_mlir.support.suggest import counted

from .quantized import dequantized
from .schema import names_in
from .tflite_file import OperatorRow, TensorRow
from .tflite_scope import TfliteScope

_REQUIRED = object()


class TfliteNode(CoreNode):
    """One operator of a subgraph."""

    graph: TfliteScope

    def __init__(
        self, name: str, row: OperatorRow, inputs: Sequence[Held | None], rows: Sequence[TensorRow | None],
        results: Sequence[TensorRow], graph: TfliteScope,
    ):  # fmt: skip
        """Create a node. `rows` and `results` are the file's descriptions of the inputs and outputs."""
        super().__init__(name, row.op, inputs, graph, [tensor_row.name if tensor_row else "" for tensor_row in rows])
        self.row, self.rows, self.results = row, list(rows), list(results)
        self._real: dict[int, Value] = {}

    # ---- options ----

    def attr(self, name: str, default: Any = _REQUIRED) -> Any:
        """Return an option by its name in the schema: a number, a text or a list of numbers.

        Options of a custom operator are a FlexBuffers map, or bytes of another format: `node.row.custom_options`.
        """
        options = self.row.options or (self._custom(name) if self.row.is_custom else {})
        if name in options:
            return options[name]
        if default is _REQUIRED:
            raise self.fail(f"option '{name}' is missing", name)
        return default

    def _custom(self, name: str) -> dict[str, Any]:
        """Return an option of a custom operator, or an empty dictionary if the option is absent."""
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
            raise self.fail("its options are not a FlexBuffers map", name) from None

    @property
    def activation(self) -> str:
        """Return the name of the fused activation function, such as RELU."""
        number = self.attr("fused_activation_function", 0)
        return names_in("ActivationFunctionType").get(number, f"#{number}")

    # ---- inputs ----

    def stored(self, index: int) -> Value:
        """Return an input without dequantization: the integers of a quantized tensor."""
        if not isinstance(held := super().held(index), Value):
            raise self.fail(f"input #{index} has complex numbers, which the operator does not support")
        return held

    def pair(self, index: int) -> Pair:
        """Return the real and imaginary parts of an input of complex numbers."""
        if not isinstance(held := super().held(index), ComplexValue):
            raise self.fail(f"input #{index} must have complex numbers")
        return Pair(held.real.ssa, held.imag.ssa)

    def held(self, index: int) -> Held:
        """Return a required input. A quantized input is converted to the real numbers that it represents."""
        value, row = super().held(index), self.rows[index]
        return self.real(index, self.stored(index)) if row is not None and row.is_quantized else value

    def real(self, index: int, value: Value, axis: int | None = None) -> Value:
        """Return the real numbers for integers with the quantization of an input.

        `axis` replaces the axis of the scales.
        """
        row = self.rows[index]
        if row is None or row.quantization is None or value.dtype[0] in "fb":
            return value
        if axis is not None:
            return dequantized(value, row.quantization._replace(axis=axis), f"input '{row.name}'")
        if index not in self._real:
            self._real[index] = dequantized(value, row.quantization, f"input '{row.name}'")
        return self._real[index]

    def known_numbers(self, index: int) -> list[int]:
        """Return the elements of an integer input. Raises Unsupported if they are not known at import."""
        if (numbers := self.numbers(index)) is None:
            raise self.fail(f"input #{index} '{self.input_names[index]}' is not known at import")
        return list(numbers)

    def axis(self, index: int, rank: int) -> int:
        """Return an input that is one axis, known at import."""
        return self.axis_of(self._only(index, self.known_numbers(index)), rank)

    def sizes_in(self, index: int) -> list[Size]:
        """Return the sizes in an input that is a shape."""
        found = self.sizes(index) or self.graph.parts.get(self.row.inputs[index])
        if found is not None:
            return list(found)
        shape = self.value(index).shape
        if shape is None or len(shape) != 1 or not isinstance(shape[0], int):
            raise self.fail(f"the number of sizes in input #{index} is not known at import")
        whole = self.integers(index)
        return [sizes.element(whole, place) for place in range(shape[0])]

    def integers(self, index: int) -> Tensor:
        """Return an input of integers as 64-bit integers."""
        return relax.astype(self.stored(index).ssa, dtype="i64")

    def size_in(self, index: int) -> Size:
        """Return an input that is one size."""
        found = self.sizes_in(index) if self.rank(index) else [sizes.of_scalar(self.stored(index))]
        if len(found) != 1:
            raise self.fail(f"input #{index} must be one number, not {len(found)}")
        return found[0]

    def sizes_of(self, index: int, least: int = 0) -> list[Size]:
        """Return the shape of an input. Raises Unsupported if it has fewer than `least` dimensions."""
        if self.rank(index) < least:
            raise self.fail(f"input #{index} has {counted(self.rank(index), 'dimension')}, expected at least {least}")
        return sizes.sizes_of(self.stored(index))

    def fixed_sizes(self, index: int, rank: int) -> list[int]:
        """Return the shape of an input, such as weights. Raises Unsupported for another rank or a dynamic size."""
        own = self.sizes_of(index)
        if len(own) != rank or not all(isinstance(size, int) for size in own):
            raise self.fail(
                f"input #{index} is {described(self.stored(index))}: expected {counted(rank, 'known size')}"
            )
        return own

    # ---- results ----

    @property
    def dtype(self) -> str:
        """Return the element type in which the first result is computed: f32 if the result is quantized."""
        return "f32" if self.results[0].is_quantized else self.results[0].dtype

    def keep(self, index: int, value: Tensor) -> None:
        """Set the value that a variable, which is an input, has in the next call."""
        self.graph.keep(self.row.inputs[index], Value(ssa=value))

    # ---- other subgraphs ----

    def run_subgraph(self, option: str, inputs: Sequence[Value], region_of: Operation | None = None) -> list[Value]:
        """Build a subgraph at the insertion point and return its outputs for these inputs."""
        return self.graph.add_subgraph(self.attr(option), inputs, region_of)


def _plain(held: Any) -> Any:
    """Return a number or a text.

    Vectors and maps are refused: they may contain themselves, and expand to more than the memory.
    """
    if held.IsMap or held.IsVector or held.IsTypedVector:
        raise ValueError("a vector or a map is nested")
    return held.Value
