# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations that models spell out, for which oneDNN has one algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.navigation import made_by
from ....dialects.relax.known_constants import splat
from ....passes.patterns.match import match
from ....passes.patterns.matched import Match
from ....passes.patterns.operator_patterns import is_op
from ....passes.patterns.tree import GraphPattern, is_const, wildcard
from ..core.operator_checks import call_at
from .elementwise import CLIP, ELU, HARD_SWISH, LARGEST, MISH, SELU_ALPHA, SELU_SCALE, SWISH, is_far

Numbers = tuple[float, float]


class Activation(NamedTuple):
    """One that was found: the algorithm with its numbers, what it is of, and the operations before the last one."""

    algorithm: int
    alpha: float
    beta: float
    source: Value
    inner: frozenset[Operation]
    #: Whether NaN has to become 0.
    drops_nan: bool = False


class _Form(NamedTuple):
    pattern: GraphPattern
    algorithm: int
    #: alpha and beta; None where the constants are others.
    numbers: Callable[[Match], Numbers | None]
    drops_nan: bool = False


_multiply, _clip = is_op("relax.multiply"), is_op("relax.clip")


def _hard_swish(x: GraphPattern) -> GraphPattern:
    scaled = _multiply(x, is_const().named("alpha"))
    return _multiply(x, _clip(is_op("relax.add")(scaled, is_const().named("beta")), ...).named("clipped"))


def _mish(x: GraphPattern) -> GraphPattern:
    return _multiply(x, is_op("relax.tanh")(is_op("relax.nn.softplus").has_attr(beta=1.0, threshold=is_far)(x)))


def _swish(x: GraphPattern) -> GraphPattern:
    return _multiply(x, is_op("relax.sigmoid")(x))


def _elu(x: GraphPattern) -> GraphPattern:
    below = _multiply(is_op("relax.nn.selu")(x), is_const().named("alpha"))
    return is_op("relax.where")(is_op("relax.greater")(x, is_const(0.0)), x, below)


def without_nan(x: GraphPattern) -> GraphPattern:
    """0 where it is NaN, as models guard rows that are masked as a whole."""
    return is_op("relax.where")(is_op("relax.isnan")(x), is_const(0.0), x)


def _number(found: Match, name: str) -> float | None:
    number = splat(found[name])
    return None if number is None else float(number)


def _of_hard_swish(found: Match) -> Numbers | None:
    alpha, beta = _number(found, "alpha"), _number(found, "beta")
    call = call_at(found["clipped"].owner.operation)
    limits = call.operands["min"].value, call.operands["max"].value
    return None if alpha is None or beta is None or limits != (0, 1) else (alpha, beta)


def _of_elu(found: Match) -> Numbers | None:
    factor = _number(found, "alpha")
    return None if factor is None else (factor * SELU_SCALE * SELU_ALPHA, 0.0)


#: By name, around what they are of.
SPELT_OUT = {"hard_swish": _hard_swish, "mish": _mish, "swish": _swish, "elu": _elu}
_x = wildcard().named("x")
_FORMS = (
    _Form(_hard_swish(_x), HARD_SWISH, _of_hard_swish),
    _Form(_mish(_x), MISH, lambda found: (0.0, 0.0)),
    _Form(_swish(_x), SWISH, lambda found: (1.0, 0.0)),
    _Form(_elu(_x), ELU, _of_elu),
    # Nothing of a softmax is below 0, and NaN is not above.
    _Form(without_nan(is_op("relax.nn.softmax")(wildcard()).named("x")), CLIP, lambda found: (0.0, LARGEST), True),
)
_ROOTS = frozenset({"relax.multiply", "relax.where"})


def activation_at(op: Operation) -> Activation | None:
    """The activation that an operation is the last of, if what is inside has no other user."""
    if op.name not in _ROOTS:
        return None
    for form in _FORMS:
        found = match(form.pattern, op)
        numbers = None if found is None else form.numbers(found)
        if found is not None and numbers is not None and found.results in ([], list(op.results)):
            inner = frozenset(found.operations) - {op, made_by(found["x"])}
            return Activation(form.algorithm, *numbers, found["x"], inner, form.drops_nan)
    return None
