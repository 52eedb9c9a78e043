# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products inside of layers: their constant weights, the bias behind them, and statistics of their data's channels."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.dialects.relax.values import shape_of
from relax_mlir.passes.graph.scales.weights import WEIGHTED, Weighted, weighted

from .placement import Layer

if TYPE_CHECKING:
    from numpy import ndarray


def product_of(layer: Layer) -> Weighted | None:
    """Return the product of a layer with constant weights, if the layer quantizes the weights."""
    constants = [value for _, value in layer.weights()]
    for operation in layer.match.operations:
        product = weighted(operation.results[0]) if operation.name in WEIGHTED else None
        if product is not None and product.weight in constants:
            return product
    return None


def name_of(layer: Layer, value: Value) -> str:
    """Return the name of a constant operand in the layer's pattern, or "" if the layer does not quantize it."""
    return next((name for name, each in layer.weights() if each == value), "")


class Bias(NamedTuple):
    """Constant that is added to the sums of a product."""

    operation: Operation
    place: int

    @property
    def value(self) -> Value:
        return self.operation.operands[self.place]


def bias_of(layer: Layer, product: Weighted) -> Bias | None:
    """Return the bias of a layer, or None."""
    sums = product.op.operation.results[0]
    for operation in layer.match.operations:
        if operation.name == "relax.add" and sums in list(operation.operands):
            place = 1 if operation.operands[0] == sums else 0
            if is_constant(operation.operands[place]):
                return Bias(operation, place)
    return None


def channel_shape(product: Weighted) -> list[int]:
    """Return the shape in which numbers per output channel are added to a product's result."""
    rank = len(shape_of(product.op.operation.results[0]) or ())
    return [product.outputs, *[1] * (rank - 1 - product.output_axis)]


class Channels:
    """Running statistics of a tensor by channel."""

    def __init__(self, axis: int):
        self.axis = axis
        self.count = 0
        self._sums: ndarray | None = None
        self._squares: ndarray | None = None
        #: The largest magnitude of each channel.
        self.most: ndarray | None = None

    def add(self, array: ndarray) -> None:
        """Count the numbers of an array. They have to be finite."""
        import numpy

        if not array.size:
            return
        numbers = array.astype(numpy.float32, copy=False)
        axis = self.axis % array.ndim
        others = tuple(index for index in range(array.ndim) if index != axis)
        sums = numbers.sum(others).astype(float)
        most = numpy.maximum(numbers.max(others), -numbers.min(others)).astype(float)
        letters = ascii_lowercase[: array.ndim]
        squares = numpy.einsum(f"{letters},{letters}->{letters[axis]}", numbers, numbers).astype(float)
        self.count += array.size // array.shape[axis]
        self._sums = sums if self._sums is None else self._sums + sums
        self._squares = squares if self._squares is None else self._squares + squares
        self.most = most if self.most is None else numpy.maximum(self.most, most)

    def state(self) -> dict[str, ndarray]:
        """Return the statistics as arrays, which `restore` takes."""
        import numpy

        kept = {"sums": self._sums, "squares": self._squares, "most": self.most}
        return {"count": numpy.array(self.count)} | {name: each for name, each in kept.items() if each is not None}

    def restore(self, state: Mapping[str, ndarray]) -> None:
        """Continue with statistics that `state` returned."""
        self.count = int(state["count"])
        self._sums, self._squares, self.most = (state.get(name) for name in ("sums", "squares", "most"))

    @property
    def mean(self) -> ndarray | None:
        return None if self._sums is None else self._sums / self.count

    @property
    def variance(self) -> ndarray | None:
        mean, squares = self.mean, self.mean_square
        return None if mean is None or squares is None else (squares - mean**2).clip(0)

    @property
    def mean_square(self) -> ndarray | None:
        return None if self._squares is None else self._squares / self.count
