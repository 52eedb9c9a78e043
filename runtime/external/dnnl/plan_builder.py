# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a function's steps to a plan for given sizes: layouts, reorders between them, which post-ops are fused.

Values keep the layout that their primitive prefers. What depends on constants alone is done here, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from ....support.external_bytes import Data
from .call_sizes import size
from .describe import Described
from .description import Argument, Function, Step, Value
from .library import DnnlError
from .objects import ARGUMENTS, SCALES, SCRATCHPAD, WIDTHS, ZERO_POINTS, Attributes, Description, Layout, Primitive
from .primitive_plan import Held, PrimitiveCall, PrimitivePlan, TensorBuffer, allocate
from .primitives import reordering
from .splitting import in_floats, is_exact, of_none, of_one, split


class Constants:
    """What has been made of a part's constants, which are used where they are mapped."""

    def __init__(self, *, is_used: bool = True):
        """Where they are not used, plans are only tried out: nothing is made of constants, which takes memory."""
        self.is_used = is_used
        #: With what they are in another layout, for all plans.
        self.reordered: list[tuple[Held, Held]] = []


def _mapped(data: Data, nbytes: int) -> TensorBuffer:
    """A constant, where it is."""
    import numpy

    if nbytes > len(data):
        raise DnnlError("a constant of codegen 'dnnl' reaches over the end of its bytes")
    held = numpy.frombuffer(data, "uint8")
    return TensorBuffer(nbytes, address=held.ctypes.data, owner=held)


class _Choice(NamedTuple):
    """A primitive, and how many of the step's post-ops it does."""

    fused: int
    described: Described


