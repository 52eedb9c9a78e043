# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models as cases.

A model is a function that builds operators from random weights and from inputs. Inputs are written like operands of
rows (rows.py), without classes of element types.

    @model("mlp", "batch,8:f32", batch=(3, 1))
    def mlp(w: Weights, x: Value) -> Value:
        return relax.nn.relu(relax.matmul(x, w(8, 16)))

Named sizes are dynamic, with their numbers in each call. Without named sizes there are two calls with different
elements. The sizes `batch` and `rows` count rows that do not depend on each other, unless the model states a reason by
`whole_batch=`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from relax_mlir.bindings.context import load_dialects
from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.navigation import function_type_of, functions_in, symbol_name
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import is_float, tensor
from relax_mlir.dialects.relax.constants import const
from relax_mlir.frontends.module import Module

from .cases import ANY, Batch, Case, Range, Setup, drawn, seeded
from .rows import OperandText, array_of, operands_of

if TYPE_CHECKING:
    from numpy import ndarray

_CALLS = 2
#: Names of sizes of batches, and the rows of a batch.
_BATCH_SIZES = ("batch", "rows")
_BATCH_ROWS = 13
#: Dialects of loops and branches (control.py).
_CONTROL = ("scf", "tensor")


class Weights:
    """Generator of a model's constants."""

    def __init__(self, random: numpy.random.Generator) -> None:
        self._random = random

    def __call__(self, *shape: int, dtype: str = "f32", among: Range = ANY) -> Value:
        """Return a constant.

        Floats are scaled by the number of summands. The first size is the outputs', unless there are two.
        """
        array = drawn(self._random, dtype, shape, among)
        if is_float(dtype) and among is ANY and shape:
            added = shape[0] if len(shape) <= 2 else int(numpy.prod(shape[1:]))
            array = (array.astype("float32") / numpy.sqrt(max(added, 1))).astype(array.dtype)
        return const(array)

    def positive(self, *shape: int, dtype: str = "f32") -> Value:
        """Return a constant for scales and variances."""
        return self(*shape, dtype=dtype, among=Range(0.5, 1.5))


class Model(NamedTuple):
    """A model's name, its inputs, the numbers of dynamic sizes per call, and its builder."""

    name: str
    inputs: tuple[OperandText, ...]
    sizes: tuple[dict[str, int], ...]
    build: Callable[..., Any]
    #: Reason why a row's results depend on the other rows of the batch, or "".
    whole_batch: str = ""

    @property
    def case(self) -> Case:
        return Case(self.name, "models", self.made)

    def made(self, seed: int) -> Setup:
        """Return the module, and the arguments of each call."""
        random = seeded(self.name, seed)
        module = Module()
        load_dialects(module.context, _CONTROL)
        infos = {f"x{number}": tensor(input_.shape(None), input_.dtype) for number, input_ in enumerate(self.inputs)}
        with module.function("main", infos) as f:
            made = self.build(Weights(random), *f)
            f.returns(*(made if isinstance(made, tuple) else (made,)))
        calls = [self._arguments(sizes, random) for sizes in self.sizes]
        return Setup(module, calls, self._batch(module, seed), self.whole_batch)

    def _batch(self, module: Module, seed: int) -> Batch | None:
        """Return a batch of rows, or None for a model without rows that do not depend on each other."""
        size = next((batch_size for batch_size in _BATCH_SIZES if batch_size in self.sizes[0]), None)
        if size is None or self.whole_batch:
            return None
        arguments = self._arguments({**self.sizes[0], size: _BATCH_ROWS}, seeded(f"{self.name} {size}", seed))
        axes = tuple(input_.sizes.index(size) if size in input_.sizes else None for input_ in self.inputs)
        return Batch(size, _BATCH_ROWS, arguments, axes, _result_axes(module, size))

    def _arguments(self, sizes: dict[str, int], random: numpy.random.Generator) -> list[ndarray]:
        return [
            array_of(input_, input_.dtype, input_.numbers(sizes), sizes, random)
            for input_ in self.inputs
        ]  # fmt: skip


def _result_axes(module: Module, size: str) -> tuple[int | None, ...]:
    """Return the dimension of each result that has a named size, or None."""
    (main,) = (function for function in functions_in(module.operation) if symbol_name(function) == "main")
    infos = (decode(result) for result in function_type_of(main).results)
    shapes = [list(map(str, getattr(info, "shape", None) or ())) for info in infos]
    return tuple(shape.index(size) if size in shape else None for shape in shapes)


def model(
    name: str, inputs: str, *, whole_batch: str = "", **sizes: Sequence[int]
) -> Callable[[Callable[..., Any]], Model]:
    """Turn a builder function into a model. `whole_batch` states why a row's results depend on other rows."""
    count = max(map(len, sizes.values()), default=_CALLS)
    calls = tuple({size: numbers[call] for size, numbers in sizes.items()} for call in range(count))
    return lambda build: Model(name, tuple(operands_of(inputs)), calls, build, whole_batch)
