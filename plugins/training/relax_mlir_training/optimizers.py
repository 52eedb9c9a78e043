# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers: updates of parameters and their states by gradients. Optimizer objects store no state.

    optimizer = rx.optim.Adam(lr=1e-3)
    optimizer.add_to(module, {"w": rx.tensor((3, 4), "float32")})   # adds @adam

The function takes the parameters, their gradients, the states, and `lr` if the optimizer's rate is None. It returns the
new parameters and states. Initially all states are zeros.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, symbol_name
from relax_mlir.dialects import relax
from relax_mlir.dialects.core.codec import encode
from relax_mlir.dialects.core.infos import TensorInfo, describe, is_float
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.function_attributes import function_attributes
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, cast
from relax_mlir.support.errors import OptionError, RelaxError

#: State that belongs to no parameter: the number of updates.
COUNT = "updates"
RATE = "lr"


class Update:
    """Values that all parameters of one update share: the rate, and the number of the update."""

    def __init__(self, rate: object, count: object):
        self._rate = rate
        #: Number of the update, from 1 on, with 64 bits.
        self.count = count

    def rate(self, like: Tensor, scale: Tensor | None = None) -> Tensor:
        """Return the learning rate, times a 64-bit number, in a tensor's element type."""
        rate = Tensor(self._rate if isinstance(self._rate, Value) else const(self._rate, "f64"))
        scaled = rate if scale is None else _cast(rate, "f64") * scale
        return _cast(scaled, dtype_of(like.value))


def _cast(number: Tensor, dtype: str) -> Tensor:
    return Tensor(cast(number.value, dtype))


@dataclass(frozen=True)
class Optimizer(ABC):
    """Optimizer with a rate `lr`, or None if each update receives a rate."""

    lr: float | None

    #: Names of the states per parameter, tensors of its shape and element type.
    STATES: ClassVar[tuple[str, ...]] = ()
    #: True if updates are counted.
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
        """Return the new parameter and its new states."""

    def states(self, parameters: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
        """Return the names and types of the states, in the function's order."""
        counts = {COUNT: TensorInfo((), "i64")} if self.COUNTS else {}
        return {**counts, **{f"{name}_{kind}": info for kind in self.STATES for name, info in parameters.items()}}

    def arguments(self) -> dict[str, TensorInfo]:
        """Return the names and types of the other arguments of each update."""
        return {} if self.lr is not None else {RATE: TensorInfo((), "f32")}

    def add_to(
        self, module: Any, parameters: Mapping[str, TensorInfo], name: str = "", *, private: bool = False
    ) -> str:
        """Add the function to a module, under the optimizer's name or another one, and return that name."""
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
        for key, info in parameters.items():
            if not isinstance(info, TensorInfo) or not is_float(info.dtype):
                shown = describe(info) if isinstance(info, TensorInfo) else type(info).__name__
                raise OptionError(f"{type(self).__name__} updates tensors of floats: parameter '{key}' is {shown}")

    def _build(self, owner: Operation, parameters: Mapping[str, TensorInfo], name: str, private: bool) -> None:
        states = self.states(parameters)
        inputs = {
            **parameters,
            **{f"{key}_gradient": info for key, info in parameters.items()},
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
            ir.Operation.create("func.return", operands=self._update(values, list(parameters)))

    def _update(self, values: Mapping[str, Value], parameters: Sequence[str]) -> list[Value]:
        counted = [relax.add(values[COUNT], const(1, "i64"))] if self.COUNTS else []
        count = Tensor(relax.astype(counted[0], dtype="f64")) if counted else None
        step = Update(values.get(RATE, self.lr), count)
        made = []
        for name in parameters:
            names = (name, f"{name}_gradient", *(f"{name}_{kind}" for kind in self.STATES))
            made.append([each.value for each in self.update(step, *(Tensor(values[text]) for text in names))])
        after, *states = zip(*made, strict=True)
        return [*after, *counted, *(each for kind in states for each in kind)]


def _add_decay(x: Tensor, gradient: Tensor, weight_decay: float) -> Tensor:
    return gradient + weight_decay * x if weight_decay else gradient


@dataclass(frozen=True)
class SGD(Optimizer):
    """Gradient descent: a step against the gradient."""

    lr: float | None
    weight_decay: float = 0.0

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        return [x - step.rate(x) * _add_decay(x, gradient, self.weight_decay)]


@dataclass(frozen=True)
class MomentumSGD(Optimizer):
    """Gradient descent along a decaying sum of all gradients so far."""

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
        gradient = _add_decay(x, gradient, self.weight_decay)
        share = gradient if self.dampening == 0 else (1 - self.dampening) * gradient
        velocity = self.momentum * velocity + share
        direction = gradient + self.momentum * velocity if self.nesterov else velocity
        return [x - step.rate(x) * direction, velocity]


@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam: a step against the mean of the gradients, divided by the root of the mean of their squares."""

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
        return self._move(step, x, _add_decay(x, gradient, self.weight_decay), *states)

    def _move(self, step: Update, x: Tensor, gradient: Tensor, mean: Tensor, square: Tensor) -> Sequence[Tensor]:
        of_mean, of_square = self.betas
        mean = of_mean * mean + (1 - of_mean) * gradient
        square = of_square * square + (1 - of_square) * (gradient * gradient)
        # Both began with zeros, which bias the means. 1 - beta ** count is small at first, so it is computed in
        # 64 bits.
        of_mean_so_far, of_square_so_far = (1 - Tensor(const(beta, "f64")) ** step.count for beta in self.betas)
        root = apply("sqrt", square) * _cast(1 / apply("sqrt", of_square_so_far), dtype_of(x.value))
        return [x - step.rate(x, 1 / of_mean_so_far) * mean / (root + self.eps), mean, square]


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam with a weight decay that reduces the parameter directly, and does not change its gradient."""

    weight_decay: float = 1e-2

    def update(self, step: Update, x: Tensor, gradient: Tensor, *states: Tensor) -> Sequence[Tensor]:
        smaller = x - step.rate(x) * self.weight_decay * x if self.weight_decay else x
        return self._move(step, smaller, gradient, *states)