class Builder:
    """The plan of one function for one set of sizes."""

    def __init__(self, function: Function, constants: Constants, symbols: Mapping[str, int]):
        self._function, self._constants, self._symbols = function, constants, symbols
        self._values: list[Value] = []
        #: Where each value is, once it is made.
        self._held: dict[int, Held] = {}
        self._reordered: list[tuple[Held, Held]] = []
        self._calls: list[PrimitiveCall] = []
        #: Of the step that is made: what its calls compute.
        self._nodes: tuple[str, ...] = ()
        self._outputs: dict[int, list[int]] = {}

    def build(self) -> PrimitivePlan:
        for value in self._function.values:
            self.new_value(tuple(size(each, self._symbols) for each in value.dims), value.dtype)
            if value.data is not None:
                layout = self.plain(len(self._values) - 1)
                self._held[len(self._values) - 1] = Held(layout, _mapped(value.data, layout.nbytes))
        for position, number in enumerate(self._function.inputs):
            self._held[number] = self._passed(number, position)
        for position, number in enumerate(self._function.outputs, len(self._function.inputs)):
            self._outputs.setdefault(number, []).append(position)
        for step in self._function.steps:
            self._nodes = step.nodes
            self.step(step)
        for number, positions in self._outputs.items():
            for position in positions if 0 not in self._dims(number) else ():
                self._reorder(self._held[number], self._passed(number, position))
        return PrimitivePlan(self._calls)

    def _passed(self, value: int, position: int) -> Held:
        """An argument of the call."""
        layout = self.plain(value)
        return Held(layout, TensorBuffer(layout.nbytes, position=position))

    def new_value(self, dims: tuple[int, ...], dtype: str) -> int:
        self._values.append(Value(dims, dtype))
        return len(self._values) - 1

    def filled(self, dims: tuple[int, ...], dtype: str, number: float) -> int:
        """A new value whose elements are all this number."""
        import numpy

        half = numpy.float32(number).view("uint32") >> 16  # what is asked for has no more digits
        array = numpy.full(dims, half, "uint16") if dtype == "bf16" else numpy.full(dims, number, f"f{WIDTHS[dtype]}")
        value = self.new_value(dims, dtype)
        layout = self.plain(value)
        self._held[value] = Held(layout, _mapped(array.reshape(-1).view("uint8").data, layout.nbytes))
        return value

    def _dims(self, value: int) -> tuple[int, ...]:
        return tuple(size(each, self._symbols) for each in self._values[value].dims)

    def dtype(self, argument: Argument) -> str:
        return self._values[argument.value].dtype

    def plain(self, value: int) -> Layout:
        return Layout.strided(self._dims(value), self._values[value].dtype)

    def viewed_dims(self, argument: Argument) -> list[tuple[int, ...]]:
        """The sizes before and after each view."""
        found = [self._dims(argument.value)]
        for kind, given in argument.views:
            before = found[-1]
            sizes = [before[int(axis)] for axis in given] if kind == "permute" else [self._size(each) for each in given]
            found.append(tuple(sizes))
        return found

    def _size(self, known: int | str) -> int:
        return size(known, self._symbols)

    def read(self, argument: Argument) -> Held:
        """A value as an argument sees it, without a copy where its layout allows that."""
        held = self._held[argument.value]
        for (kind, given), after in zip(argument.views, self.viewed_dims(argument)[1:], strict=True):
            if kind == "permute":
                held = Held(held.layout.permuted([*map(self._size, given)]), held.buffer)
                continue
            if held.layout.reshaped(after) is None:
                held = self._in_layout(held, Layout.strided(held.layout.dims, held.layout.dtype))
            shaped = held.layout.reshaped(after)
            assert shaped is not None
            held = Held(shaped, held.buffer)
        return held

    def _in_layout(self, held: Held, layout: Layout) -> Held:
        """The same tensor in this layout; it is reordered once."""
        if held.layout == layout:
            return held
        known = self._constants.reordered if held.buffer.is_constant else self._reordered
        for source, made in known:
            if source.buffer.is_at(held.buffer) and source.layout == held.layout and made.layout == layout:
                return made
        made = self._reorder(held, Held(layout, TensorBuffer(layout.nbytes)))
        known.append((held, made))
        return made

    def _reorder(self, source: Held, result: Held) -> Held:
        description = reordering(source.layout, result.layout, Attributes())
        return self._emit("reorder", description, {ARGUMENTS["src"]: source}, result)

    def _emit(self, kind: str, description: Description, arguments: dict[int, Held], result: Held) -> Held:
        """Calls a primitive when the plan runs, or now where all that it reads is constant."""
        scratchpad = description.scratchpad
        call = PrimitiveCall(Primitive(description), {**arguments, ARGUMENTS["dst"]: result}, kind, self._nodes)
        if scratchpad.nbytes:
            call.arguments[SCRATCHPAD] = Held(scratchpad, TensorBuffer(scratchpad.nbytes))
        if result.buffer.position is not None or not all(held.buffer.is_constant for held in arguments.values()):
            self._calls.append(call)
            return result
        address, owner = allocate(result.layout.nbytes if self._constants.is_used else 0)
        made = Held(result.layout, TensorBuffer(result.layout.nbytes, address=address, owner=owner))
        call.arguments[ARGUMENTS["dst"]] = made
        if self._constants.is_used:
            PrimitivePlan([call]).listed().run()
        return made

    def step(self, step: Step) -> None:
        if 0 in self._dims(step.result.value):  # nothing to compute; oneDNN divides by some sizes
            layout = self.plain(step.result.value)
            self._held[step.result.value] = Held(layout, TensorBuffer(layout.nbytes))
            return
        if step.kind == "concat":
            step = self._joining_elements(step)
        if step.kind == "view":
            source, dims = step.arguments["src"], self._dims(step.result.value)
            self._held[step.result.value] = self.read(replace(source, views=(*source.views, ("reshape", dims))))
            return
        if step.kind == "slice":
            self._held[step.result.value] = self._piece(step)
            return
        for each in self._apart(step):
            self.step(each)

    def _apart(self, step: Step) -> list[Step]:
        """A step as several; none where it is done by one primitive."""
        if any(0 in self.viewed_dims(each)[-1] for each in step.reads()):
            return of_none(self, step)
        if (
            step.kind == "reduction"
            and self.viewed_dims(step.arguments["src"])[-1] == self.viewed_dims(step.result)[-1]
        ):
            return of_one(self, step)
        is_product = step.kind != "reorder" and "src" in step.quantized
        choice = None if is_product and not is_exact(step) else self._choice(step)
        if choice is None or (is_product and choice.described.description.is_reference):
            return in_floats(self, step)
        if choice.fused < len(step.post_ops):
            return split(self, step, choice.fused)
        self._make(choice.described)
        return []

    def _joining_elements(self, step: Step) -> Step:
        """Without tensors that have none, keys and values before the first call for instance."""
        parts = [each for each in step.arguments.values() if 0 not in self.viewed_dims(each)[-1]]
        return replace(step, arguments={f"part{number}": each for number, each in enumerate(parts)})

    def _piece(self, step: Step) -> Held:
        source, begin = self.read(step.arguments["src"]), step.attributes["begin"]
        layout = self.plain(step.result.value)
        piece = source.layout.part(layout.dims, begin)
        if piece is None:
            source = self._in_layout(source, Layout.strided(source.layout.dims, source.layout.dtype))
            piece = source.layout.part(layout.dims, begin)
        if piece is None:
            raise DnnlError(f"oneDNN has no piece {layout.dims} of {source.layout.dims} from {begin} on")
        return self._reorder(Held(piece, source.buffer), Held(layout, TensorBuffer(layout.nbytes)))

    def _choice(self, step: Step) -> _Choice | None:
        """The first way that is written for speed, most post-ops first. Only quantized products may have none."""
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
            shapes = ", ".join(f"{name} {self.viewed_dims(each)[-1]}" for name, each in step.arguments.items())
            raise DnnlError(f"oneDNN has no {step.kind} for {shapes}: {refusal}")
        return slow

    def _make(self, described: Described) -> None:
        step = described.step
        arguments = {number: self._in_layout(held, layout) for number, held, layout in described.arguments()}
        for name, quantized in step.quantized.items():
            arguments[SCALES | ARGUMENTS[name]] = self._held[quantized.scale]
            if quantized.zero_point is not None:
                arguments[ZERO_POINTS | ARGUMENTS[name]] = self._held[quantized.zero_point]
        value, layout = step.result.value, described.result
        outputs = self._outputs.get(value, [])
        position = outputs.pop(0) if outputs and described.stored == self.plain(value) else None
        held = Held(layout, TensorBuffer(layout.nbytes, position=position))
        made = self._emit(step.kind, described.description, arguments, held)
        self._held[value] = Held(described.stored, made.buffer)
