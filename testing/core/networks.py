# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models as cases.

A model is a function that builds operators: of weights, which it draws, and of its inputs, which are written as
operands of rows are (rows.py), without classes of element types.

    @model("mlp", "batch,8:f32", batch=(3, 1))
    def mlp(w: Weights, x: Value) -> Value:
        return relax.nn.relu(relax.matmul(x, w(8, 16)))

Sizes by name are dynamic, with what they are in each call. Without any there are two calls with other elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from ...bindings.context import load_dialects
from ...bindings.ir import Value
from ...dialects.core.infos import is_float, tensor
from ...dialects.relax.constants import const
from ...frontends.module import Module
from .cases import ANY, Case, Range, Setup, drawn, seeded
from .rows import OperandText, array_of, operands_of

if TYPE_CHECKING:
    from numpy import ndarray

_CALLS = 2
#: The dialects of loops and branches (control.py).
_CONTROL = ("scf", "tensor")


class Weights:
    """Draws a model's constants."""

    def __init__(self, random: numpy.random.Generator) -> None:
        self._random = random

    def __call__(self, *shape: int, dtype: str = "f32", among: Range = ANY) -> Value:
        """Floats are small where many of them are added: the first size is that of outputs, unless there are two."""
        array = drawn(self._random, dtype, shape, among)
        if is_float(dtype) and among is ANY and shape:
            added = shape[0] if len(shape) <= 2 else int(numpy.prod(shape[1:]))
            array = (array.astype("float32") / numpy.sqrt(max(added, 1))).astype(array.dtype)
        return const(array)

    def positive(self, *shape: int, dtype: str = "f32") -> Value:
        """Scales and variances."""
        return self(*shape, dtype=dtype, among=Range(0.5, 1.5))


class Model(NamedTuple):
    """A model's name, its inputs, the numbers of its dynamic sizes for each call, and what builds its results."""

    name: str
    inputs: tuple[OperandText, ...]
    sizes: tuple[dict[str, int], ...]
    build: Callable[..., Any]

    @property
    def case(self) -> Case:
        return Case(self.name, "models", self.made)

    def made(self, seed: int) -> Setup:
        """The module, and the arguments of each call."""
        random = seeded(self.name, seed)
        module = Module()
        load_dialects(module.context, _CONTROL)
        infos = {f"x{number}": tensor(each.shape(None), each.dtype) for number, each in enumerate(self.inputs)}
        with module.function("main", infos) as f:
            made = self.build(Weights(random), *f)
            f.returns(*(made if isinstance(made, tuple) else (made,)))
        return Setup(module, [self._arguments(sizes, random) for sizes in self.sizes])

    def _arguments(self, sizes: dict[str, int], random: numpy.random.Generator) -> list[ndarray]:
        return [
            array_of(each, each.dtype, each.numbers(sizes), sizes, random)
            for each in self.inputs
        ]  # fmt: skip


def model(name: str, inputs: str, **sizes: Sequence[int]) -> Callable[[Callable[..., Any]], Model]:
    """Makes a model of a function that builds it."""
    count = max(map(len, sizes.values()), default=_CALLS)
    calls = tuple({size: numbers[call] for size, numbers in sizes.items()} for call in range(count))
    return lambda build: Model(name, tuple(operands_of(inputs)), calls, build)
