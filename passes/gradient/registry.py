# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of derivatives by operator.

    @register_gradient("relax.sin")
    def sin(call):
        return relax.multiply(call.gradient, relax.cos(call.x))

A rule is given how the differentiated number changes with the operator's result, `call.gradient`, and returns how it
changes with the operands: one value, or a list with one for each operand. None says that nothing depends on it; a
function without arguments makes a value that is only wanted where an operand is differentiated.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ...dialects.core.dialect import find_op
from ...support.errors import RelaxError
from ...support.places import place_of

#: `rule(call)` returns the gradients of the operands, see above.
RuleFunction = Callable[[Any], Any]
Function = TypeVar("Function", bound=RuleFunction)


class GradientRule(NamedTuple):
    """How an operator is differentiated. `place` says where the rule is written."""

    op: str
    function: RuleFunction
    place: str

    def __str__(self) -> str:
        return f"{self.op} ({self.place})"


_RULES: dict[str, GradientRule] = {}
_FAMILIES = Path(__file__).parent / "rules"
_loaded: list[str] = []


def register_gradient(op: str | Sequence[str]) -> Callable[[Function], Function]:
    """Registers a function as the rule of an operator's derivative (or several operators'); use it as a decorator.

    Refuses unknown operators, and a second rule for the same one.
    """
    names = [op] if isinstance(op, str) else list(op)

    def register(function: Function) -> Function:
        _load_families()
        for name in names:
            find_op(name)
            rule = GradientRule(name, function, place_of(function))
            taken = _RULES.get(name)
            if taken is not None and taken.place != rule.place:
                raise RelaxError(f"'{name}' has a rule for its derivative already: {taken.place}")
            _RULES[name] = rule
        return function

    return register


def _load_families() -> None:
    """Imports this project's rules, once; they register themselves meanwhile."""
    if _loaded:
        return
    _loaded.extend(sorted(path.stem for path in _FAMILIES.glob("[a-z]*.py")))
    for family in _loaded:
        importlib.import_module(f"{__package__}.rules.{family}")


def find_gradient(op: str) -> GradientRule | None:
    """The rule of an operator, if there is one."""
    _load_families()
    return _RULES.get(op)


def all_gradients() -> list[GradientRule]:
    """Every rule, sorted by operator."""
    _load_families()
    return [_RULES[op] for op in sorted(_RULES)]


def gradients_table() -> str:
    """`all_gradients` as lines of text: operator and place."""
    rows = [("operator", "rule"), *((rule.op, rule.place) for rule in all_gradients())]
    width = max(len(op) for op, _ in rows)
    return "\n".join(f"{op.ljust(width)}  {place}" for op, place in rows)
