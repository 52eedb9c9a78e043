# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activation functions that recurrent and fused operators name in attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..prelude import Node, Tensor, Value, const, relax

Activation = Callable[[Any], Any]


class _Kind(NamedTuple):
    """A function of a tensor and two numbers, with the numbers that it uses by default."""

    build: Callable[[Any, Any, Any], Any]
    alpha: float | None = None
    beta: float | None = None


def _number(value: float, x: Any) -> Tensor:
    return const(value, Value(ssa=x).dtype)


def _scaled(x: Tensor, alpha: float, beta: float) -> Tensor:
    return relax["add"](relax["multiply"](x, _number(alpha, x)), _number(beta, x))


def _elu(x: Tensor, alpha: float, _: Any) -> Tensor:
    below = relax["multiply"](relax["subtract"](relax["exp"](x), _number(1, x)), _number(alpha, x))
    return relax["where"](relax["less"](x, _number(0, x)), below, x)


def _thresholded(x: Tensor, alpha: float, _: Any) -> Tensor:
    return relax["where"](relax["greater"](x, _number(alpha, x)), x, _number(0, x))


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    return relax["multiply"](relax["tanh"](relax["multiply"](x, _number(beta, x))), _number(alpha, x))


def _soft_sign(x: Tensor, *_: Any) -> Tensor:
    return relax["divide"](x, relax["add"](relax["abs"](x), _number(1, x)))


_KINDS = {
    "relu": _Kind(lambda x, *_: relax["nn.relu"](x)),
    "tanh": _Kind(lambda x, *_: relax["tanh"](x)),
    "sigmoid": _Kind(lambda x, *_: relax["sigmoid"](x)),
    "softsign": _Kind(_soft_sign),
    "softplus": _Kind(lambda x, *_: relax["nn.softplus"](x)),
    "affine": _Kind(_scaled, 1.0, 0.0),
    "leakyrelu": _Kind(lambda x, alpha, _: relax["nn.leakyrelu"](x, alpha=alpha), 0.01),
    "thresholdedrelu": _Kind(_thresholded, 1.0),
    "scaledtanh": _Kind(_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": _Kind(lambda x, alpha, beta: relax["clip"](_scaled(x, alpha, beta), 0.0, 1.0), 0.2, 0.5),
    "elu": _Kind(_elu, 1.0),
}


def activations_of(node: Node, defaults: Sequence[str], directions: int) -> list[Activation]:
    """The functions of all directions, one after the other."""
    names = node.strings("activations", None) or [*defaults] * directions
    if len(names) != len(defaults) * directions:
        raise node.fail(f"must name {len(defaults) * directions} functions, got {len(names)}", "activations")
    alphas, betas = node.floats("activation_alpha", []), node.floats("activation_beta", [])
    functions = []
    for index, name in enumerate(names):
        kind = _KINDS.get(name.lower())
        if kind is None:
            raise node.fail(f"'{name}' is no activation function (they are {', '.join(sorted(_KINDS))})", "activations")
        alpha = _argument(kind.alpha, alphas, index, len(names))
        beta = _argument(kind.beta, betas, index, len(names))
        functions.append(_bound(kind, alpha, beta))
    return functions


def _bound(kind: _Kind, alpha: float | None, beta: float | None) -> Activation:
    return lambda x: kind.build(x, alpha, beta)


def activated(node: Node, tensor: Tensor, parameters: Sequence[float]) -> Tensor:
    """A result after the activation that com.microsoft's attribute names, with its parameters in their order."""
    name = node.string("activation", "")
    if not name:
        return tensor
    if name == "Clip" and len(parameters) == 2:
        return relax["clip"](tensor, *parameters)
    if name not in ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"):
        raise node.fail(f"the activation '{name}' with {len(parameters)} parameters is not known", "activation")
    kind = _KINDS[name.lower()]
    alpha = parameters[0] if parameters else kind.alpha
    return kind.build(tensor, alpha, parameters[1] if len(parameters) > 1 else kind.beta)


def _argument(default: float | None, given: list[float], index: int, count: int) -> float | None:
    """A function's number: the one at its place where every function has one, else the next for those that use it."""
    if len(given) == count:
        return given[index]
    return default if default is None or not given else given.pop(0)
