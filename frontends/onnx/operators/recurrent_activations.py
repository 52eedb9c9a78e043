# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The activation functions that recurrent operators name in attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....dialects.relax import const, dialect
from ..node import Node
from ..values import Value

relax = dialect.ops

Activation = Callable[[Any], Any]


class _Kind(NamedTuple):
    """A function of a tensor and two numbers, with the numbers that it uses by default."""

    build: Callable[[Any, Any, Any], Any]
    alpha: float | None = None
    beta: float | None = None


def _number(value: float, x: Any) -> Any:
    return const(value, Value(ssa=x).dtype)


def _scaled(x: Any, alpha: float, beta: float) -> Any:
    return relax["add"](relax["multiply"](x, _number(alpha, x)), _number(beta, x))


def _elu(x: Any, alpha: float, _: Any) -> Any:
    below = relax["multiply"](relax["subtract"](relax["exp"](x), _number(1, x)), _number(alpha, x))
    return relax["where"](relax["less"](x, _number(0, x)), below, x)


def _thresholded(x: Any, alpha: float, _: Any) -> Any:
    return relax["where"](relax["greater"](x, _number(alpha, x)), x, _number(0, x))


def _scaled_tanh(x: Any, alpha: float, beta: float) -> Any:
    return relax["multiply"](relax["tanh"](relax["multiply"](x, _number(beta, x))), _number(alpha, x))


def _soft_sign(x: Any, *_: Any) -> Any:
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


def _argument(default: float | None, given: list[float], index: int, count: int) -> float | None:
    """A function's number: the one at its place where every function has one, else the next for those that use it."""
    if len(given) == count:
        return given[index]
    return default if default is None or not given else given.pop(0)
