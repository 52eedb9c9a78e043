# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a converter sees of a node: its inputs as values, its attributes as Python's, and what to say when it cannot.

@register_onnx("", "LeakyRelu", since=6)
def leaky_relu(node):
    return relax.nn.leakyrelu(node.tensor(0), alpha=node.float("alpha", 0.01))
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import SymExpr
from ...emit.kernels import Kernel, call_kernel
from ...support.errors import RelaxError
from ...support.suggest import counted
from .model_values import Held, RunTimeSequence, SequenceValue, Tensor, Texts, Value
from .scope import Scope
from .tensor_data import Array, AttributeProto, GraphProto, NodeProto, TensorData, TensorProto, array_of, dtype_of

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 4, 5, 6, 7, 8


class Unsupported(Exception):
    """A node that cannot be imported, and why; `attribute` is the one at fault, where it is one."""

    def __init__(self, reason: str, attribute: str = "", help: str = ""):
        super().__init__(reason)
        self.reason = reason
        self.attribute = attribute
        #: What would make it one that can.
        self.help = help


class Incomplete(Exception):
    """What a node or an operation needs cannot be imported or exported; why has been noted."""


class Node:
    """One use of an operator."""

    def __init__(self, proto: NodeProto, inputs: Sequence[Held | None], version: int, graph: Scope):
        self.proto = proto
        self.op = proto.op_type
        self.domain = proto.domain
        name = proto.name or next((each for each in proto.output if each), proto.op_type)
        #: As the model has it; in a function behind that of its call.
        self.name = f"{graph.within}/{name}" if graph.within else name
        #: The version of the operator's domain that the model is for.
        self.version = version
        #: The graph around, for operators with graphs of their own.
        self.graph = graph
        self.inputs = list(inputs)
        self.output_count = len(proto.output)
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    def fail(self, reason: str, attribute: str = "") -> Unsupported:
        """`raise node.fail("...")`: it cannot be imported."""
        return Unsupported(reason, attribute)

    # ---- inputs ----

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int) -> Value:
        """An input that must be there."""
        value = self.held(index)
        if isinstance(value, Texts):
            raise self.fail(f"input #{index} holds strings, of which it takes none that can be compiled")
        if not isinstance(value, Value):
            raise self.fail(f"input #{index} is a sequence or an optional, not a tensor")
        return value

    def held(self, index: int) -> Held:
        """An input that must be there, whether it is a tensor, a sequence or an optional."""
        held = self.inputs[index] if self.has(index) else None
        if held is None:
            raise self.fail(f"input #{index} is missing")
        return held

    def sequence(self, index: int) -> SequenceValue:
        """An input that must be a sequence."""
        held = self.held(index)
        if not isinstance(held, SequenceValue):
            if isinstance(held, RunTimeSequence):
                raise self.fail(f"input #{index} is a sequence of dynamic length: it must be known here")
            raise self.fail(f"input #{index} is not a sequence")
        return held

    def texts(self, index: int) -> Texts | None:
        """An input that holds strings; None where it is a tensor of numbers."""
        held = self.held(index)
        return held if isinstance(held, Texts) else None

    def described(self, index: int) -> str:
        """An input for messages: `(input 'w', f32 [1, 12, 4])`."""
        return f"(input '{self.proto.input[index]}', {described(self.value(index))})"

    def tensor(self, index: int) -> Tensor:
        """An input as a tensor of the graph."""
        return self.value(index).ssa

    def tensors(self, count: int | None = None) -> list[Tensor]:
        """The first inputs, all without a number."""
        return [self.tensor(index) for index in range(len(self.inputs) if count is None else count)]

    def optional(self, index: int) -> Tensor | None:
        """An input as a tensor of the graph, or None."""
        return self.tensor(index) if self.has(index) else None

    def rank(self, index: int) -> int:
        rank = self.value(index).rank
        if rank is None:
            raise self.fail(f"the rank of input #{index} is not known")
        return rank

    def constant(self, index: int) -> Array | None:
        """An input's elements, an array; None where they are not known before the model runs."""
        return self.value(index).array

    def sizes(self, index: int) -> tuple[int | SymExpr, ...] | None:
        """An input's elements as numbers and expressions over dimensions; None where they are dynamic."""
        elements = self.value(index).elements
        if elements is None:
            return None
        return tuple(each if isinstance(each, SymExpr) else int(each) for each in elements.ravel())

    def scalar(self, index: int) -> Any:
        """The only element of an input that is one number; None where it is not known before the model runs."""
        array = self.constant(index)
        return None if array is None else self._only(index, array.ravel().tolist())

    def number(self, index: int) -> int | None:
        """The same, where it may be computed from dimensions, but must be a plain integer then."""
        numbers = self.numbers(index)
        return None if numbers is None else self._only(index, numbers)

    def _only(self, index: int, numbers: Sequence[object]) -> Any:
        if len(numbers) != 1:
            raise self.fail(f"input #{index} must be one number, not {len(numbers)}")
        return numbers[0]

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """An input's elements where all are plain integers, else None."""
        sizes = self.sizes(index)
        if sizes is None or any(isinstance(size, SymExpr) for size in sizes):
            return None
        return tuple(int(size) for size in sizes if not isinstance(size, SymExpr))

    # ---- calls ----

    def call_tir(self, kernel: Kernel, arguments: Sequence[Tensor], results: object) -> Any:
        """Calls a hand-written PrimFunc: a module of one (@T.prim_func, te.create_prim_func), MLIR text of one, or a
        Python function that writes its loops (rx.loops).

        The module gets it once. `results` is the type of the result, `node.value(0).info` for that of the first
        input, or a list of several's; a kernel in Python has a memref for each argument, then for each result.
        """
        return call_kernel(kernel, arguments, results, self.graph.model.kernels)

    def take_table(self, what: str, *sizes: builtins.int) -> None:
        """Raises TooLarge where the limits of the import have no room for a constant that a converter makes."""
        count = 8 * math.prod(max(size, 0) for size in sizes)
        self.graph.model.room.take_bytes(f"node '{self.name}' ({self.op}): {what}", count)

    # ---- attributes ----

    def has_attribute(self, name: str) -> bool:
        return name in self._attributes

    def int(self, name: str, default: builtins.int | None = None) -> Any:
        return self._get(name, _INT, "an integer", default, lambda held: int(held.i))

    def float(self, name: str, default: builtins.float | None = None) -> Any:
        return self._get(name, _FLOAT, "a float", default, lambda held: float(held.f))

    def string(self, name: str, default: str | None = None) -> Any:
        return self._get(name, _STRING, "a string", default, lambda held: held.s.decode("utf-8", "replace"))

    def ints(self, name: str, default: Sequence[builtins.int] | None = None) -> Any:
        return self._get(name, _INTS, "a list of integers", default, lambda held: list(held.ints))

    def floats(self, name: str, default: Sequence[builtins.float] | None = None) -> Any:
        return self._get(name, _FLOATS, "a list of floats", default, lambda held: list(held.floats))

    def strings(self, name: str, default: Sequence[str] | None = None) -> Any:
        decode = lambda held: [each.decode("utf-8", "replace") for each in held.strings]  # noqa: E731
        return self._get(name, _STRINGS, "a list of strings", default, decode)

    def axis(self, rank: builtins.int, default: builtins.int | None = None, name: str = "axis") -> builtins.int:
        """An attribute that is an axis of `rank` dimensions, counted from the front."""
        return self.axis_of(self.int(name, default), rank, name)

    def axis_of(self, axis: builtins.int, rank: builtins.int, name: str = "axis") -> builtins.int:
        if axis is None or not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is out of range for {counted(rank, 'dimension')}", name)
        return axis % rank

    def choice(self, name: str, default: str, choices: Iterable[str]) -> str:
        """An attribute that is one of some words."""
        chosen: str = self.string(name, default)
        if chosen not in (words := list(choices)):
            words = [word for word in words if word]
            listed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
            raise self.fail(f"attribute '{name}' must be {listed}, got '{chosen}'", name)
        return chosen

    def dtype(self, name: str, default: Any = None) -> str:
        """An attribute that is the number of an element type; the default where it is left out."""
        if not self.has_attribute(name):
            return default
        try:
            return dtype_of(self.int(name))
        except RelaxError as error:
            raise self.fail(error.message, name) from None

    def array(self, name: str, default: Array | None = None) -> Any:
        """A tensor among the attributes, as an array."""
        data: TensorData = self.graph.model.data
        return self._get(name, _TENSOR, "a tensor", default, lambda held: array_of(held.t, data))

    def tensor_proto(self, name: str) -> TensorProto | None:
        """The same as the model has it: its elements may be strings."""
        held: TensorProto | None = self._get(name, _TENSOR, "a tensor", None, lambda held: held.t)
        return held

    def subgraph(self, name: str) -> GraphProto | None:
        """A GraphProto among the attributes."""
        return self._get(name, _GRAPH, "a graph", None, lambda held: held.g)

    def _get(
        self, name: str, kind: builtins.int, expected: str, default: object, read: Callable[[AttributeProto], object]
    ) -> Any:
        held = self._attributes.get(name)
        if held is None:
            return default
        if held.type != kind:
            raise self.fail(f"attribute '{name}' must be {expected}", name)
        return read(held)


def described(value: Value | TensorInfo) -> str:
    """`f32 [n, 4]`, for messages; an unknown size is a question mark."""
    if value.shape is None:
        return f"{value.dtype} of unknown rank"
    return f"{value.dtype} [{', '.join('?' if size is None else str(size) for size in value.shape)}]"
