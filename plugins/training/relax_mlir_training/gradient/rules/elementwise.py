# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of elementwise operators, as formulas for the gradient of each operand.

`g` is the gradient of the result `y`. Gradients of broadcast operands are summed back to the operands' shapes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import Tensor, apply, as_tensor, cast, relax, summed_to
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall, Gradients
from ..lengths import by_length, is_sum_of_squares

Formula = Callable[..., Tensor]

_TWO_BY_ROOT_PI = 2 / math.sqrt(math.pi)


#: f(g, x, y) of operators with one operand.
OF_ONE: dict[str, Formula] = {
    "relax.abs": lambda g, x, y: g * apply("sign", x),
    "relax.acos": lambda g, x, y: -g * apply("rsqrt", 1 - x * x),
    "relax.acosh": lambda g, x, y: g / (apply("sqrt", x - 1) * apply("sqrt", x + 1)),
    "relax.asin": lambda g, x, y: g * apply("rsqrt", 1 - x * x),
    "relax.asinh": lambda g, x, y: g * apply("rsqrt", x * x + 1),
    "relax.atan": lambda g, x, y: g / (x * x + 1),
    "relax.atanh": lambda g, x, y: g / (1 - x * x),
    "relax.cos": lambda g, x, y: -g * apply("sin", x),
    "relax.cosh": lambda g, x, y: g * apply("sinh", x),
    "relax.erf": lambda g, x, y: g * (_TWO_BY_ROOT_PI * apply("exp", -(x * x))),
    "relax.exp": lambda g, x, y: g * y,
    "relax.log": lambda g, x, y: g / x,
    "relax.negative": lambda g, x, y: -g,
    "relax.rsqrt": lambda g, x, y: g * (-0.5 * y / x),
    "relax.sigmoid": lambda g, x, y: g * (y * (1 - y)),
    "relax.sin": lambda g, x, y: g * apply("cos", x),
    "relax.sinh": lambda g, x, y: g * apply("cosh", x),
    "relax.square": lambda g, x, y: g * (2 * x),
    "relax.tan": lambda g, x, y: g * (y * y + 1),
    "relax.tanh": lambda g, x, y: g * (1 - y * y),
}

#: f(g, x1, x2, y) by the first and by the second operand.
OF_TWO: dict[str, tuple[Formula, Formula]] = {
    "relax.add": (lambda g, a, b, y: g, lambda g, a, b, y: g),
    "relax.subtract": (lambda g, a, b, y: g, lambda g, a, b, y: -g),
    "relax.multiply": (lambda g, a, b, y: g * b, lambda g, a, b, y: g * a),
    "relax.divide": (lambda g, a, b, y: g / b, lambda g, a, b, y: -g * (y / b)),
    "relax.atan2": (lambda g, a, b, y: g * (b / (a * a + b * b)), lambda g, a, b, y: -g * (a / (a * a + b * b))),
    "relax.log_add_exp": (lambda g, a, b, y: g * apply("exp", a - y), lambda g, a, b, y: g * apply("exp", b - y)),
    "relax.maximum": (lambda g, a, b, y: _if_chosen(g, a, b, a > b), lambda g, a, b, y: _if_chosen(g, a, b, a < b)),
    "relax.minimum": (lambda g, a, b, y: _if_chosen(g, a, b, a < b), lambda g, a, b, y: _if_chosen(g, a, b, a > b)),
    "relax.mod": (lambda g, a, b, y: g, lambda g, a, b, y: -g * apply("round", (a - y) / b)),
    "relax.floor_mod": (lambda g, a, b, y: g, lambda g, a, b, y: -g * apply("round", (a - y) / b)),
    "relax.power": (lambda g, a, b, y: _derive_base(g, a, b), lambda g, a, b, y: _derive_exponent(g, a, y)),
}

#: Piecewise constant operators: their derivatives are zero.
STEPS = ["relax.ceil", "relax.floor", "relax.round", "relax.sign", "relax.trunc"]


