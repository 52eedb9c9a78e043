# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers: what a parameter and what is remembered of it become by its gradient. They keep nothing themselves.

    optimizer = rx.optim.Adam(lr=1e-3)
    optimizer.add_to(module, {"w": rx.tensor((3, 4), "float32")})   # adds @adam

The function takes the parameters, their gradients, the states, and `lr` if the optimizer has none (None); it gives the
parameters and the states as they are afterwards. At first all states are zeros.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ...bindings.ir import Operation, Value
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, functions_in, symbol_name
from ...dialects import relax
from ...dialects.core.codec import encode
from ...dialects.core.infos import TensorInfo, describe, is_float
from ...dialects.relax import const
from ...dialects.relax.function_attributes import function_attributes
from ...dialects.relax.values import dtype_of
from ...support.errors import OptionError, RelaxError
from ..decompose.tensor_formulas import Tensor, apply, cast

#: The states that are not a parameter's: how many updates there have been.
COUNT = "updates"
RATE = "lr"


class Update:
    """What is the same for all parameters of one update: the rate, and which update it is."""

    def __init__(self, rate: object, count: object):
        self._rate = rate
        #: From 1 on, as a number of 64 bits.
        self.count = count

    def rate(self, like: Tensor, scale: Tensor | None = None) -> Tensor:
        """The learning rate, times a 64-bit number, in a tensor's element type."""
        rate = Tensor(self._rate if isinstance(self._rate, Value) else const(self._rate, "f64"))
        scaled = rate if scale is None else _cast(rate, "f64") * scale
        return _cast(scaled, dtype_of(like.value))


def _cast(number: Tensor, dtype: str) -> Tensor:
    return Tensor(cast(number.value, dtype))


