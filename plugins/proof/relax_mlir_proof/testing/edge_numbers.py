# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers at the edges of integer arithmetic, for modules with quantized layers.

A module keeps its operators. Its scales, zero points, weights, biases and inputs are replaced, so that ties, large
sums, the ends of types and saturation occur. Numbers that the subject refuses are not used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, made_by, operations_in, symbol_name, users_of
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.relax.constants import const
from relax_mlir.dialects.relax.known_constants import elements_of, is_constant
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.frontends.module import Module
from relax_mlir.passes.graph.recipes.stated_operators import PRODUCTS
from relax_mlir.support.errors import RelaxError

from ..interpreter.execution import Machine
from ..interpreter.held_values import HeldValue, stored
from ..interpreter.sites import Frame, Step
from .core.cases import Setup
from .core.variants import EdgeNumbers
from .integer_reference import maker_before_moves

if TYPE_CHECKING:
    from numpy import ndarray

_QUANTIZE, _DEQUANTIZE = "relax.quantize", "relax.dequantize"
_MOST_SUM = 2**31 - 1
#: Largest magnitude of data and weights for ties: small sums are odd multiples of a half step more often.
_SMALL = 7
#: Calls for ties. Only ties of negative numbers tell some roundings apart.
_TIED_CALLS = 4


#: Check whether the subject takes the layers of a module.
Accepts = Callable[[Module], bool]


def has_layers(module: Module) -> bool:
    """Check whether a module computes a quantized result from quantized operands."""
    found = operations_in(module.operation)
    return any(each.name == _DEQUANTIZE for each in found) and any(_is_result(each) for each in found)


class _Choice(NamedTuple):
    """Numbers that a subject may refuse: zero points of activations, and scales and zero points of weights."""

    has_zeros: bool
    weights: str


def with_edge(setup: Setup, edge: EdgeNumbers, random: numpy.random.Generator, accepts: Accepts) -> Setup:
    """Return a copy of the module with the numbers of an edge, and the arguments of its calls.

    The numbers are the first ones that the subject accepts: with zero points, and with scales of channels. Raise
    RelaxError if it refuses all of them. A module that it did not take before gets the first ones.
    """
    seed = int(random.integers(1 << 32))
    # Weights with a zero point have one scale: several zero points do not broadcast along the summed axes.
    weights = (*(() if edge.zeros == "some" else ("shifted",)), "channels", "one")

    def made(choice: _Choice) -> _Edging:
        return _Edging(setup.module.copy(), setup.calls, edge, numpy.random.default_rng(seed), choice)

    for choice in itertools.starmap(_Choice, itertools.product((True, False), weights)):
        edging = made(choice)
        if accepts(edging.module):
            return edging.setup()
    if accepts(setup.module):
        raise RelaxError("the subject refuses layers with other numbers")
    return made(_Choice(True, "channels")).setup()


@dataclass(eq=False)
class _Tensor:
    """Integers with one scale and zero point: all quantize and dequantize operations of the same numbers."""

    operations: list[Operation] = field(default_factory=list)
    scale: ndarray = field(default_factory=lambda: numpy.float32(1))
    zero: int = 0
    #: Least and largest number of the data.
    low: int = 0
    high: int = 0

    @property
    def dtype(self) -> str:
        operation = self.operations[0]
        return dtype_of(operation.results[0] if operation.name == _QUANTIZE else operation.operands[0])


