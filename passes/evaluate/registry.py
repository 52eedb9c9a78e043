# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of compile-time evaluations: the results of operators on known elements, by operator.

    @rx.rules.register_evaluation("mynpu.scaled_relu")
    def scaled_relu(call, x):
        return numpy.maximum(x, 0) * x.dtype.type(call.scale)

A rule receives the call and the operands. The call has the attributes and `call.result`, the type of the result. The
operands are NumPy arrays: None for an absent one or an unknown shape, a tuple for a variadic one. The rule returns an
array, or one per result, with exactly the bits that the compiled program would compute. If the result is unknown, the
rule returns None or raises rx.rules.NotKnown. Importers, relax-canonicalize and relax-fold-constant use the same rules.
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

#: Signature `rule(call, *operands)`, as described above.
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Evaluation(OperatorRule):
    """The evaluation of an operator."""

    #: True if the rule accepts arrays of objects: numbers and expressions over dimensions, for floats ratios of these.
    symbols: bool = False


_EVALUATIONS = OperatorRules(Evaluation, "an evaluation", f"{__package__}.evaluations")


@types_checked
def register_evaluation(op: str | Sequence[str], *, symbols: bool = False) -> Callable[[Function], Function]:
    """Register a function as the evaluation of one or more operators. Use it as a decorator.

    `symbols`: the function also accepts expressions over dimensions, in arrays of objects. Unknown operators and a
    second evaluation of an operator are refused.
    """
    return _EVALUATIONS.register(op, symbols=symbols)


def find_evaluation(op: str) -> Evaluation | None:
    """Return the evaluation of an operator, or None."""
    return _EVALUATIONS.find(op)


def all_evaluations() -> list[Evaluation]:
    """Return all evaluations, sorted by operator."""
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
        """Return the type of the (first) result."""
        return self.results[0]


_ANSWERS = (NotKnown, SymbolError)


def evaluate(call: EvaluationCall, operands: Sequence[object]) -> list[ndarray] | None:
    """Evaluate an operator on its operands, one for each in its row. Return None if the results are unknown."""
    rule = find_evaluation(call.definition.full_name)
    if rule is None or not rule.symbols and any(map(is_symbolic, _flat(operands))):
        return None
    import numpy

    try:
        # Overflow wraps around, and NaN and infinity are ordinary results.
        blamed = blaming(f"the evaluation of '{rule.op}'", rule.function, answers=_ANSWERS)
        with numpy.errstate(all="ignore"), blamed:
            found = rule.function(call, *operands)
        listed = found if isinstance(found, (list, tuple)) else [found]
        return [typed(array, info, rule) for array, info in zip(listed, call.results, strict=True)]
    except _ANSWERS:
        return None


def _flat(operands: Sequence[object]) -> list[ndarray]:
    several = (operand if isinstance(operand, tuple) else (operand,) for operand in operands)
    return [array for arrays in several for array in arrays if array is not None]
