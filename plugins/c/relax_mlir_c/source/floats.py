# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point operations of the arith dialect in C."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation

from .expressions import Expression, binary, call, name, unary
from .integers import FALSE, TRUE, negation
from .writer import FunctionWriter, Rule, ScalarRule, scalar

#: By the predicate's number. Prefix o: the operands must be ordered; prefix u: true for unordered operands, too.
_PREDICATES = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
_OPERATORS = {"eq": "==", "gt": ">", "ge": ">=", "lt": "<", "le": "<="}
#: Negations of unordered predicates.
_CONTRARY = {"ugt": "<=", "uge": "<", "ult": ">=", "ule": ">"}
#: Predicates that are true for a number compared with itself.
_REFLEXIVE = ("oeq", "oge", "ole", "ord", "ueq", "uge", "ule")


def _make_operator_rule(operator: str) -> ScalarRule:
    return lambda writer, op, operands: binary(operator, *operands)


def c_function(function: str) -> ScalarRule:
    """Return the rule that calls a function of <math.h>."""
    return lambda writer, op, operands: call(function + ("" if str(op.results[0].type) == "f64" else "f"), *operands)


def _make_helper_rule(word: str) -> ScalarRule:
    return lambda writer, op, operands: call(writer.helper(f"{word}{op.results[0].type.width}"), *operands)


def _compare(writer: FunctionWriter, op: Operation, operands: list[Expression]) -> Expression:
    word, type_ = _PREDICATES[int(op.attributes["predicate"].value)], op.operands[0].type
    if word in ("false", "true"):
        return name(word)
    if operands[0] == operands[1]:
        return _compare_with_itself(word, operands[0])
    if word.startswith("o") and word[1:] in _OPERATORS:
        return binary(_OPERATORS[word[1:]], *operands)
    if word in _CONTRARY:
        return unary("!", binary(_CONTRARY[word], *operands))
    if word == "une":
        return binary("!=", *operands)
    left, right = (writer.atom(operand, type_) for operand in operands)
    if word in ("ord", "uno"):
        found = binary("||", call("isnan", left), call("isnan", right))
        return found if word == "uno" else unary("!", found)
    found = binary("||", binary("<", left, right), binary(">", left, right))
    return found if word == "one" else unary("!", found)


def _compare_with_itself(word: str, value: Expression) -> Expression:
    """Return the comparison of a value with itself, which depends on NaN only."""
    is_ordered, holds = word.startswith("o"), word in _REFLEXIVE
    if is_ordered != holds:
        return TRUE if holds else FALSE
    is_nan = call("isnan", value)
    return negation(is_nan) if holds else is_nan


_SCALAR: dict[str, ScalarRule] = {
    "addf": _make_operator_rule("+"),
    "subf": _make_operator_rule("-"),
    "mulf": _make_operator_rule("*"),
    "divf": _make_operator_rule("/"),
    "negf": lambda writer, op, operands: unary("-", operands[0]),
    "remf": c_function("fmod"),
    "maximumf": _make_helper_rule("max_f"),
    "minimumf": _make_helper_rule("min_f"),
    "maxnumf": c_function("fmax"),
    "minnumf": c_function("fmin"),
    "cmpf": _compare,
}

RULES: dict[str, Rule] = {f"arith.{word}": scalar(rule) for word, rule in _SCALAR.items()}
