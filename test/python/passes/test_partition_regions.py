# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plan by cost: connected matches after each change, and the time for a long graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import built, codegen
from relax_mlir.bindings.navigation import body_of, functions_in, operations_of
from relax_mlir.passes.graph.partition.outline import Order, OutlinedPart
from relax_mlir.passes.graph.partition.regions import Edge, Regions

import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.patterns import is_op, wildcard

CODEGENS = "aab"


def counted(edges: Sequence[Collection[int]], there: set[int], asked: Collection[int]) -> Counter[str]:
    """Count the regions at some of the edges. An edge names its members; i belongs to CODEGENS[i % 3]."""
    regions = [{each} for each in there]
    for edge in edges:
        for name in set(CODEGENS):
            here = {each for each in edge if each in there and CODEGENS[each % 3] == name}
            touched = [region for region in regions if region & here]
            regions = [region for region in regions if not region & here]
            regions += [set().union(*touched)] if touched else []
    near = {each for number in asked for each in edges[number]}
    return Counter(CODEGENS[next(iter(region)) % 3] for region in regions if region & near)


@draws(300)
@given(
    st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=3), min_size=1, max_size=14),
    st.lists(st.tuples(st.sets(st.integers(0, 11), max_size=3), st.integers(0, 12), st.booleans()), max_size=12),
)
def test_regions_are_those_of_the_graph(at: list[set[int]], changes: list[tuple[set[int], int, bool]]) -> None:
    edges = [Edge(0, None, len(each)) for each in at]
    of = [[number for number, each in enumerate(at) if candidate in each] for candidate in range(12)]
    regions = Regions([[edges[number] for number in each] for each in of], [CODEGENS[i % 3] for i in range(12)], "ab")
    there = set(range(0, 12, 2))

    def move(gone: Collection[int], come: Collection[int]) -> None:
        for each in gone:
            for number in of[each]:
                edges[number].take_back(each, each, CODEGENS[each % 3])
        for each in come:
            for number in of[each]:
                edges[number].give(each, each, CODEGENS[each % 3])

    move((), there)
    regions.begin(sorted(there))
    for gone, added, is_made in changes:
        gone &= there
        come = {added} - {12} if added not in there else set()
        asked = sorted({number for each in gone | come for number in of[each]})
        touched = [edges[number] for number in asked]
        assert regions.at(touched) == counted(at, there, asked)
        move(gone, come)
        fewest = regions.after(touched, gone, *(come or (None,)), exact=False)
        change = regions.after(touched, gone, *(come or (None,)), exact=True)
        after = there - gone | come
        assert change.counts == counted(at, after, asked)
        assert fewest.counts <= change.counts
        if is_made:
            regions.made(change, gone, *(come or (None,)))
            there = after
        else:
            move(come, gone)
    everywhere = regions.at(edges)
    assert everywhere == counted(at, there, range(len(at)))


def chain(count: int) -> rx.Module:
    def body(x: Any, y: Any) -> Any:
        for _ in range(count // 4):
            x = relax.add(relax.tanh(relax.exp(x)), relax.negative(y))
        return x

    return built(body)


@pytest.mark.parametrize("explains", [False, True], ids=["", "explained"])
def test_a_long_graph_takes_no_time_that_grows_with_the_square(explains: bool) -> None:
    first = [("npu.any", is_op("relax.exp", "relax.tanh", "relax.add"))]
    second = [
        ("cpu.two", is_op("relax.tanh")(is_op("relax.exp")(wildcard()))),
        ("cpu.negative", is_op("relax.negative")),
    ]
    took = {}
    with codegen(first, call_cost=lambda _: 1e-6) as npu, codegen(second, "cpu", call_cost=lambda _: 2e-6) as cpu:
        for count in (400, 1600):
            module, plan = chain(count), rx.Partition(codegens=(npu, cpu), plan="cost", explain=explains)
            start = time.process_time()
            with rx.Journal().recording():
                rx.Pipeline([plan]).run(module)
            took[count] = time.process_time() - start
    assert took[1600] < 8 * took[400]


def test_readers_of_a_call_follow_the_call() -> None:
    """Place a reader behind the call, for any operation of the call that it reads."""

    def body(x: Any, y: Any) -> Any:
        first = relax.exp(x)
        return relax.tanh(first), relax.multiply(relax.negative(first), relax.sqrt(y))

    module = built(body)
    (function,) = functions_in(module.operation)
    order = Order(body_of(function))
    named = {op.name: op for op in operations_of(body_of(function))}
    part = OutlinedPart([named["relax.exp"], named["relax.multiply"], named["relax.negative"]], order)
    call = part.outline("taken", part.arguments(bind_constants=False), {}, before=function)
    assert [op.name for op in order.sort_by_graph([named["relax.tanh"], call])] == ["func.call", "relax.tanh"]
