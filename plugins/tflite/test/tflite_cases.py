# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Case of the tests of operators: a model of one operator, and the tolerance against the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy import ndarray
from tflite_model import Operator, Quantized, Subgraph, Tensor, of_one


class Case(NamedTuple):
    name: str
    model: Subgraph
    #: Relative and absolute, of floats.
    tolerance: float = 1e-5
    #: Of quantized results, in their own steps.
    steps: int = 1


def case(
    op: str,
    tensors: Sequence[Tensor],
    *results: Tensor,
    note: str = "",
    kind: str = "",
    tolerance: float = 1e-5,
    steps: int = 1,
    missing: Sequence[int] = (),
    version: int = 1,
    **options: Any,
) -> Case:
    """Return a case of one operator.

    The class of its options has the operator's name, unless `kind` names another one.
    """
    name = "-".join(filter(None, [op, *dict.fromkeys(each.dtype for each in tensors), note]))
    kind = kind or ("".join(part.capitalize() for part in op.split("_")) if options else "")
    model = of_one(op, tensors, results, options, kind, missing, version=version)
    return Case(name, model, tolerance, steps)


def f32(*shape: int, low: float = -4, high: float = 4) -> Tensor:
    return Tensor(shape, "float32", low=low, high=high)


def i32(*shape: int, low: float = -9, high: float = 9) -> Tensor:
    return Tensor(shape, "int32", low=low, high=high)


def flags(*shape: int) -> Tensor:
    return Tensor(shape, "bool")


def numbers(data: Any, dtype: str = "int32") -> Tensor:
    array = numpy.asarray(data, dtype)
    return Tensor(array.shape, dtype, array)


def quantized(
    *shape: int, dtype: str = "int8", scale: float = 0.05, zero_point: int | None = None, data: ndarray | None = None
) -> Tensor:
    middle = {"int8": -3, "uint8": 125, "int16": 0}[dtype]
    return Tensor(shape, dtype, data, Quantized(scale, middle if zero_point is None else zero_point))


def weights(shape: Sequence[int], axis: int | None, dtype: str = "int8", seed: int = 1) -> Tensor:
    """Return quantized weights, per channel along an axis."""
    random = numpy.random.default_rng(seed)
    low, high = (-127, 127) if dtype == "int8" else (0, 255)
    data = random.integers(low, high, shape, dtype="int64", endpoint=True).astype(dtype)
    if axis is None:
        return Tensor(shape, dtype, data, Quantized(0.01, 0 if dtype == "int8" else 120))
    scales = random.uniform(0.005, 0.02, shape[axis]).tolist()
    return Tensor(shape, dtype, data, Quantized(scales, [0] * shape[axis], axis))


def bias_of(data: Tensor, kernel: Tensor, count: int, dtype: str = "int32") -> Tensor:
    """Return a bias in the scales of the product's operands."""
    assert data.quantized is not None and kernel.quantized is not None
    scales = numpy.asarray(kernel.quantized.scale) * data.quantized.scale
    values = numpy.random.default_rng(2).integers(-2000, 2000, count).astype(dtype)
    zeros = [0] * scales.size if scales.ndim else 0
    return Tensor((count,), dtype, values, Quantized(scales.tolist(), zeros, 0))


def random_floats(*shape: int, seed: int = 3) -> Tensor:
    return numbers(numpy.random.default_rng(seed).uniform(-1, 1, shape), "float32")


def together(cases: Sequence[Case]) -> Subgraph:
    """Return one model with the operators of all cases."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: list[int] = []
    outputs: list[int] = []
    for each in cases:
        first, model = len(tensors), each.model
        tensors += model.tensors
        for operator in model.operators:
            places = [[place if place < 0 else place + first for place in side] for side in operator[1:3]]
            operators.append(operator._replace(inputs=places[0], outputs=places[1]))
        inputs += [place + first for place in model.inputs]
        outputs += [place + first for place in model.outputs]
    return Subgraph(tensors, operators, inputs, outputs)
