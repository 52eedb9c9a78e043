# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builder of a function's plan for one set of sizes: layouts, reorders between layouts, and fused post-ops.

Values keep the layouts that their primitives prefer. Primitives that read only constants run here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from relax_mlir.runtime import Data

from .call_sizes import size
from .describe import Described
from .description import Argument, DnnlFunction, PrimitiveStep, Value
from .library import DnnlError
from .objects import (
    ARGUMENTS,
    SCALES,
    SCRATCHPAD,
    WIDTHS,
    ZERO_POINTS,
    Attributes,
    Layout,
    Primitive,
    PrimitiveDescription,
)
from .primitive_plan import PlacedTensor, PrimitiveCall, PrimitivePlan, TensorBuffer, allocate
from .primitives import reordering
from .splitting import is_exact, split, split_empty, split_single_elements, split_to_floats


class Constants:
    """Reordered copies of a part's constants. The constants themselves are read from the mapped part."""

    def __init__(self, *, is_used: bool = True):
        """Start without copies. Without `is_used`, plans are only tried out, and copies get no memory."""
        self.is_used = is_used
        #: Pairs of a constant and its copy in another layout, for all plans.
        self.reordered: list[tuple[PlacedTensor, PlacedTensor]] = []


def _constant_buffer(data: Data, nbytes: int) -> TensorBuffer:
    """Return the buffer of a constant, without a copy."""
    import numpy

    if nbytes > len(data):
        raise DnnlError(f"a constant of codegen 'dnnl' has {len(data)} bytes, expected {nbytes}")
    array = numpy.frombuffer(data, "uint8")
    return TensorBuffer(nbytes, address=array.ctypes.data, owner=array)


class _Choice(NamedTuple):
    """Primitive of a step, and the number of post-ops that it computes."""

    fused: int
    described: Described


