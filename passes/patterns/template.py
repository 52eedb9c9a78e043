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


def template(pattern: GraphPattern, wanted: GraphPattern) -> Callable[[Match], Value | Operation | None]:
    """Return a function that builds the replacement of a match. Raises RelaxError for an unsupported replacement."""
    known = set(walk(pattern))
    _check(pattern, known, wanted)
    if wanted in known:
        return lambda found: as_result(found.op(), found[wanted])
    assert isinstance(wanted, Op)

    def replace(found: Match) -> Operation | None:
        values = [_value(known, part, found) for part in _operands(wanted)]
        return make(found.op(), wanted.names[0], values, _attributes(wanted, found.root))

    return replace


def _check(pattern: GraphPattern, known: set[GraphPattern], wanted: GraphPattern) -> None:
    if wanted in known:
        return
    where = f"pattern {pattern}: replacement {wanted}"
    if type(wanted) is not Op or len(wanted.names) > 1 or wanted.operands is None or wanted.is_open:
        raise RelaxError(f"{where} is neither a part of the pattern nor one operator with all of its operands")
    if any(callable(value) for _, value in wanted.attributes) or find_op(wanted.names[0]).segmented:
        raise RelaxError(f"{where} must be built by a function")
    for part in wanted.parts:
        _check(pattern, known, part)


def _value(known: set[GraphPattern], wanted: GraphPattern, found: Match) -> Value:
    if wanted in known:
        return found[wanted]
    assert isinstance(wanted, Op)
    operands = [_value(known, part, found) for part in _operands(wanted)]
    row = find_op(wanted.names[0])
    given = [operands] if row.varying is not None and row.varying.arity == "variadic" else operands
    return row(*given, **dict(wanted.attributes))


def _operands(wanted: Op) -> list[GraphPattern]:
    return wanted.readers[wanted.names[0]].parts


def _attributes(wanted: Op, root: Operation) -> dict[str, Attribute]:
    kinds = find_op(wanted.names[0]).attrs
    return {name: kinds[name].encode(value, root.context) for name, value in wanted.attributes}
