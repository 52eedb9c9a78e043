# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled patterns match like the search, and a rewrite is called wherever its pattern matches."""

from __future__ import annotations

import random
from typing import Any

import blocks
import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import built
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.passes.patterns.compiled import matcher
from relax_mlir.passes.patterns.operator_patterns import Op

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import (
    GraphPattern,
    is_call_tir,
    is_const,
    is_filled,
    is_op,
    match,
    matches_of,
    outputs,
    rewrite,
    wildcard,
)

add, relu = is_op("relax.add"), is_op("relax.nn.relu")


def operations(module: rx.Module) -> list[Any]:
    return [op for op in operations_in(module.operation) if op.name.startswith("relax.")]


def drawn(op: Any, source: random.Random, shared: list[GraphPattern], depth: int) -> GraphPattern:
    """Draw a pattern that mostly, but not always, matches an operation and its operands."""
    names = [op.name, source.choice(["relax.abs", "relax.subtract", op.name])][: source.randint(1, 2)]
    row = op.opview.definition
    pattern: Any = is_op(op.name if any(other.arity != "single" for other in row.operands) else source.choice(names))
    if source.random() < 0.3:
        pattern = pattern.in_order()
    if pattern.names == (op.name,) and source.random() < 0.8:
        pattern = _with_operands(pattern, op, source, shared, depth)
    return source.choice(_FORMS)(pattern) if len(op.results) == 1 else pattern


def _with_operands(pattern: Op, op: Any, source: random.Random, shared: list[GraphPattern], depth: int) -> Any:
    groups: list[Any] = []
    row, values = op.opview.definition, list(op.operands)
    sizes = list(op.attributes["operandSegmentSizes"]) if row.segmented else row.sizes_for(len(values))
    for operand, size in zip(row.operands, sizes, strict=True):
        group, values = values[:size], values[size:]
        parts = [_part(value, source, shared, depth) for value in group]
        groups.append(parts if operand.arity == "variadic" else parts[0] if parts else None)
    return pattern(*groups) if source.random() < 0.7 else pattern(*groups[:1], ...)


def _part(value: Any, source: random.Random, shared: list[GraphPattern], depth: int) -> GraphPattern:
    owner = getattr(value.owner, "operation", None)
    choice = source.random()
    if shared and choice < 0.25:
        return source.choice(shared)
    if owner is None or not owner.name.startswith("relax.") or depth == 0 or choice > 0.85:
        part = source.choice([wildcard(), wildcard().named("x"), is_const(), is_filled(), wildcard() | is_const()])
    else:
        part = drawn(owner, source, shared, depth - 1)
        if len(owner.results) > 1:
            assert isinstance(part, Op)
            part = part[value.result_number]
    shared.append(part)
    return part


_FORMS: list[Any] = [
    *[lambda pattern: pattern] * 3,
    lambda pattern: pattern.named("p"),
    lambda pattern: is_op("relax.abs") | pattern,
    lambda pattern: pattern.optional(lambda y: relu(y)) | pattern,
    lambda pattern: pattern.used_once(),
    lambda pattern: pattern.used_inside_only(),
    lambda pattern: pattern.has_dtype("floating"),
    lambda pattern: pattern.where(lambda found: len(found.operations) % 3 != 1),
]


@draws(60)
@given(seed=st.integers(0, 1 << 20), module=blocks.images() | blocks.sequences())
def test_compiled_patterns_match_like_the_search(seed: int, module: rx.Module) -> None:
    source = random.Random(seed)
    ops = operations(module)
    for op in ops:
        pattern = drawn(op, source, [], depth=3)
        asked = rewrite(pattern, lambda found: None)
        for other in {op, source.choice(ops)}:
            if other.name not in (pattern.heads or ()):
                continue
            is_across = source.random() < 0.5
            compiled = matcher(pattern, is_across)
            assert compiled is not None, pattern
            found, wanted = compiled(other), next(matches_of(pattern, other, is_across), None)
            assert (found is None) == (wanted is None), f"{pattern}\n{other}"
            if found is not None and wanted is not None:
                assert list(found._bound.items()) == list(wanted._bound.items()), f"{pattern}\n{other}"
                assert _is_asked(asked, other), f"{pattern}\n{other}"


def _is_asked(pattern: Any, op: Any) -> bool:
    owners = [getattr(value.owner, "operation", None) for value in op.operands]
    makers = tuple("" if owner is None else owner.name for owner in owners)
    return (not pattern.after or not {*pattern.after}.isdisjoint(makers)) and pattern.may_match(op.name, makers)


x, y = wildcard(), wildcard()


def test_a_rewrite_is_asked_where_each_operand_fits() -> None:
    def asked(pattern: GraphPattern, name: str, *makers: str) -> bool:
        asks = rewrite(pattern, lambda found: None).may_match
        assert asks is not None
        return asks(f"relax.{name}", makers)

    swapped, in_order = add(relu(x), is_const()), add.in_order()(relu(x), is_const())
    for pattern, other_way in ((swapped, True), (in_order, False)):
        assert asked(pattern, "add", "relax.nn.relu", "arith.constant")
        assert asked(pattern, "add", "arith.constant", "relax.nn.relu") is other_way
        assert not asked(pattern, "add", "relax.nn.relu", "")
        assert not asked(pattern, "add", "relax.nn.relu", "relax.nn.relu")
    either = relu(relu(x)) | is_op("relax.abs")(is_filled())
    assert asked(either, "abs", "relax.ones") and not asked(either, "nn.relu", "relax.ones")
    assert asked(is_op("relax.concat")([relu(x)]), "concat", "relax.abs")
    assert asked(add, "add", "", "") and not asked(add, "subtract", "", "")


@pytest.mark.parametrize(
    "pattern",
    [outputs(relu(x), is_op("relax.abs")(x)), relu(x).repeated(relu), is_call_tir("f"), relu(is_call_tir()(x))],
    ids=str,
)
def test_patterns_that_need_a_search_are_not_compiled(pattern: GraphPattern) -> None:
    assert matcher(pattern) is None


def test_one_of_several_results_is_identified_by_its_number() -> None:
    split = is_op("relax.split")(x)
    relus = [op for op in operations(built(_both_halves)) if op.name == "relax.nn.relu"]
    for pattern, fits in ((split, (False, False)), (split[0], (True, False)), (split[1], (False, True))):
        assert tuple(match(relu(pattern), op) is not None for op in relus) == fits, pattern


def _both_halves(a: Any, b: Any) -> Any:
    low, high = relax.split(a, 2, axis=0)
    return relax.nn.relu(low), relax.nn.relu(high)


def test_patterns_of_any_size() -> None:
    """Search for a pattern that is too deep for nested functions."""
    chain: GraphPattern = x
    for _ in range(300):
        chain = relu(chain)

    def body(a: Any, b: Any) -> Any:
        for _ in range(300):
            a = relax.nn.relu(a)
        return a

    found = match(chain, operations(built(body))[-1])
    assert found is not None and len(found.operations) == 300
