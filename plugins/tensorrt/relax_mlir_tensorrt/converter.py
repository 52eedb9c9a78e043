# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of a part's function to a network: an object with the methods of tensorrt.INetworkDefinition."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relax_mlir import RefusalError, TensorInfo
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.operands import operand_info
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.passes.graph.parts.flat_graph import FlatGraph, FlatNode, Ref, numbers_in
from relax_mlir.passes.graph.parts.operator_checks import same

from .rules import RULES, NetworkLayer, NetworkTensor, refusal
from .runtime import input_name, output_name
from .tensor_dims import known, mask

if TYPE_CHECKING:
    from numpy import ndarray

_DATA_TYPES = {"f32": "FLOAT", "f16": "HALF", "i32": "INT32", "i64": "INT64", "i1": "BOOL"}


class Converter:
    """Converter of a graph to a network. Rules read `converter.tensor(ref)` and add layers to `converter.network`.

    `trt` is the module with the network's enumerations and classes: tensorrt, or a substitute.
    """

    def __init__(self, network: Any, trt: ModuleType, graph: FlatGraph):
        self.network, self.trt, self.graph = network, trt, graph
        self._tensors: dict[Ref, NetworkTensor] = {}
        self._sizes: dict[str, tuple[NetworkTensor, int]] = {}
        self._producers: dict[Ref, NetworkLayer] = {}
        #: Owners of the memory that the network reads until the build ends.
        self.kept: list[ndarray] = []

    def convert(self) -> None:
        for number, ref in enumerate(self.graph.inputs):
            if not isinstance(info := operand_info(ref.value), TensorInfo):
                raise RefusalError(f"input {number} is {info}, and TensorRT supports tensors only")
            dims = info.shape or ()
            self._know(ref, self.network.add_input(input_name(number), self.dtype(info.dtype), known(dims)))
        for node in self.graph.nodes:
            self._convert(node)
        for number, ref in enumerate(self.graph.outputs):
            tensor = self.tensor(ref)
            if ref.is_constant or ref in self.graph.inputs or ref in self.graph.outputs[:number]:
                tensor = self.network.add_identity(tensor).get_output(0)
            tensor.name = output_name(number)
            self.network.mark_output(tensor)

    def _know(self, ref: Ref, tensor: NetworkTensor) -> None:
        self._tensors[ref] = tensor
        self.know_sizes(tensor, ref.dims)

    def know_sizes(self, tensor: NetworkTensor, dims: Sequence[Dim]) -> None:
        """Record the tensor and axis of each dynamic size, for layers that need the size."""
        for axis, dim in enumerate(dims):
            if not isinstance(dim, int):
                self._sizes.setdefault(str(dim), (tensor, axis))

    def _convert(self, node: FlatNode) -> None:
        row = row_of(node.op)
        if row is not None and row.role in ("literal", "shape"):
            return
        if reason := refusal(node.op):
            raise RefusalError(reason)
        before = self.network.num_layers
        made = RULES[node.name].convert(self, node)
        for ref, tensor in zip(node.results, made if isinstance(made, tuple) else (made,), strict=False):
            self._know(ref, tensor)
        for number in range(before, self.network.num_layers):
            self.network.get_layer(number).name = f"{number}: {node.operator}"

    # ---- values for rules ----

    def tensor(self, ref: Ref) -> NetworkTensor:
        """Return a value as a tensor of the network. The first use of a constant adds it to the network."""
        if ref not in self._tensors:
            if (array := self.array(ref)) is None:
                raise RefusalError(f"the elements of a constant of {ref.info.dtype} are not available as a NumPy array")
            self._tensors[ref] = self.constant(array)
        return self._tensors[ref]

    def array(self, ref: Ref) -> ndarray | None:
        """Return a constant's elements, or None for any other value."""
        return numbers_in(ref)

    def constant(self, array: ndarray) -> NetworkTensor:
        return self.network.add_constant(array.shape, self.weights(array)).get_output(0)

    def weights(self, array: ndarray) -> object:
        import numpy

        self.kept.append(numpy.ascontiguousarray(array))
        return self.trt.Weights(self.kept[-1])

    def number(self, value: float, like: Ref) -> NetworkTensor:
        """Return a number as a tensor that broadcasts to `like` and has the same element type."""
        import numpy
        from relax_mlir.dialects.relax.known_constants import NUMPY_NAME

        return self.constant(numpy.full((1,) * len(like.dims), value, NUMPY_NAME[like.info.dtype]))

    def dtype(self, name: str) -> object:
        return getattr(self.trt.DataType, _DATA_TYPES[name])

    # ---- layers that many rules add ----

    def unary(self, tensor: NetworkTensor, operation: str) -> NetworkTensor:
        return self.network.add_unary(tensor, getattr(self.trt.UnaryOperation, operation)).get_output(0)

    def binary(self, one: NetworkTensor, other: NetworkTensor, operation: str) -> NetworkTensor:
        """Combine tensors of equal rank elementwise. Dimensions of size 1 are broadcast."""
        kind = getattr(self.trt.ElementWiseOperation, operation)
        return self.network.add_elementwise(one, other, kind).get_output(0)

    def activation(
        self, tensor: NetworkTensor, kind: str, alpha: float | None = None, beta: float | None = None
    ) -> NetworkTensor:
        layer = self.network.add_activation(tensor, getattr(self.trt.ActivationType, kind))
        if alpha is not None:
            layer.alpha = alpha
        if beta is not None:
            layer.beta = beta
        return layer.get_output(0)

    def reduce(self, tensor: NetworkTensor, operation: str, axes: Sequence[int], *, keep: bool = True) -> NetworkTensor:
        kind = getattr(self.trt.ReduceOperation, operation)
        return self.network.add_reduce(tensor, kind, mask(axes), keep).get_output(0)

    def permuted(self, tensor: NetworkTensor, order: Sequence[int]) -> NetworkTensor:
        if list(order) == [*range(len(order))]:
            return tensor
        layer = self.network.add_shuffle(tensor)
        layer.first_transpose = tuple(order)
        return layer.get_output(0)

    def reshaped(self, tensor: NetworkTensor, dims: Sequence[Dim]) -> NetworkTensor:
        """Reshape a tensor. TensorRT infers one dynamic size. With several, the network computes the shape."""
        layer = self.network.add_shuffle(tensor)
        if sum(not isinstance(dim, int) for dim in dims) <= 1:
            layer.reshape_dims = known(dims)
        else:
            layer.set_input(1, self.shape(dims))
        return layer.get_output(0)

    def with_rank(self, ref: Ref, rank: int) -> NetworkTensor:
        """Return a value with leading dimensions of size 1. TensorRT broadcasts tensors of equal rank only."""
        dims = ref.dims
        if len(dims) == rank:
            return self.tensor(ref)
        array = self.array(ref)
        shape = [1] * (rank - len(dims)) + [*dims]
        return self.reshaped(self.tensor(ref), shape) if array is None else self.constant(array.reshape(shape))

    def shape(self, dims: Sequence[Dim]) -> NetworkTensor:
        """Return sizes as a tensor of i64. The network reads dynamic sizes from other tensors."""
        import numpy

        parts = [self._size(dim) if not isinstance(dim, int) else self.constant(numpy.array([dim], "int64"))
                 for dim in dims]  # fmt: skip
        layer = self.network.add_concatenation(parts)
        layer.axis = 0
        return layer.get_output(0)

    def _size(self, dim: Dim) -> NetworkTensor:
        if str(dim) not in self._sizes:
            raise RefusalError(f"no earlier tensor has the size {dim}, and TensorRT reads sizes from tensors only")
        tensor, axis = self._sizes[str(dim)]
        shape = self.network.add_shape(tensor).get_output(0)
        return self.network.add_slice(shape, (axis,), (1,), (1,)).get_output(0)

    def sliced(
        self, tensor: NetworkTensor, start: Sequence[int], dims: Sequence[Dim], stride: Sequence[int]
    ) -> NetworkLayer:
        """Add a slice. Return the layer, because callers set its mode."""
        is_static = all(isinstance(dim, int) for dim in dims)
        layer = self.network.add_slice(
            tensor, tuple(start), known(dims) if is_static else (0,) * len(dims), tuple(stride)
        )
        if not is_static:
            layer.set_input(2, self.shape(dims))
        return layer

    def remember(self, node: FlatNode, layer: NetworkLayer) -> None:
        """Record a layer that can receive a bias."""
        self._producers[node.result] = layer

    def add_bias(self, node: FlatNode) -> NetworkTensor | None:
        """Set the addend as the bias of the layer, and return the layer's result.

        Return None if the addend is no constant per channel, or if the layer's result has other users.
        """
        for whole, bias in (node.operands, node.operands[::-1]):
            layer, array = self._producers.get(whole), self.array(bias)
            if layer is None or array is None or self.graph.uses[whole] > 1:
                continue
            dims = whole.dims
            by_channels = (1, dims[1], *(1 for _ in dims[2:]))
            if same(dims, node.result.dims) and (1, *array.shape)[-len(dims) :] == by_channels:
                layer.bias = self.weights(array.reshape(-1))
                return self.tensor(whole)
        return None
