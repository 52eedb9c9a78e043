# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacements written as patterns: a part of the match, or operators around parts."""

from __future__ import annotations

from collections.abc import Callable

from ...bindings.ir import Attribute, Operation, Value
from ...dialects.core.dialect import find_op
from ...dialects.relax.values import as_result, make
from ...support.errors import RelaxError
from .matched import Match
from .operator_patterns import Op
from .tree import GraphPattern, walk


def template(pattern: GraphPattern, graph_pattern: GraphPattern) -> Callable[[Match], Value | Operation | None]:
    """Return a function that builds the replacement of a match. Raises RelaxError for an unsupported replacement."""
    known = set(walk(pattern))
    _check(pattern, known, graph_pattern)
    if graph_pattern in known:
        return lambda found: as_result(found.op(), found[graph_pattern])
    assert isinstance(graph_pattern, Op)

    def replace(match: Match) -> Operation | None:
        values = [_value(known, part, match) for part in _operands(graph_pattern)]
        return make(match.op(), graph_pattern.names[0], values, _attributes(graph_pattern, match.root))

    return replace


def _check(pattern: GraphPattern, known: set[GraphPattern], graph_pattern: GraphPattern) -> None:
    if graph_pattern in known:
        return
    where = f"pattern {pattern}: replacement {graph_pattern}"
    if (
        type(graph_pattern) is not Op
        or len(graph_pattern.names) > 1
        or graph_pattern.operands is None
        or graph_pattern.is_open
    ):
        raise RelaxError(f"{where} is neither a part of the pattern nor one operator with all of its operands")
    if any(callable(value) for _, value in graph_pattern.attributes) or find_op(graph_pattern.names[0]).segmented:
        raise RelaxError(f"{where} must be built by a function")
    for part in graph_pattern.parts:
        _check(pattern, known, part)


def _value(known: set[GraphPattern], pattern: GraphPattern, match: Match) -> Value:
    if pattern in known:
        return match[pattern]
    assert isinstance(pattern, Op)
    operands = [_value(known, part, match) for part in _operands(pattern)]
    row = find_op(pattern.names[0])
    given = [operands] if row.varying is not None and row.varying.arity == "variadic" else operands
    return row(*given, **dict(pattern.attributes))


def _operands(wanted: Op) -> list[GraphPattern]:
    return wanted.readers[wanted.names[0]].parts


def _attributes(wanted: Op, root: Operation) -> dict[str, Attribute]:
    kinds = find_op(wanted.names[0]).attrs
    return {name: kinds[name].encode(value, root.context) for name, value in wanted.attributes}