class Builder:
    """Builder of the plan of one function for one set of sizes."""

    def __init__(self, function: DnnlFunction, constants: Constants, symbols: Mapping[str, int]):
        self._function, self._constants, self._symbols = function, constants, symbols
        self._values: list[Value] = []
        #: Layout and memory of each value that has been computed.
        self._tensors: dict[int, PlacedTensor] = {}
        self._reordered: list[tuple[PlacedTensor, PlacedTensor]] = []
        self._calls: list[PrimitiveCall] = []
        #: Model nodes of the current step, for its calls.
        self._nodes: tuple[str, ...] = ()
        self._outputs: dict[int, list[int]] = {}

    def build(self) -> PrimitivePlan:
        for value in self._function.values:
            self.new_value(tuple(size(dim, self._symbols) for dim in value.dims), value.dtype)
            if value.data is not None:
                layout = self.plain(len(self._values) - 1)
                self._tensors[len(self._values) - 1] = PlacedTensor(layout, _constant_buffer(value.data, layout.nbytes))
        for position, number in enumerate(self._function.inputs):
            self._tensors[number] = self._argument_tensor(number, position)
        for position, number in enumerate(self._function.outputs, len(self._function.inputs)):
            self._outputs.setdefault(number, []).append(position)
        for step in self._function.steps:
            self._nodes = step.nodes
            self.step(step)
        for number, positions in self._outputs.items():
            for position in positions if 0 not in self._dims(number) else ():
                self._reorder(self._tensors[number], self._argument_tensor(number, position))
        return PrimitivePlan(self._calls)

    def _argument_tensor(self, value: int, position: int) -> PlacedTensor:
        """Return a row-major argument of the call."""
        layout = self.plain(value)
        return PlacedTensor(layout, TensorBuffer(layout.nbytes, position=position))

    def new_value(self, dims: tuple[int, ...], dtype: str) -> int:
        self._values.append(Value(dims, dtype))
        return len(self._values) - 1

    def filled(self, dims: tuple[int, ...], dtype: str, number: float) -> int:
        """Add a value with all elements equal to a number, and return its index."""
        import numpy

        half = numpy.float32(number).view("uint32") >> 16  # exact for the numbers of splitting._EMPTY_RESULTS
        array = numpy.full(dims, half, "uint16") if dtype == "bf16" else numpy.full(dims, number, f"f{WIDTHS[dtype]}")
        value = self.new_value(dims, dtype)
        layout = self.plain(value)
        self._tensors[value] = PlacedTensor(
            layout, _constant_buffer(array.reshape(-1).view("uint8").data, layout.nbytes)
        )
        return value

    def _dims(self, value: int) -> tuple[int, ...]:
        return tuple(size(dim, self._symbols) for dim in self._values[value].dims)

    def dtype(self, argument: Argument) -> str:
        return self._values[argument.value].dtype

    def plain(self, value: int) -> Layout:
        return Layout.strided(self._dims(value), self._values[value].dtype)

    def viewed_dims(self, argument: Argument) -> list[tuple[int, ...]]:
        """Return the sizes of the value, and the sizes after each view."""
        found = [self._dims(argument.value)]
        for kind, parameters in argument.views:
            before = found[-1]
            sizes = (
                [before[int(axis)] for axis in parameters]
                if kind == "permute"
                else [self._size(parameter) for parameter in parameters]
            )
            found.append(tuple(sizes))
        return found

    def _size(self, known: int | str) -> int:
        return size(known, self._symbols)

    def read(self, argument: Argument) -> PlacedTensor:
        """Return a value seen through an argument's views, without a copy if its layout allows that."""
        tensor = self._tensors[argument.value]
        for (kind, parameters), after in zip(argument.views, self.viewed_dims(argument)[1:], strict=True):
            if kind == "permute":
                tensor = PlacedTensor(tensor.layout.permuted([*map(self._size, parameters)]), tensor.buffer)
                continue
            if tensor.layout.reshaped(after) is None:
                tensor = self._convert_layout(tensor, Layout.strided(tensor.layout.dims, tensor.layout.dtype))
            shaped = tensor.layout.reshaped(after)
            assert shaped is not None
            tensor = PlacedTensor(shaped, tensor.buffer)
        return tensor

    def _convert_layout(self, tensor: PlacedTensor, layout: Layout) -> PlacedTensor:
        """Return the tensor in a layout. Each layout of a tensor is computed once."""
        if tensor.layout == layout:
            return tensor
        copies = self._constants.reordered if tensor.buffer.is_constant else self._reordered
        for source, copy in copies:
            if source.buffer.is_at(tensor.buffer) and source.layout == tensor.layout and copy.layout == layout:
                return copy
        copy = self._reorder(tensor, PlacedTensor(layout, TensorBuffer(layout.nbytes)))
        copies.append((tensor, copy))
        return copy

    def _reorder(self, source: PlacedTensor, result: PlacedTensor) -> PlacedTensor:
        description = reordering(source.layout, result.layout, Attributes())
        return self._emit("reorder", description, {ARGUMENTS["src"]: source}, result)

    def _emit(
        self, kind: str, description: PrimitiveDescription, arguments: dict[int, PlacedTensor], result: PlacedTensor
    ) -> PlacedTensor:
        """Add a primitive to the plan. If all its arguments are constant and its result is no output, run it now."""
        scratchpad = description.scratchpad
        call = PrimitiveCall(Primitive(description), {**arguments, ARGUMENTS["dst"]: result}, kind, self._nodes)
        if scratchpad.nbytes:
            call.arguments[SCRATCHPAD] = PlacedTensor(scratchpad, TensorBuffer(scratchpad.nbytes))
        if result.buffer.position is not None or not all(tensor.buffer.is_constant for tensor in arguments.values()):
            self._calls.append(call)
            return result
        address, owner = allocate(result.layout.nbytes if self._constants.is_used else 0)
        constant = PlacedTensor(result.layout, TensorBuffer(result.layout.nbytes, address=address, owner=owner))
        call.arguments[ARGUMENTS["dst"]] = constant
        if self._constants.is_used:
            PrimitivePlan([call]).make_calls().run()
        return constant

    def step(self, step: PrimitiveStep) -> None:
        if 0 in self._dims(step.result.value):  # nothing to compute, and oneDNN divides by some sizes
            layout = self.plain(step.result.value)
            self._tensors[step.result.value] = PlacedTensor(layout, TensorBuffer(layout.nbytes))
            return
        if step.kind == "concat":
            step = self._drop_empty_operands(step)
        if step.kind == "view":
            source, dims = step.arguments["src"], self._dims(step.result.value)
            self._tensors[step.result.value] = self.read(replace(source, views=(*source.views, ("reshape", dims))))
            return
        if step.kind == "slice":
            self._tensors[step.result.value] = self._piece(step)
            return
        for each in self._split(step):
            self.step(each)

    def _split(self, step: PrimitiveStep) -> list[PrimitiveStep]:
        """Split a step into steps. If one primitive computes the step, add the primitive and return no steps."""
        if any(0 in self.viewed_dims(each)[-1] for each in step.reads()):
            return split_empty(self, step)
        if (
            step.kind == "reduction"
            and self.viewed_dims(step.arguments["src"])[-1] == self.viewed_dims(step.result)[-1]
        ):
            return split_single_elements(self, step)
        is_product = step.kind != "reorder" and "src" in step.quantized
        choice = None if is_product and not is_exact(step) else self._choice(step)
        if choice is None or (is_product and choice.described.description.is_reference):
            return split_to_floats(self, step)
        if choice.fused < len(step.post_ops):
            return split(self, step, choice.fused)
        self._make(choice.described)
        return []

    def _drop_empty_operands(self, step: PrimitiveStep) -> PrimitiveStep:
        """Return a concatenation without empty operands, such as the cached keys and values before the first call."""
        parts = [argument for argument in step.arguments.values() if 0 not in self.viewed_dims(argument)[-1]]
        return replace(step, arguments={f"part{number}": part for number, part in enumerate(parts)})

    def _piece(self, step: PrimitiveStep) -> PlacedTensor:
        source, begin = self.read(step.arguments["src"]), step.attributes["begin"]
        layout = self.plain(step.result.value)
        if (piece := source.layout.part(layout.dims, begin)) is None:
            source = self._convert_layout(source, Layout.strided(source.layout.dims, source.layout.dtype))
            piece = source.layout.part(layout.dims, begin)
        if piece is None:
            raise DnnlError(f"oneDNN cannot slice {layout.dims} from a tensor of shape {source.layout.dims} at {begin}")
        return self._reorder(PlacedTensor(piece, source.buffer), PlacedTensor(layout, TensorBuffer(layout.nbytes)))

    def _choice(self, step: PrimitiveStep) -> _Choice | None:
        """Return the first optimized primitive, from all post-ops to none, or else the first reference primitive.

        If there is no primitive at all, return None for quantized products, and raise DnnlError for other steps.
        """
        slow: _Choice | None = None
        refusal: DnnlError | None = None
        for fused in range(len(step.post_ops), -1, -1):
            for is_plain in (False, True):
                try:
                    found = Described(self, replace(step, post_ops=step.post_ops[:fused]), is_plain)
                except DnnlError as error:
                    refusal = refusal or error
                    continue
                if not found.description.is_reference:
                    return _Choice(fused, found)
                slow = slow or _Choice(fused, found)
        if slow is None and "src" not in step.quantized:
            shapes = ", ".join(f"{name} {self.viewed_dims(argument)[-1]}" for name, argument in step.arguments.items())
            raise DnnlError(f"oneDNN has no {step.kind} primitive for {shapes}: {refusal}")
        return slow

    def _make(self, described: Described) -> None:
        step = described.step
        arguments = {number: self._convert_layout(tensor, layout) for number, tensor, layout in described.arguments()}
        for name, quantized in step.quantized.items():
            arguments[SCALES | ARGUMENTS[name]] = self._tensors[quantized.scale]
            if quantized.zero_point is not None:
                arguments[ZERO_POINTS | ARGUMENTS[name]] = self._tensors[quantized.zero_point]
        value, layout = step.result.value, described.result
        outputs = self._outputs.get(value, [])
        position = outputs.pop(0) if outputs and described.stored == self.plain(value) else None
        target = PlacedTensor(layout, TensorBuffer(layout.nbytes, position=position))
        result = self._emit(step.kind, described.description, arguments, target)
        self._tensors[value] = PlacedTensor(described.stored, result.buffer)
