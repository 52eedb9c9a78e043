# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of compile-time evaluations: what an operator makes of known elements, by its name.

    @rx.rules.register_evaluation("mynpu.scaled_relu")
    def scaled_relu(call, x):
        return numpy.maximum(x, 0) * x.dtype.type(call.scale)

A rule is given the call, of which it reads attributes and `call.result`, the type of what it gives, and the operands as
numpy arrays (None for an absent one, or an unknown shape; a tuple for a variadic one). It returns an array, or
one for each result, to the last bit what the compiled program would compute; None, or rx.rules.NotKnown raised,
where that is unknown. Importers, relax-canonicalize and relax-fold-constant ask the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ...dialects.core.infos import Info
from ...dialects.core.opdef import Call
from ...dialects.core.rules import OperatorRule, OperatorRules
from ...dialects.core.symbols import SymbolError
from ...support.argument_types import types_checked
from ...support.blaming import blaming
from .elements import NotKnown, is_symbolic, typed

if TYPE_CHECKING:
    from numpy import ndarray

#: `rule(call, *operands)`, see above.
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Evaluation(OperatorRule):
    """What evaluates an operator."""

    #: Whether it takes arrays of objects: numbers and expressions over dimensions, for floats ratios of such.
    symbols: bool = False


_EVALUATIONS = OperatorRules(Evaluation, "an evaluation", f"{__package__}.evaluations")


@types_checked
def register_evaluation(op: str | Sequence[str], *, symbols: bool = False) -> Callable[[Function], Function]:
    """Registers a function as what an operator (or several) makes of known elements; use it as a decorator.

    `symbols`: it takes expressions over dimensions too, in arrays of objects. Refuses unknown operators, and a second
    evaluation of the same one.
    """
    return _EVALUATIONS.register(op, symbols=symbols)


def find_evaluation(op: str) -> Evaluation | None:
    """What evaluates an operator, if there is one."""
    return _EVALUATIONS.find(op)


def all_evaluations() -> list[Evaluation]:
    """Every one, sorted by operator."""
    return _EVALUATIONS.all()


def evaluated_operators() -> tuple[str, ...]:
    """Return the names of the operators that have an evaluation, sorted."""
    _EVALUATIONS.load()
    return tuple(sorted(_EVALUATIONS.entries))


class EvaluationCall(Call):
    """A call as inference sees it, and the types of its results."""

    def __init__(self, call: Call, results: Sequence[Info]):
        super().__init__(call.definition, call.operands, call.attributes)
        self.results = results

    @property
    def result(self) -> Any:
        """The type of the (first) result."""
        return self.results[0]


_ANSWERS = (NotKnown, SymbolError)


def evaluate(call: EvaluationCall, operands: Sequence[object]) -> list[ndarray] | None:
    """What an operator makes of its operands, one for each in its row; None where unknown."""
    rule = find_evaluation(call.definition.full_name)
    if rule is None or not rule.symbols and any(map(is_symbolic, _flat(operands))):
        return None
    import numpy

    try:
        # Overflow wraps around, and NaN and infinity are results like others.
        blamed = blaming(f"the evaluation of '{rule.op}'", rule.function, answers=_ANSWERS)
        with numpy.errstate(all="ignore"), blamed:
            found = rule.function(call, *operands)
        listed = found if isinstance(found, (list, tuple)) else [found]
        return [typed(array, info, rule) for array, info in zip(listed, call.results, strict=True)]
    except _ANSWERS:
        return None


def _flat(operands: Sequence[object]) -> list[ndarray]:
    several = (each if isinstance(each, tuple) else (each,) for each in operands)
    return [array for arrays in several for array in arrays if array is not None]
