# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX graphs under construction: nodes, constants, and subgraphs of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....bindings.ir import Value
from ....dialects.core.infos import TensorInfo, is_bool
from ....dialects.relax.constants import storage_dtype
from ...core.values import Array
from ..tensor_data import number_of
from .element_types import signature_of
from .export_values import ConstantTensor, Ref


class NewNode(NamedTuple):
    """One use of an ONNX operator. The hint is the preferred name."""

    operator: str
    inputs: list[Ref | None]
    outputs: list[Ref]
    attributes: dict[str, Any]
    hint: list[str]
    #: Domain of the operator: "" is ONNX's own.
    domain: str = ""


class Graph:
    """Graph, or subgraph of a node, which can use the tensors of the enclosing graphs."""

    def __init__(self, opset: int, outer: Graph | None = None):
        self.opset = opset
        self.outer = outer
        self.inputs: list[Ref] = []
        self.outputs: list[Ref] = []
        self.nodes: list[NewNode] = []
        #: Constants, in the outermost graph only.
        self.constants: list[ConstantTensor] = []
        self._numbers: dict[tuple[str, bytes, tuple[int, ...]], Ref] = {}
        #: Domains of operators other than ONNX's, in the outermost graph only.
        self.domains: set[str] = set()
        #: Messages about nodes for which onnxruntime has no kernel.
        self.without_kernel: list[str] = []

    @property
    def outermost(self) -> Graph:
        return self if self.outer is None else self.outer.outermost

    # ---- nodes ----

    def node(self, operator: str, *inputs: Ref | None, result: str = "", **attributes: object) -> Ref:
        """Add a node with one output. `result` is the output's type if the inputs do not determine it."""
        return self.nodes_of(operator, inputs, 1, result, **attributes)[0]

    def nodes_of(
        self, operator: str, inputs: Sequence[Ref | None], count: int, result: str = "", **attributes: object
    ) -> list[Ref]:
        """Add a node with several outputs.

        If ONNX or onnxruntime does not support an element type, the node computes in a wider type.
        """
        refs = list(inputs)
        while refs and refs[-1] is None:
            refs.pop()
        signature = signature_of(operator, self.opset)
        choice = signature.choose([None if ref is None else ref.dtype for ref in refs], result)
        if choice.lacking:
            self.outermost.without_kernel.append(choice.lacking)
        widened = [
            ref if ref is None else self.cast(ref, signature.input_type(place, choice, ref.dtype))
            for place, ref in enumerate(refs)
        ]
        outputs = [Ref(signature.output_type(place, choice, result), operator) for place in range(count)]
        kept = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(NewNode(operator, widened, outputs, kept, []))
        return [
            self.cast(output, signature.wanted_type(place, choice, output.dtype))
            for place, output in enumerate(outputs)
        ]

    def add(
        self, operator: str, inputs: Sequence[Ref | None], dtypes: Sequence[str], **attributes: object
    ) -> list[Ref]:
        """Add a node with outputs of these types, regardless of its inputs."""
        outputs = [Ref(dtype, operator) for dtype in dtypes]
        self.nodes.append(NewNode(operator, list(inputs), outputs, attributes, []))
        return outputs

    def add_of_domain(
        self, domain: str, operator: str, inputs: Sequence[Ref | None], dtype: str, attributes: dict[str, object]
    ) -> Ref:
        """Add a node with an operator of another domain than ONNX's, such as `com.microsoft`."""
        output = Ref(dtype, operator)
        self.nodes.append(NewNode(operator, list(inputs), [output], attributes, [], domain))
        self.outermost.domains.add(domain)
        return output

    def cast(self, tensor: Ref, dtype: str) -> Ref:
        """Cast a tensor to another type. Numbers out of the range of 8-bit floats are not clamped to the range."""
        if tensor.dtype == dtype:
            return tensor
        saturate = 0 if dtype.startswith("f8") else None
        return self.node("Cast", tensor, result=dtype, to=number_of(dtype), saturate=saturate)

    # ---- constants ----

    def const(self, array: object, dtype: str, hint: str = "") -> Ref:
        """Return a constant tensor with an array's elements, converted to the type."""
        import numpy

        converted = numpy.asarray(array).astype(storage_dtype(dtype))
        key = dtype, converted.tobytes(), converted.shape
        known = self.outermost._numbers
        if key not in known:
            known[key] = self.constant(converted, TensorInfo(converted.shape, dtype), hint)
        return known[key]

    def constant(self, held: Array | Value, info: TensorInfo, hint: str = "") -> Ref:
        """Return a constant tensor. The elements are read when the model is written."""
        ref = Ref(info.dtype, hint or "constant")
        self.outermost.constants.append(ConstantTensor(ref, info, held))
        return ref

    def ints(self, *numbers: int) -> Ref:
        return self.const(list(numbers), "i64")

    def number(self, value: object, dtype: str) -> Ref:
        """Return a constant 0-D tensor."""
        return self.const(bool(value) if is_bool(dtype) else value, dtype)

    # ---- common helpers of exporters ----

    def transpose(self, tensor: Ref, order: Sequence[int]) -> Ref:
        """Transpose a tensor. `order` lists the source axis of each axis."""
        return tensor if list(order) == sorted(order) else self.node("Transpose", tensor, perm=list(order))

    def unsqueeze(self, tensor: Ref, axes: Sequence[int]) -> Ref:
        return self.node("Unsqueeze", tensor, self.ints(*axes)) if axes else tensor

    def squeeze(self, tensor: Ref, axes: Sequence[int]) -> Ref:
        return self.node("Squeeze", tensor, self.ints(*axes)) if axes else tensor

    def reduce(self, operator: str, tensor: Ref, axes: Sequence[int] | None, keep: bool) -> Ref:
        """Reduce over the axes. None means all axes; an empty list means no axes."""
        listed = None if axes is None else self.ints(*axes)
        return self.node(operator, tensor, listed, keepdims=int(keep), noop_with_empty_axes=1 if axes == [] else None)

    def flat(self, tensor: Ref) -> Ref:
        return self.node("Reshape", tensor, self.ints(-1))