def _if_chosen(g: Tensor, a: Tensor, b: Tensor, is_chosen: Tensor) -> Tensor:
    """Return the gradient if an operand is the chosen one, or half of it if both are equal."""
    return is_chosen.where(g, a.equals(b).where(0.5 * g, 0.0))


def _derive_base(g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return g * b * a ** (b - 1), which is 0 where b is, also where a is 0."""
    is_zero = b.equals(0.0)
    return g * is_zero.where(0.0, b * a ** is_zero.where(1.0, b - 1))


def _derive_exponent(g: Tensor, a: Tensor, y: Tensor) -> Tensor:
    """Return g * y * log(a), which is 0 where a is."""
    return g * y * apply("log", a.equals(0.0).where(1.0, a))


def _rule_of_one(formula: Formula) -> Callable[[GradientCall], Gradients]:
    def rule(call: GradientCall) -> Value:
        return formula(Tensor(call.gradient), Tensor(call.operands[0]), Tensor(call.result)).value

    rule.__wrapped__ = formula  # type: ignore[attr-defined]  # for the place of the formula in messages
    return rule


def _rule_of_two(by_first: Formula, by_second: Formula) -> Callable[[GradientCall], Gradients]:
    def rule(call: GradientCall) -> Sequence[Gradient]:
        one, other = call.operands

        def gradient(formula: Formula, operand: Value, other_operand: Value) -> Value:
            made = formula(Tensor(call.gradient), Tensor(one), Tensor(other), Tensor(call.result))
            return summed_to(made.value, operand, [other_operand])

        return [lambda: gradient(by_first, one, other), lambda: gradient(by_second, other, one)]

    rule.__wrapped__ = by_first  # type: ignore[attr-defined]
    return rule


for _name, _formula in OF_ONE.items():
    register_gradient(_name, by_types=True)(_rule_of_one(_formula))
for _name, _formulas in OF_TWO.items():
    register_gradient(_name, by_types=True)(_rule_of_two(*_formulas))


@register_gradient("relax.sqrt")
def sqrt(call: GradientCall) -> Gradients:
    """Differentiate sqrt: infinite at 0, except 0 for roots of sums of squares, as in `relax.std`."""
    g, y = Tensor(call.gradient), Tensor(call.result)
    return (by_length(g, y) if is_sum_of_squares(call.x) else g * (0.5 / y)).value


@register_gradient([*STEPS, "relax.floor_divide"], by_types=True)
def step(call: GradientCall) -> None:
    return None


@register_gradient("relax.where", by_types=True)
def where(call: GradientCall) -> Sequence[Gradient]:
    g, condition = Tensor(call.gradient), Tensor(call.condition)
    return [
        None,
        lambda: summed_to(condition.where(g, 0.0).value, call.x1, [call.condition, call.x2]),
        lambda: summed_to(condition.where(0.0, g).value, call.x2, [call.condition, call.x1]),
    ]


@register_gradient("relax.clip", by_types=True)
def clip(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate clip: by the operand inside of the bounds or on one, and else by the bound."""
    x, g = Tensor(call.x), Tensor(call.gradient)

    def by_bound(bound: Value, is_beyond: Callable[[Tensor, Tensor], Tensor]) -> Value:
        wide = cast(as_tensor(bound), dtype_of(call.x))
        total = relax.sum(is_beyond(x, Tensor(wide)).where(g, 0.0).value)
        return cast(total, dtype_of(as_tensor(bound)))

    return [
        lambda: x.equals(Tensor(call.result)).where(g, 0.0).value,
        lambda: by_bound(call.min, lambda x, low: x < low),
        lambda: by_bound(call.max, lambda x, high: x > high),
    ]


@register_gradient("relax.ewise_fma", by_types=True)
def fma(call: GradientCall) -> Sequence[Gradient]:
    g = call.gradient
    return [lambda: relax.multiply(g, call.x2), lambda: relax.multiply(g, call.x1), g]


@register_gradient("relax.astype", by_types=True)
def astype(call: GradientCall) -> Gradients:
    return relax.astype(call.gradient, dtype=str(call.x.type.element_type))
