# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of relax-opt --explain-op: an operator's row, and the source locations of everything registered for it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from ...dialects.core.dialect import all_ops
from ...dialects.core.documentation import docstring
from ...dialects.core.operator import Operator
from ...frontends.onnx.registry import NodeConverter, all_converters
from ...passes.evaluate.references import meaning_of
from ...passes.evaluate.registry import find_evaluation
from ...passes.graph.decompose.registry import find_decomposition
from ...passes.graph.gradient_rules import find_gradient, reason_against
from ...passes.graph.layout.registry import find_layout_rule
from ...passes.graph.relax_canonicalize import Canonicalize
from ...passes.kernels.intrinsics.registry import all_intrinsic_rules
from ...passes.kernels.schedule.registry import all_plan_rules, all_schedules
from ...passes.legalize.rules import all_rules
from ...support.blaming import place_of
from ...support.errors import OptionError
from ...support.registry import table
from ...support.suggest import suggest
from ...targets.core.registry import all_targets, legal_operators

#: Columns of a row and their meanings.
_FACTS = {
    "own": "this project's own or another package's: Relax has no operator of this name",
    "explicit": "result types are not inferred, '{}' states them",
    "value_dependent": "result types depend on the values of scalar operands",
    "role": "role {}: no target needs a rule for it",
    "pattern": "fuses as '{}', see rx.OpPattern",
    "view": "view: its result is the memory of '{}'",
    "writes": "writes to the memory of {}",
    "inplace": "in place: '{}' says for each result which operand it is written over",
    "destinations": "writes its results into memory that it is given",
    "shaped_by": "its result has the shape that '{}' is",
    "short": "short: a few instructions, fusion puts several of them in a row",
}
_EFFECTS = {
    True: "pure: it may be merged with its like, moved, and removed where its results are unused",
    False: "effects: it stays where it is, as often as it stands there",
}
#: Functions of a row and their purposes.
_FUNCTIONS = {"infer": "inference", "verify": "verification", "prepare": "arguments", "redirect": "redirection"}


def explanation(name: str) -> str:
    """Describe an operator of a dialect written in Python, or of ONNX. Raise RelaxError for others."""
    rows = {row.full_name: row for row in all_ops()}
    if name in rows:
        return _explain_row(rows[name])
    converters = _converters()
    if name in converters:
        shown = [
            (f"since version {converter.since}", converter.function.__name__, converter.place)
            for converter in converters[name]
        ]
        return f"{name}, an operator of ONNX\n\nConverted by\n{_indent(table(*shown))}\n"
    raise OptionError(f"unknown operator '{name}'{suggest(name, rows) or suggest(name, converters)}")


def _converters() -> dict[str, list[NodeConverter]]:
    """Return ONNX's operators as --list-onnx-operators names them, each with its converters, the oldest first."""
    converters: dict[str, list[NodeConverter]] = {}
    for converter in all_converters():
        converters.setdefault(f"{converter.domain}.{converter.name}".lstrip("."), []).append(converter)
    return converters


def _explain_row(row: Operator) -> str:
    facts = [_EFFECTS[row.pure], *_facts(row)]
    where = table(*_places(row))
    return f"{docstring(row)}\n\nIts row says\n{_indent(*facts)}\n\nWhere it is written\n{_indent(where)}\n"


def _indent(*texts: str) -> str:
    return "\n".join(f"  {line}" for text in texts for line in text.splitlines())


def _facts(row: Operator) -> Iterator[str]:
    for column, meaning in _FACTS.items():
        if value := getattr(row, column):
            yield meaning.format(", ".join(map(repr, value)) if isinstance(value, tuple) else value)
    if row.flops is not None:
        yield f"operations on numbers: {_operations(row)}"
    letters, taps = row.windows
    if letters:
        yield f"windows slide over {', '.join(letters)}; '{taps}' says how large they are"
    for name, layout in row.layouts.items():
        yield f"'{layout.attribute}' is the layout of '{name}', of the dimensions {layout.dimensions}"


def _operations(row: Operator) -> str:
    if callable(row.flops):
        return inspect.getdoc(row.flops) or "as its function says"
    count, operand = row.flops if isinstance(row.flops, tuple) else (row.flops, "")
    what = f"'{operand}'" if operand else "its result"
    return f"{count} for each element of {what}" if count else "none"


def _places(row: Operator) -> Iterator[tuple[str, str, str]]:
    """Yield everything registered for an operator: kind, name or target, and source location."""
    name = row.full_name
    yield "row", "", row.place
    for column, what in _FUNCTIONS.items():
        if (function := getattr(row, column)) is not None:
            yield what, function.__name__, place_of(function)
    for what, rule in (
        ("gradient", find_gradient(name)),
        ("decomposition", find_decomposition(name)),
        ("evaluation", find_evaluation(name)),
    ):
        if rule is not None:
            yield what, rule.function.__name__, rule.place
        elif what == "gradient" and (reason := reason_against(name)) is not None:
            yield what, "none", reason
    if (meaning := meaning_of(row)) is not None:
        yield "reference", meaning.function.__name__.replace("<lambda>", ""), meaning.place
    if (layout := find_layout_rule(row)) is not None:
        yield "layouts", layout.function.__name__, layout.place
    for pattern in Canonicalize().patterns().patterns:
        if name in pattern.op_names:
            yield "canonicalization", pattern.label, place_of(pattern.function)
    yield from _rules(row)


def _rules(row: Operator) -> Iterator[tuple[str, str, str]]:
    """Yield the targets' rules for the operator."""
    name = row.full_name
    for target in all_targets():
        if name in legal_operators(target.name):
            yield "as it is", target.name, "a view" if row.is_plain_view else "legal="
    rules = [rule for rule in all_rules() if rule.op == name]
    for rule in rules:
        yield "legalization", rule.target, rule.place
    for intrinsic in all_intrinsic_rules():
        if intrinsic.op == name:
            words = [intrinsic.target, intrinsic.kind, "fast-math" * intrinsic.fast_math, *intrinsic.dtypes]
            yield "intrinsic", " ".join(filter(None, words)), intrinsic.place
    for schedule in all_schedules():
        if schedule.subject == name:
            yield "schedule", schedule.target, schedule.place
    for plan in all_plan_rules() if rules else ():
        yield "plans of its loops", f"{plan.target} {plan.name}", plan.place
