# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sharding rules: the dimensions of an operator's operands and results that can be divided together.

A rule is a line such as `mk,kn->mn`: one letter for each dimension, a term for each operand and result. Letters that no
result has are sums, or `| k: max`. A `_` is a dimension that every rank needs as a whole, an empty term an operand or
result without dimensions. `...` in front are leading dimensions, which broadcast. Dimensions of a letter with
`| k: outer` may have different sizes: a part of one has the elements of the same part of the others, computed alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.context import find_op
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.dialect import row_of
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.support.errors import OptionError

from .collectives import KINDS

#: Text of a rule, or a function that returns it for an operation; "" if nothing can be divided.
Rule: TypeAlias = "str | Callable[[Any], str]"
#: Index of a value among an operation's operands and results, the operands first, and a dimension.
Place: TypeAlias = tuple[int, int]

_OUTER = "outer"
_TERM = re.compile(r"(\.\.\.)?([A-Za-z_]*)")
_rules: dict[str, Rule] = {}


class ShardingFactor(NamedTuple):
    """Dimensions that are divided together. `kind` combines the results of all parts, "" if none does."""

    places: tuple[Place, ...]
    #: Different sizes of the dimensions: several only for outermost dimensions of a reshape. Their parts must be full.
    sizes: tuple[Dim, ...]
    kind: str = ""
    #: True if an operator computes each part alike, for any number of parts.
    is_outer: bool = False


class RuleProblem(OptionError):
    """A rule that does not fit its operation."""


def register_sharding(op: str | Sequence[str], rule: Rule) -> None:
    """Register the sharding rule of operators: a text such as `mk,kn->mn`, or a function of the operation."""
    for name in [op] if isinstance(op, str) else op:
        full_name = find_op(name).full_name
        if full_name in _rules:
            raise OptionError(f"'{full_name}' has a sharding rule already")
        if isinstance(rule, str):
            _split(rule, full_name)
        _rules[full_name] = rule


def shape_of(value: Value) -> tuple[Dim, ...]:
    """Return the shape of a tensor. Other values, and tensors of unknown rank, have no dimensions."""
    info = decode(value.type)
    return info.shape or () if isinstance(info, TensorInfo) else ()


def factors_of(operation: Operation) -> list[ShardingFactor] | None:
    """Return the factors of an operation, or None if it has no rule."""
    rule = _rules.get(operation.name)
    if rule is None:
        rule = _elementwise if _is_elementwise(operation) else None
    if rule is None:
        return None
    text = rule if isinstance(rule, str) else rule(operation.opview)
    return _read(text, operation) if text else []


def _is_elementwise(operation: Operation) -> bool:
    row = row_of(operation.opview)
    return row is not None and row.pattern in ("elemwise", "broadcast")


def _elementwise(op: Any) -> str:
    """Align the dimensions from the right. Dimensions of size 1 broadcast."""
    return ",".join(["..."] * len(op.operands)) + "->" + ",".join(["..."] * len(op.results))


def _split(text: str, name: str) -> tuple[list[str], dict[str, str]]:
    """Return the terms of operands and results, and the kinds of letters that no result has."""
    terms, _, kinds = text.partition("|")
    operands, arrow, results = terms.partition("->")
    split = [term.strip() for term in (*operands.split(","), *results.split(","))]
    if not arrow or not all(_TERM.fullmatch(term) for term in split):
        raise RuleProblem(f"sharding rule '{text}' of {name}: expected letters for each dimension, as in mk,kn->mn")
    combiners = {}
    for part in filter(None, map(str.strip, kinds.split(","))):
        letter, _, kind = (piece.strip() for piece in part.partition(":"))
        if kind not in (*KINDS, _OUTER):
            raise RuleProblem(
                f"sharding rule '{text}' of {name}: '{part}' must be a letter and one of {', '.join((*KINDS, _OUTER))}"
            )
        combiners[letter] = kind
    return split, combiners


def _read(text: str, operation: Operation) -> list[ShardingFactor]:
    terms, kinds = _split(text, operation.name)
    shapes = [shape_of(value) for value in (*operation.operands, *operation.results)]
    count = len(operation.operands)
    if len(terms) != len(shapes):
        raise RuleProblem(
            f"sharding rule '{text}' of {operation.name} has {len(terms)} terms, and the operation has {count} "
            f"operands and {len(operation.results)} results"
        )
    places: dict[str, list[Place]] = {}
    for value, (term, shape) in enumerate(zip(terms, shapes, strict=True)):
        for letter, dimension in _letters(term, shape, text, operation.name):
            places.setdefault(letter, []).append((value, dimension))
    return list(filter(None, (_factor(letter, at, shapes, count, kinds) for letter, at in places.items())))


def _letters(term: str, shape: Sequence[Dim], text: str, name: str) -> list[tuple[str, int]]:
    """Return the letter of each dimension that may be divided. Leading dimensions have numbers from the right."""
    match = _TERM.fullmatch(term)
    lead, letters = match.groups() if match else (None, "")
    if not term:
        return []
    ahead = len(shape) - len(letters)
    if ahead < 0 or (ahead and not lead):
        raise RuleProblem(
            f"sharding rule '{text}' of {name}: the term '{term}' is for {len(letters)} dimensions, got {len(shape)}"
        )
    names = [str(ahead - index) for index in range(ahead)] + list(letters)
    return [(name, index) for index, name in enumerate(names) if name != "_"]


def _factor(
    letter: str, places: Sequence[Place], shapes: Sequence[Sequence[Dim]], count: int, kinds: Mapping[str, str]
) -> ShardingFactor | None:
    sizes = {shapes[value][dimension] for value, dimension in places}
    is_result = any(value >= count for value, _ in places)
    if letter.isdigit() or len(sizes) > 1:
        # A dimension of size 1 broadcasts: every rank has it.
        places = [(value, dimension) for value, dimension in places if shapes[value][dimension] != 1]
        sizes.discard(1)
    kind = kinds.get(letter, "sum")
    if not sizes or None in sizes or (len(sizes) > 1 and kind != _OUTER):
        return None
    if is_result != any(value >= count for value, _ in places):
        return None  # a result of size 1 depends on all parts
    if not is_result and kind == _OUTER:
        return None  # without a result nothing combines the parts
    return ShardingFactor(tuple(places), tuple(sizes), "" if is_result else kind, kind == _OUTER)