class _Edging:
    """Module with the numbers of an edge: operands at once, and the scales of results by the real results."""

    def __init__(
        self,
        module: Module,
        calls: Sequence[Sequence[ndarray]],
        edge: EdgeNumbers,
        random: numpy.random.Generator,
        choice: _Choice,
    ) -> None:
        self.module, self._calls, self._edge, self._random, self._choice = module, calls, edge, random, choice
        self._main = next(function for function in functions_in(module.operation) if symbol_name(function) == "main")
        found = [each for each in operations_in(self._main) if each.name in (_QUANTIZE, _DEQUANTIZE)]
        self._found = [each for each in found if all(map(is_constant, each.operands[1:3]))]
        tensors = self._tensors()
        self._inputs = [each for each in tensors if not any(map(_is_result, each.operations))]
        self._results = [each for each in tensors if each not in self._inputs]
        for tensor in self._inputs:
            self._set_input(tensor)
        for operation in self._found:
            if operation.name == _DEQUANTIZE and is_constant(operation.operands[0]) and not _is_bias(operation):
                self._set_weights(operation)
        for operation in self._found:
            if _is_bias(operation):
                self._set_bias(operation)
        for tensor in self._results:
            tensor.zero = self._zero(numpy.iinfo(stored(tensor.dtype)), int(self._random.integers(-9, 10)))
            self._replace(tensor.operations, numpy.float32(1), tensor.zero)

    def setup(self) -> Setup:
        """Return the module and its calls. Scales of results follow from the results in floating point."""
        values = list(body_of(self._main).arguments)
        _calls = [self._calls[0]] * _TIED_CALLS if self._has_ties and len(self._calls) == 1 else self._calls
        calls = [[self._argument(*each) for each in zip(values, arguments, strict=True)] for arguments in _calls]
        for tensor in self._results:
            self._set_result(tensor, calls[0])
        return Setup(self.module, calls)

    def _zero(self, limits: numpy.iinfo, some: int) -> int:
        """Return the zero point of an activation, `some` from the middle of its type if it is at no end."""
        middle = (int(limits.max) + int(limits.min) + 1) // 2
        zeros = {"low": int(limits.min), "high": int(limits.max), "some": middle + some}
        return zeros[self._edge.zeros] if self._choice.has_zeros else 0

    @property
    def _has_ties(self) -> bool:
        return self._edge.scales == "two"

    def _tensors(self) -> list[_Tensor]:
        """Return the quantized activations in the order of the module."""
        tensors: dict[object, _Tensor] = {}
        for operation in self._found:
            if operation.name == _QUANTIZE:
                maker = maker_before_moves(operation.operands[0])  # of integers that were only moved
                is_moved = maker is not None and maker.name == _DEQUANTIZE and not is_constant(maker.operands[0])
                key = _origin(maker.operands[0]) if maker is not None and is_moved else operation
                if key in tensors:
                    tensors[operation] = tensors[key]
                tensors.setdefault(operation, _Tensor()).operations.append(operation)
            elif not is_constant(operation.operands[0]):
                tensors.setdefault(_origin(operation.operands[0]), _Tensor()).operations.append(operation)
        return list(dict.fromkeys(tensors.values()))

    # ---- operands ----

    def _set_input(self, tensor: _Tensor) -> None:
        limits = numpy.iinfo(stored(tensor.dtype))
        number = len([each for each in self._found if is_constant(each.operands[0]) is False])
        if self._has_ties:
            tensor.scale = numpy.float32(2.0 ** -int(self._random.integers(3, 4 + number)))
        else:
            tensor.scale = numpy.float32(self._random.uniform(0.01, 0.3))
        reach = min(int(limits.max) - int(limits.min), 255)
        tensor.zero = self._zero(limits, int(self._random.integers(3, reach // 4)))
        self._replace(tensor.operations, tensor.scale, tensor.zero)
        small = _SMALL if self._has_ties else reach
        tensor.low, tensor.high = max(int(limits.min), tensor.zero - small), min(int(limits.max), tensor.zero + small)

    def _set_weights(self, operation: Operation) -> None:
        """Set weights that use their type, with scales and a zero point by the choice."""
        array, dtype = elements_of(operation.operands[0]), dtype_of(operation.operands[0])
        product = next((user for user in users_of(operation.results[0]) if user.name in PRODUCTS), None)
        if array is None or "int" not in array.dtype.name:
            return
        limits = numpy.iinfo(stored(dtype)) if dtype not in ("i4", "ui4") else None
        most = 7 if limits is None else min(int(limits.max) - (int(limits.min) + 1), 254) // 2
        small = min(_SMALL if self._has_ties else most, most)
        middle = 0 if limits is None or limits.min < 0 else 128
        numbers = self._random.integers(middle - small, middle + small + 1, array.shape)
        self._set(operation, 0, numbers.astype(array.dtype), dtype)
        axis = None if product is None else _weight_axis(product, array.ndim)
        count = 1 if axis is None else array.shape[axis]
        scales = self._scales(count)
        zero = middle + (3 if self._choice.weights == "shifted" else 0)
        self._replace([operation], scales if self._choice.weights == "channels" else scales[0], zero, axis)

    def _scales(self, count: int) -> ndarray:
        if self._has_ties:
            return (2.0 ** -(4.0 + numpy.arange(count) % 3)).astype("float32")
        # Neighbours differ by more than the rounding of a step, so that a scale of another channel is seen.
        return (self._random.uniform(0.002, 0.02, count) * (1 + numpy.arange(count) % 3)).astype("float32")

    def _set_bias(self, operation: Operation) -> None:
        """Set a bias that counts the steps of the sums, and brings the sums near the limits of i32 if asked to."""
        reader = next(iter(users_of(operation.results[0])))
        product = next(made_by(operand) for operand in reader.operands if operand != operation.results[0])
        assert product is not None
        data, weights = (made_by(operand) for operand in product.operands[:2])
        tensor = next((input_ for input_ in self._inputs if data in input_.operations), None)
        array = elements_of(operation.operands[0])
        if tensor is None or weights is None or weights.name != _DEQUANTIZE or array is None:
            return
        scale = (tensor.scale * _number(weights, 1)).astype("float32")
        largest = self._largest_sums(weights, tensor, product)
        signs = 1 - 2 * (numpy.arange(array.size) % 2)
        if self._edge.has_large_sums:
            room = _MOST_SUM - largest.astype("int64")
            numbers = signs * (room if room.size == array.size else room.min())
        else:
            numbers = self._random.integers(-1, 2, array.size) + signs * (largest.max() // 9)
        self._set(operation, 0, numbers.reshape(array.shape).astype(array.dtype), dtype_of(operation.operands[0]))
        axis = next((place for place, size in enumerate(array.shape) if size == scale.size), None)
        self._replace([operation], scale if axis is not None else scale.reshape(-1)[0], 0, axis)

    def _largest_sums(self, weights: Operation, tensor: _Tensor, product: Operation) -> ndarray:
        """Return the largest magnitude that a sum can have, per output channel."""
        array = elements_of(weights.operands[0])
        assert array is not None
        zero = _number(weights, 2).reshape(-1)[0]
        axis = _weight_axis(product, array.ndim)
        others = tuple(index for index in range(array.ndim) if index != axis)
        data = max(abs(tensor.low - tensor.zero), abs(tensor.high - tensor.zero))
        return numpy.asarray(abs(array.astype("int64") - int(zero)).sum(others) * data)

    # ---- inputs and results ----

    def _argument(self, value: Value, array: ndarray) -> ndarray:
        """Return an argument: integers of a tensor, or the real numbers that they represent."""
        info = decode(value.type)
        tensor = next((input_ for input_ in self._inputs if _reads(input_, value)), None)
        if tensor is None or not isinstance(info, TensorInfo):
            return array
        numbers = self._random.integers(tensor.low, tensor.high + 1, array.shape)
        if self._edge.has_large_sums:
            numbers = numpy.where(self._random.random(array.shape) < 0.9, tensor.high, tensor.low)
        if info.dtype == "f32":
            return ((numbers - tensor.zero) * numpy.float64(tensor.scale)).astype("float32")
        return numbers.astype(array.dtype)

    def _set_result(self, tensor: _Tensor, arguments: Sequence[ndarray]) -> None:
        """Set the scale of a result by its largest real number, and its zero point."""
        quantize = next(operation for operation in tensor.operations if operation.name == _QUANTIZE)
        reals = self._reals(quantize, arguments)
        limits = numpy.iinfo(stored(tensor.dtype))
        span = (int(limits.max) - int(limits.min)) / 255
        largest = float(abs(reals).max(initial=0.0)) or 1.0
        is_at_end = self._edge.zeros != "some"
        scale = largest / (self._edge.steps * span * (2 if is_at_end else 1))
        if self._has_ties:
            scale = max(2.0 ** numpy.ceil(numpy.log2(scale)), 2 * self._unit(quantize))
        self._replace(tensor.operations, numpy.float32(scale), tensor.zero)

    def _unit(self, quantize: Operation) -> float:
        """Return the largest step of the real numbers in front of a quantize, of all channels and summands."""
        if (product := next((each for each in _walk_back(quantize) if each.name in PRODUCTS), None)) is None:
            return max((float(_number(operation, 1).max()) for operation in _find_operands(quantize)), default=1.0)
        makers = (made_by(operand) for operand in product.operands[:2])
        found = [_number(maker, 1).max() for maker in makers if maker is not None and maker.name == _DEQUANTIZE]
        return float(numpy.prod(found))

    def _reals(self, quantize: Operation, arguments: Sequence[ndarray]) -> ndarray:
        """Return the real numbers that an operation quantizes."""
        seen: list[ndarray] = []

        def around(operation: Operation, run: Step) -> Step:
            if operation != quantize:
                return run

            def kept(frame: Frame, *held_values: HeldValue) -> list[HeldValue] | HeldValue:
                seen.append(numpy.asarray(held_values[0], "float64"))
                return run(frame, *held_values)

            return kept

        Machine(self.module.operation, around=around).call("main", list(arguments))
        return seen[0][numpy.isfinite(seen[0])]

    # ---- constants ----

    def _replace(
        self, operations: Sequence[Operation], scale: ndarray | numpy.floating, zero: int, axis: int | None = None
    ) -> None:
        """Set the scale and the zero point of operations."""
        for operation in operations:
            dtype, many = dtype_of(operation.operands[2]), numpy.asarray(scale, "float32")
            self._set(operation, 1, many, dtype_of(operation.operands[1]))
            self._set(operation, 2, numpy.full(many.shape, zero).astype(stored(dtype)), dtype)
            if many.ndim and axis is not None:
                type_ = ir.IntegerType.get_signless(64, operation.context)
                operation.attributes["axis"] = ir.IntegerAttr.get(type_, axis)

    def _set(self, operation: Operation, place: int, array: ndarray, dtype: str) -> None:
        with operation.location, ir.InsertionPoint(operation):
            operation.operands[place] = const(array, dtype)


def _reads(tensor: _Tensor, value: Value) -> bool:
    """Check whether integers come from an argument, or are quantized from an argument."""
    return any(value in (operation.operands[0], _origin(operation.operands[0])) for operation in tensor.operations)


def _origin(value: Value) -> object:
    """Return the quantize or the argument that integers come from, through operators that move them."""
    maker = made_by(value)
    while maker is not None and maker.name not in (_QUANTIZE, _DEQUANTIZE) and len(maker.operands):
        value = maker.operands[0]
        maker = made_by(value)
    return value if maker is None else maker


def _walk_back(operation: Operation) -> Iterator[Operation]:
    """Yield the operations between a quantize and the dequantized operands."""
    for value in operation.operands[:1] if operation.name == _QUANTIZE else operation.operands:
        maker = made_by(value)
        if maker is not None and maker.name not in (_QUANTIZE, _DEQUANTIZE):
            yield maker
            yield from _walk_back(maker)


def _find_operands(quantize: Operation) -> list[Operation]:
    operands = [value for operation in (quantize, *_walk_back(quantize)) for value in operation.operands]
    makers = [made_by(value) for value in operands]
    return [maker for maker in makers if maker is not None and maker.name == _DEQUANTIZE]


def _is_result(operation: Operation) -> bool:
    """Check whether an operation quantizes a result, not an input of the module."""
    return operation.name == _QUANTIZE and bool(_find_operands(operation))


def _is_bias(operation: Operation) -> bool:
    """Check whether an operation dequantizes a constant that is added to a product."""
    if operation.name != _DEQUANTIZE or not is_constant(operation.operands[0]):
        return False
    readers = [user for user in users_of(operation.results[0]) if user.name == "relax.add"]
    others = (made_by(value) for reader in readers for value in reader.operands if value != operation.results[0])
    return any(each is not None and each.name in PRODUCTS for each in others)


def _weight_axis(product: Operation, rank: int) -> int | None:
    """Return the axis of the output channels in constant weights."""
    if product.name == "relax.matmul":
        return rank - 1 if rank > 1 else None
    return str(product.opview.kernel_layout).find("O")


def _number(operation: Operation, place: int) -> ndarray:
    if (elements := elements_of(operation.operands[place])) is None:
        raise RelaxError(f"{operation.name} has no constant operand {place}")
    return numpy.asarray(elements)
