# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Activations that models write with several operators, and that oneDNN computes with one algorithm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from relax_mlir.dialects.relax.known_constants import splat
from relax_mlir.passes.graph.parts.operator_checks import call_at
from relax_mlir.patterns import GraphPattern, Match, is_const, is_op, match, wildcard
from relax_mlir.rewriting import Operation, made_by

from .elementwise import CLIP, ELU, HARD_SWISH, LARGEST, MISH, SELU_ALPHA, SELU_SCALE, SWISH, is_far
from .fused_activation import Activation

Numbers = tuple[float, float]


class _PostOp(NamedTuple):
    pattern: GraphPattern
    algorithm: int
    #: Function from a match to alpha and beta, or to None if the constants do not fit the algorithm.
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
    """Return the pattern of `where(isnan(x), 0, x)`, with which models guard fully masked rows."""
    return is_op("relax.where")(is_op("relax.isnan")(x), is_const(0.0), x)


def _number(found: Match, name: str) -> float | None:
    number = splat(found[name])
    return None if number is None else float(number)


def _hard_swish_numbers(found: Match) -> Numbers | None:
    alpha, beta = _number(found, "alpha"), _number(found, "beta")
    call = call_at(found["clipped"].owner.operation)
    limits = call.operands["min"].value, call.operands["max"].value
    return None if alpha is None or beta is None or limits != (0, 1) else (alpha, beta)


def _elu_numbers(found: Match) -> Numbers | None:
    factor = _number(found, "alpha")
    return None if factor is None else (factor * SELU_SCALE * SELU_ALPHA, 0.0)


#: Functions by activation name. Each returns the activation's pattern for the pattern of its input.
SPELT_OUT = {"hard_swish": _hard_swish, "mish": _mish, "swish": _swish, "elu": _elu}
_x = wildcard().named("x")
_FORMS = (
    _PostOp(_hard_swish(_x), HARD_SWISH, _hard_swish_numbers),
    _PostOp(_mish(_x), MISH, lambda found: (0.0, 0.0)),
    _PostOp(_swish(_x), SWISH, lambda found: (1.0, 0.0)),
    _PostOp(_elu(_x), ELU, _elu_numbers),
    # Results of a softmax are at least 0, so a clip from 0 changes only NaN. NaN is not greater than 0 and becomes 0.
    _PostOp(without_nan(is_op("relax.nn.softmax")(wildcard()).named("x")), CLIP, lambda found: (0.0, LARGEST), True),
)
_ROOTS = frozenset({"relax.multiply", "relax.where"})


def activation_at(op: Operation) -> Activation | None:
    """Return the activation that ends with an operation, or None. The inner operations must have no other users."""
    if op.name not in _ROOTS:
        return None
    for form in _FORMS:
        found = match(form.pattern, op)
        numbers = None if found is None else form.numbers(found)
        if found is not None and numbers is not None and found.results in ([], list(op.results)):
            inner = frozenset(found.operations) - {op, made_by(found["x"])}
            return Activation(form.algorithm, *numbers, found["x"], inner, form.drops_nan)
    return None