@dataclass(frozen=True)
class Optimizer(ABC):
    """`lr` is the rate, None where each update is given it."""

    lr: float | None

    #: What is remembered of each parameter, a tensor of its shape and element type.
    STATES: ClassVar[tuple[str, ...]] = ()
    #: Whether updates are counted.
    COUNTS: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if (field.name == "lr" and value is None) or field.type == "bool":
                continue
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, bool) or not isinstance(each, (int, float)) or not math.isfinite(each) or each < 0:
                    raise self._refused(field.name, "must be a finite number that is not negative")

    def _refused(self, name: str, problem: str) -> RelaxError:
        return OptionError(f"{type(self).__name__}: {name} {problem}, got {getattr(self, name)!r}")

    @abstractmethod
    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        """What a parameter and its states become."""

    def states(self, parameters: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
        """The names and types of what is remembered, in the function's order."""
        counts = {COUNT: TensorInfo((), "i64")} if self.COUNTS else {}
        return {**counts, **{f"{name}_{kind}": info for kind in self.STATES for name, info in parameters.items()}}

    def arguments(self) -> dict[str, TensorInfo]:
        """The names and types of the other arguments of each update."""
        return {} if self.lr is not None else {RATE: TensorInfo((), "f32")}

    def add_to(
        self, module: Any, parameters: Mapping[str, TensorInfo], name: str = "", *, private: bool = False
    ) -> str:
        """Adds the function to a module, under the optimizer's own name or another one; gives the name."""
        owner = getattr(module, "_owner", module).operation.operation
        name = name or type(self).__name__.lower()
        self._check(owner, parameters, name)
        with owner.context, ir.Location.unknown():
            self._build(owner, parameters, name, private)
        return name

    def _check(self, owner: Operation, parameters: Mapping[str, TensorInfo], name: str) -> None:
        if any(symbol_name(function) == name for function in functions_in(owner)):
            raise OptionError(f"the module has a function @{name} already")
        if not parameters:
            raise OptionError(f"{type(self).__name__} needs a parameter to update, got none")
        for each, info in parameters.items():
            if not isinstance(info, TensorInfo) or not is_float(info.dtype):
                shown = describe(info) if isinstance(info, TensorInfo) else type(info).__name__
                raise OptionError(f"{type(self).__name__} updates tensors of floats: parameter '{each}' is {shown}")

    def _build(self, owner: Operation, parameters: Mapping[str, TensorInfo], name: str, private: bool) -> None:
        states = self.states(parameters)
        inputs = {
            **parameters,
            **{f"{each}_gradient": info for each, info in parameters.items()},
            **states,
            **self.arguments(),
        }
        types = [encode(info, owner.context) for info in inputs.values()]
        results = [*types[: len(parameters)], *types[2 * len(parameters) :][: len(states)]]
        with ir.InsertionPoint(body_of(owner)):
            attributes = function_attributes(name, types, results, list(inputs), private)
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            values = dict(zip(inputs, block.arguments, strict=True))
            ir.Operation.create("func.return", operands=self._updated(values, list(parameters)))

    def _updated(self, values: Mapping[str, Value], parameters: Sequence[str]) -> list[Value]:
        counted = [relax.add(values[COUNT], const(1, "i64"))] if self.COUNTS else []
        count = Tensor(relax.astype(counted[0], dtype="f64")) if counted else None
        step = Update(values.get(RATE, self.lr), count)
        made = []
        for name in parameters:
            names = (name, f"{name}_gradient", *(f"{name}_{kind}" for kind in self.STATES))
            made.append([each.value for each in self.update(step, *(Tensor(values[each]) for each in names))])
        after, *states = zip(*made, strict=True)
        return [*after, *counted, *(each for kind in states for each in kind)]


def _decayed(x: Tensor, gradient: Tensor, weight_decay: float) -> Tensor:
    return gradient + weight_decay * x if weight_decay else gradient


@dataclass(frozen=True)
class SGD(Optimizer):
    """Against the gradient."""

    lr: float | None
    weight_decay: float = 0.0

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        return [x - step.rate(x) * _decayed(x, gradient, self.weight_decay)]


@dataclass(frozen=True)
class MomentumSGD(Optimizer):
    """Against a sum of all gradients so far, of which older ones count less."""

    lr: float | None
    momentum: float
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    STATES: ClassVar[tuple[str, ...]] = ("velocity",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nesterov and (self.momentum == 0 or self.dampening):
            raise OptionError("MomentumSGD: nesterov needs a momentum, and no dampening")

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        (velocity,) = states
        gradient = _decayed(x, gradient, self.weight_decay)
        share = gradient if self.dampening == 0 else (1 - self.dampening) * gradient
        velocity = self.momentum * velocity + share
        direction = gradient + self.momentum * velocity if self.nesterov else velocity
        return [x - step.rate(x) * direction, velocity]


@dataclass(frozen=True)
class Adam(Optimizer):
    """Against the mean of the gradients so far, divided by the root of the mean of their squares."""

    lr: float | None = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    STATES: ClassVar[tuple[str, ...]] = ("mean", "square")
    COUNTS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2 or max(self.betas) >= 1:
            raise self._refused("betas", "must be two numbers below 1")

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        return self._moved(step, x, _decayed(x, gradient, self.weight_decay), *states)

    def _moved(self, step: Update, x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> Sequence[Tensor]:
        of_mean, of_square = self.betas
        mean = of_mean * mean + (1 - of_mean) * gradient
        square = of_square * square + (1 - of_square) * (gradient * gradient)
        # Both began with zeros, which still count: 1 - beta ** count is small at first, so it is computed in 64 bits.
        of_mean_so_far, of_square_so_far = (1 - Tensor(const(beta, "f64")) ** step.count for beta in self.betas)
        root = apply("sqrt", square) * _cast(1 / apply("sqrt", of_square_so_far), dtype_of(x.value))
        return [x - step.rate(x, 1 / of_mean_so_far) * mean / (root + self.eps), mean, square]


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose weight decay makes the parameter smaller, not its gradient larger."""

    weight_decay: float = 1e-2

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        smaller = x - step.rate(x) * self.weight_decay * x if self.weight_decay else x
        return self._moved(step, smaller, gradient, *states)
