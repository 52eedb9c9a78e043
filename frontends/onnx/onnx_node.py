# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX nodes for converters: inputs as values, attributes as Python objects, and errors.

@register_onnx("", "LeakyRelu", since=6)
def leaky_relu(node):
    return relax.nn.leakyrelu(node.tensor(0), alpha=node.float("alpha", 0.01))
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...support.errors import RelaxError
from ..core.node import Node as AnyNode
from ..core.values import Array, Held, Texts
from .scope import Scope
from .tensor_data import AttributeProto, GraphProto, NodeProto, TensorData, TensorProto, array_of, dtype_of

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _FLOATS, _INTS, _STRINGS = 1, 2, 3, 4, 5, 6, 7, 8


def name_of(proto: NodeProto) -> str:
    """Return a node's name, or the name of its first output if the node has none."""
    return proto.name or next((each for each in proto.output if each), proto.op_type)


class OnnxNode(AnyNode):
    """One use of an ONNX operator."""

    #: The graph that contains the node, for operators with subgraphs.
    graph: Scope
    #: Version of the operator's domain in the model.
    version: builtins.int

    def __init__(self, proto: NodeProto, inputs: Sequence[Held | None], version: builtins.int, graph: Scope):
        # The name in the model, in functions with the name of the call in front.
        name = f"{graph.within}/{name_of(proto)}" if graph.within else name_of(proto)
        super().__init__(name, proto.op_type, inputs, graph, proto.input)
        self.proto = proto
        self.domain = proto.domain
        self.version = version
        self.output_count = len(proto.output)
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    @property
    def operator(self) -> str:
        return f"{self.domain}.{self.op}" if self.domain else self.op

    def texts(self, index: int) -> Texts | None:
        """Return an input of strings, or None if the input is a tensor of numbers."""
        held = self.held(index)
        return held if isinstance(held, Texts) else None

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
        """Return an attribute that is an axis of `rank` dimensions, counted from the front."""
        return self.axis_of(self.int(name, default), rank, name)

    def choice(self, name: str, default: str, choices: Iterable[str]) -> str:
        """Return an attribute that is one of the words in `choices`."""
        chosen: str = self.string(name, default)
        if chosen not in (words := list(choices)):
            words = [word for word in words if word]
            listed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
            raise self.fail(f"attribute '{name}' must be {listed}, got '{chosen}'", name)
        return chosen

    def dtype(self, name: str, default: Any = None) -> str:
        """Return the element type that an attribute's number denotes, or the default if the attribute is absent."""
        if not self.has_attribute(name):
            return default
        try:
            return dtype_of(self.int(name))
        except RelaxError as error:
            raise self.fail(error.message, name) from None

    def array(self, name: str, default: Array | None = None) -> Any:
        """Return a tensor attribute as an array."""
        data: TensorData = self.graph.model.data
        return self._get(name, _TENSOR, "a tensor", default, lambda held: array_of(held.t, data))

    def tensor_proto(self, name: str) -> TensorProto | None:
        """Return a tensor attribute as in the model. Its elements may be strings."""
        proto: TensorProto | None = self._get(name, _TENSOR, "a tensor", None, lambda held: held.t)
        return proto

    def subgraph(self, name: str) -> GraphProto | None:
        """Return an attribute that is a GraphProto."""
        return self._get(name, _GRAPH, "a graph", None, lambda held: held.g)

    def _get(
        self, name: str, kind: builtins.int, expected: str, default: object, read: Callable[[AttributeProto], object]
    ) -> Any:
        if (held := self._attributes.get(name)) is None:
            return default
        if held.type != kind:
            raise self.fail(f"attribute '{name}' must be {expected}", name)
        return read(held)
