# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Positions of tensors in one region with sizes that grow with different symbols."""

from __future__ import annotations

from itertools import combinations, product
from random import Random

import pytest
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import Size, parse
from relax_mlir.dialects.core.symbols_expr import SymExpr
from relax_mlir.passes.memory.lower_calls.planned_buffer import PlannedBuffer
from relax_mlir.passes.memory.lower_calls.stacking import SizeGroup, Stack, plan_stack

_VALUES = [{"n": n, "m": m} for n, m in product((0, 1, 7, 64, 1000), repeat=2)]


def _groups(*tensors: tuple[str, int, int, int]) -> dict[SymExpr, SizeGroup]:
    """Return groups of tensors with sizes that are multiples of a unit, and with lifetimes."""
    groups: dict[SymExpr, SizeGroup] = {}
    for unit, count, first, last in tensors:
        size = parse(unit)
        assert isinstance(size, SymExpr)
        buffer = PlannedBuffer(TensorInfo((count, size), "i8"), first, last, ())
        group = groups.setdefault(size, SizeGroup({}, {}))
        group.counts[buffer], group.rooms[buffer] = count, -(-count // 8) * 8
    return groups


def _number(size: Size, values: dict[str, int]) -> int:
    return size if isinstance(size, int) else size.evaluate(values)


def _apart(groups: dict[SymExpr, SizeGroup], values: dict[str, int]) -> int:
    return sum(group.arrange()[1] * unit.evaluate(values) for unit, group in groups.items())


def _check(stack: Stack, groups: dict[SymExpr, SizeGroup]) -> None:
    rest = {unit: group.without(stack.places) for unit, group in groups.items()}
    for values in _VALUES:
        spans = {}
        for unit, group in groups.items():
            for buffer in group.counts.keys() & stack.places.keys():
                start = _number(stack.places[buffer], values)
                spans[buffer] = start, start + group.counts[buffer] * unit.evaluate(values)
        for one, other in combinations(spans, 2):
            if one.first <= other.last and other.first <= one.last:
                assert spans[one][1] <= spans[other][0] or spans[other][1] <= spans[one][0], values
        assert max(end for _, end in spans.values()) == _number(stack.end, values)
        assert _number(stack.end, values) + _apart(rest, values) <= _apart(groups, values)


def test_buffers_with_disjoint_lifetimes_share_memory() -> None:
    groups = _groups(("n", 64, 0, 9), ("n*n", 8, 3, 4), ("n", 256, 6, 7))
    stack = plan_stack(groups)
    assert stack is not None and sorted(map(str, stack.places.values())) == ["0", "64*n", "64*n"]
    assert str(stack.end) == "max(320*n, 64*n + 8*n*n)"
    _check(stack, groups)


def test_long_lived_tensors_have_their_own_memory() -> None:
    """Separate long-lived tensors: otherwise no tensor of another size is known to be above or below."""
    groups = _groups(
        ("n", 64, 0, 3), ("n*n", 8, 2, 90), ("n*n", 80, 3, 4), ("n", 256, 6, 7), ("n*n", 80, 8, 9), ("n", 128, 60, 99)
    )
    stack = plan_stack(groups)
    assert stack is not None and str(stack.end) == "max(256*n, 64*n + 80*n*n)" and len(stack.places) == 5
    _check(stack, groups)


@pytest.mark.parametrize(
    "tensors",
    [
        [("n", 64, 0, 9), ("n", 64, 3, 4)],
        [("n", 64, 0, 9), ("m", 64, 3, 4)],
        [("n", 64, 0, 1), ("max(n - 4, 0)", 64, 3, 4)],
        [("n", 64, 0, 1), ("n - m", 64, 3, 4)],
    ],
    ids=["one unit", "alive together", "no product", "less than nothing"],
)
def test_unsuitable_groups_have_no_stack(tensors: list[tuple[str, int, int, int]]) -> None:
    assert plan_stack(_groups(*tensors)) is None


def test_random_tensors() -> None:
    found = 0
    for seed in range(300):
        random = Random(seed)
        tensors = []
        for _ in range(random.randint(2, 14)):
            first = random.randrange(30)
            last = first + random.choice((0, 1, 2, 3, 20))
            tensors.append(
                (random.choice(("n", "n*n", "m", "n*m", "n + m")), random.choice((1, 8, 64, 100)), first, last)
            )
        groups = _groups(*tensors)
        stack = plan_stack(groups)
        if stack is not None:
            found += 1
            _check(stack, groups)
    assert found > 100
