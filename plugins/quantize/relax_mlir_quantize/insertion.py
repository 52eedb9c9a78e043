# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Insertion of relax.quantize and relax.dequantize around layers, and of constants in quantized types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import users_of
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.known_constants import floats_of
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.graph.recipes.stated_types import DATA
from relax_mlir.support.errors import RelaxError

from .channels import axis_of_bias
from .mx_blocks import MxBlocks, insert_at_run_time, insert_constant
from .placement import Layer, Placement, ScaleGroup
from .rounded_weights import Operand, Rounded
from .runtime_scales import Dynamic, insertion_after, quantized_at_run_time
from .scales import Scale, derived_scale
from .weight_blocks import Blocks, multiply_by_blocks

if TYPE_CHECKING:
    from numpy import ndarray


class Insertion:
    """One run over a function's layers."""

    def __init__(
        self,
        placement: Placement,
        scales: Mapping[ScaleGroup, Scale],
        rounded: Mapping[Operand, Rounded],
        weights: Mapping[Operand, ndarray],
        *,
        in_blocks: bool = True,
    ):
        """Prepare a run. Without `in_blocks`, products keep their operators and read weights that blocks represent."""
        self._in_blocks = in_blocks
        self._placement, self._scales, self.rounded = placement, scales, rounded
        #: Elements of constants that replace the model's, such as corrected biases.
        self._weights = weights
        self._numbers: dict[tuple[Value, OperandType], Value] = {}
        #: Element types of the real numbers of quantized tensors.
        self._real: dict[Value, str] = {}
        self._dynamic: dict[tuple[Value, OperandType], Dynamic] = {}
        self._blocks: list[tuple[Layer, Operation, Blocks]] = []
        #: Results of layers that weights in blocks replaced.
        self.results: dict[Layer, Value] = {}

    def run(self) -> None:
        # Results first, while each tensor still has the readers that it has in the model.
        for value in self._placement.results:
            self._quantize_result(value)
        for layer in self._placement.layers:
            self._quantize_operands(layer)
        # Last: these replace operations that matches of layers contain.
        for layer, product, blocks in self._blocks:
            is_root = product == layer.match.root
            scaled_product = multiply_by_blocks(product, blocks)
            if is_root:
                self.results[layer] = scaled_product

    def numbers(self, value: Value, type_: OperandType) -> Value:
        """Return the quantized tensor of a tensor that is quantized."""
        return self._numbers[value, type_]

    def _scale(self, value: Value, type_: OperandType) -> Scale:
        return self._scales[self._placement.groups[value, type_]]

    def _quantize_result(self, value: Value) -> None:
        """Let each reader of a result read the quantized tensor."""
        type_ = self._placement.results[value]
        readers = [(user, place) for user in dict.fromkeys(users_of(value)) for place in _places(user, value)]
        others = self._readers_of_other_types(value, type_)
        numbers = {each: self._quantized(value, each) for each in (type_, *others.values())}
        for user, place in readers:
            operand_type = others.get(user, type_)
            user.operands[place] = self._dequantized(numbers[operand_type], self._scale(value, operand_type), user)

    def _readers_of_other_types(self, value: Value, type_: OperandType) -> dict[Operation, OperandType]:
        """Return the readers of layers that want a tensor in another type than its result has."""
        return {
            reader: layer.types[name]
            for layer in self._placement.layers
            for name, each in layer.activations()
            if each == value and layer.types[name] != type_ and not layer.types[name].is_at_run_time
            for reader, _ in readers_in(layer, value)
        }

    def _quantized(self, value: Value, type_: OperandType) -> Value:
        key = (value, type_)
        if key not in self._numbers:
            first = self._placement.results.get(value, type_)
            scale, source = self._scale(value, type_), value
            if first != type_:
                # Hardware writes a result once: other types are made of its integers, not of the real sums.
                numbers = self._quantized(value, first)
                source = self._dequantized(numbers, self._scale(value, first), numbers.owner, behind=True)
            with insertion_after(source):
                self._numbers[key] = relax.quantize(
                    source, const(scale.scale), const(scale.zero_point), axis=scale.axis, out_dtype=type_.dtype
                )
            self._real[self._numbers[key]] = dtype_of(value)
        return self._numbers[key]

    def _dequantized(self, numbers: Value, scale: Scale, reader: Operation, *, behind: bool = False) -> Value:
        """Return the real numbers of a quantized tensor, made before an operation or behind it.

        Each reader has its own, so that patterns can take them.
        """
        point = ir.InsertionPoint.after(reader) if behind else ir.InsertionPoint(reader)
        with reader.location, point:
            return relax.dequantize(
                numbers, const(scale.scale), const(scale.zero_point), axis=scale.axis, out_dtype=self._real[numbers]
            )

    def _quantize_operands(self, layer: Layer) -> None:
        # Found by the readers of constants, which change below.
        axes = {name: axis_of_bias(layer.op, layer.match, name) for name, _ in layer.weights()}
        for name, value in layer.activations():
            type_ = layer.types[name]
            if type_.granularity == "mx":
                for reader, place in readers_in(layer, value):
                    insert_at_run_time(value, type_, reader, place)
            elif type_.dynamic:
                self._quantize_at_run_time(layer, value, type_)
            elif value not in self._placement.results:
                numbers = self._quantized(value, type_)
                for reader, place in readers_in(layer, value):
                    reader.operands[place] = self._dequantized(numbers, self._scale(value, type_), reader)
        for name, value in layer.weights():
            self.quantize_weights(layer, name, value, axes[name])

    def _quantize_at_run_time(self, layer: Layer, value: Value, type_: OperandType) -> None:
        if (value, type_) not in self._dynamic:
            with insertion_after(value):
                self._dynamic[value, type_] = quantized_at_run_time(value, type_)
        dynamic = self._dynamic[value, type_]
        for reader, place in readers_in(layer, value):
            with reader.location, ir.InsertionPoint(reader):
                reader.operands[place] = relax.dequantize(*dynamic, axis=0, out_dtype=dtype_of(value))

    def quantize_weights(self, layer: Layer, name: str, value: Value, axis: int | None) -> None:
        """Let a layer read a constant in its quantized type. `axis` counts the channels of a bias."""
        if (elements := self._weights.get((layer, name))) is None:
            elements = floats_of(value)
        assert elements is not None
        how = self.rounded.get((layer, name)) or self._derived_scale(layer, name, axis)
        for reader, place in readers_in(layer, value):
            if isinstance(how, MxBlocks):
                insert_constant(how, reader, place)
                continue
            if isinstance(how, Blocks):
                self._insert_blocks(layer, reader, place, how)
                continue
            with value.owner.location, ir.InsertionPoint(reader):
                numbers = const(how.quantized(elements), layer.types[name].dtype)
                scale, zero_point = const(how.scale), const(how.zero_point)
                reader.operands[place] = relax.dequantize(
                    numbers, scale, zero_point, axis=how.axis, out_dtype=dtype_of(value)
                )

    def _insert_blocks(self, layer: Layer, reader: Operation, place: int, blocks: Blocks) -> None:
        if self._in_blocks:
            self._blocks.append((layer, reader, blocks))
            return
        with reader.location, ir.InsertionPoint(reader):
            dtype = dtype_of(reader.operands[place])
            reader.operands[place] = const(blocks.rounded(), dtype)

    def _derived_scale(self, layer: Layer, name: str, axis: int | None) -> Scale:
        data = next((value for text, value in layer.activations() if text == DATA), None)
        weights = next((how for (each, _), how in self.rounded.items() if each is layer), None)
        if data is None or not isinstance(weights, Scale):
            raise RelaxError(
                f"{layer.node}: the scale of '{name}' is derived from the scales of '{DATA}' and of constant weights, "
                f"and the pattern has {', '.join(layer.types)}"
            )
        assert axis is not None, "placement refuses others"
        return derived_scale(self._scale(data, layer.types[DATA]), weights, layer.types[name], axis)


def readers_in(layer: Layer, value: Value) -> list[tuple[Operation, int]]:
    """Return the operations of a layer that read a value, with the places of their operands."""
    return [(operation, place) for operation in layer.match.operations for place in _places(operation, value)]


def _places(operation: Operation, value: Value) -> list[int]:
    return [place for place, operand in enumerate(operation.operands) if operand == value]
