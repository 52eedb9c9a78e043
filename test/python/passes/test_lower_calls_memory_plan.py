# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Properties of places in the arena: tensors with overlapping lifetimes are disjoint, and no memory is wasted."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import Dim, sym
from relax_mlir.emit.memrefs import ALIGNMENT
from relax_mlir.passes.memory.lower_calls import arranging, memory_plan


class Life(NamedTuple):
    first: int
    last: int
    elements: int


@st.composite
def lives(draw: st.DrawFn, most: int = 300) -> list[Life]:
    """Draw lifetimes. At most one tensor is made at each position."""
    places = draw(st.lists(st.integers(1, 30), min_size=1, max_size=12, unique=True))
    return [Life(place, place + draw(st.integers(0, 12)), draw(st.integers(0, most))) for place in places]


def buffers_of(found: list[Life], dtype: str = "f32") -> list[memory_plan.PlannedBuffer]:
    return [memory_plan.PlannedBuffer(TensorInfo((each.elements,), dtype), each.first, each.last, ()) for each in found]


def padded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def most_alive(found: list[Life]) -> int:
    return max(sum(each.first <= place <= each.last for each in found) for place in range(50))


def live_together(one: memory_plan.PlannedBuffer, other: memory_plan.PlannedBuffer) -> bool:
    return one.first <= other.last and other.first <= one.last


@given(lives(), st.sampled_from(["f64", "f32", "i1", "i4"]))
def test_live_buffers_do_not_overlap(found: list[Life], dtype: str) -> None:
    made, buffers = memory_plan.MemoryPlan(), buffers_of(found, dtype)
    memory_plan._place_fixed(made, buffers)
    ends = []
    for each in buffers:
        assert isinstance(each.size, int) and each.offset is not None and each.offset % ALIGNMENT == 0, each
        ends.append(each.offset + padded(each.size))
    assert made.fixed_bytes == max(ends), "the arena ends behind the last tensor"
    for index, (one, end) in enumerate(zip(buffers, ends, strict=True)):
        for other, other_end in zip(buffers[:index], ends[:index], strict=True):
            shared = min(end, other_end) - max(one.offset or 0, other.offset or 0)  # bytes, if more than none
            assert shared <= 0 or not live_together(one, other), f"{one} over {other}"


@given(lives())
def test_tensors_of_one_size_take_no_more_than_lives_at_one_time(found: list[Life]) -> None:
    alike, made = [each._replace(elements=17) for each in found], memory_plan.MemoryPlan()
    memory_plan._place_fixed(made, buffers_of(alike))
    assert made.fixed_bytes == most_alive(alike) * padded(17 * 4)


@pytest.mark.parametrize(
    ("found", "offsets", "all_bytes"),
    [
        # The largest tensor is at the start, whenever it is made. The others use the free memory next to it.
        ([Life(1, 2, 16), Life(2, 9, 64), Life(3, 4, 32)], [256, 0, 256], 384),
        # Between two is room for a third.
        ([Life(1, 9, 64), Life(1, 2, 32), Life(2, 9, 16), Life(3, 9, 32)], [0, 256, 384, 256], 448),
        # Tensors with disjoint lifetimes share memory. A gap that is too small stays unused.
        ([Life(1, 9, 64), Life(1, 4, 32), Life(3, 9, 16), Life(5, 9, 40)], [0, 256, 448, 256], 512),
        # The first of equally large tensors.
        ([Life(5, 6, 16), Life(1, 5, 16), Life(2, 3, 16)], [64, 0, 64], 128),
    ],
)
def test_gaps(found: list[Life], offsets: list[int], all_bytes: int) -> None:
    made, buffers = memory_plan.MemoryPlan(), buffers_of(found)
    memory_plan._place_fixed(made, reversed(buffers))
    assert [each.offset for each in buffers] == offsets
    assert made.fixed_bytes == all_bytes


@given(lives(most=3), st.sampled_from(["f64", "f32", "i1"]))
def test_tensors_of_symbolic_size_lie_apart_in_one_slot(found: list[Life], dtype: str) -> None:
    """Place tensors of symbolic sizes, chosen by the drawn number.

    One symbol shares a slot, several do if this takes less memory.
    """
    sizes, made = (sym("n"), 3 * sym("n"), sym("m"), 40 * sym("m")), memory_plan.MemoryPlan()
    buffers = [
        memory_plan.PlannedBuffer(TensorInfo((sizes[life.elements],), dtype), life.first, life.last, ())
        for life in found
    ]
    memory_plan._place_symbolic(made, buffers)
    numbers = {"n": 7, "m": 1}
    places = [(evaluated(each.shift, numbers), evaluated(each.size, numbers)) for each in buffers]
    for index, (one, (start, size)) in enumerate(zip(buffers, places, strict=True)):
        assert one.slot is not None and start + size <= made.slots[one.slot].evaluate(numbers)
        assert start % memory_plan.storage_bytes(dtype) == 0
        for other, (other_start, other_size) in zip(buffers[:index], places, strict=False):
            is_shared = start < other_start + other_size and other_start < start + size
            assert one.slot != other.slot or not is_shared or not live_together(one, other), f"{one} over {other}"
    assert 1 <= len(made.slots) <= len({life.elements < 2 for life in found})


def evaluated(size: Dim, numbers: dict[str, int]) -> int:
    assert size is not None
    return size if isinstance(size, int) else size.evaluate(numbers)


@given(lives(), st.booleans())
def test_buffers_with_disjoint_lifetimes_leave_no_gaps(found: list[Life], is_symbolic: bool) -> None:
    """Place tensors of one size and of twice that size with disjoint lifetimes, without unused memory between them."""
    alike, made = [each._replace(elements=16 << each.elements % 2) for each in found], memory_plan.MemoryPlan()
    size = sym("n") if is_symbolic else 1
    types = [TensorInfo((each.elements * size,), "f32") for each in alike]
    buffers = [
        memory_plan.PlannedBuffer(info, each.first, each.last, ()) for info, each in zip(types, alike, strict=True)
    ]
    if is_symbolic:
        memory_plan._place_symbolic(made, buffers)
    else:
        memory_plan._place_fixed(made, buffers)
    alive = max(sum(4 * each.elements for each in alike if each.first <= place <= each.last) for place in range(50))
    total = made.slots[0].evaluate({"n": 1}) if is_symbolic else made.fixed_bytes
    assert alive <= total <= 1.5 * alive


def test_another_order_where_the_largest_first_takes_more() -> None:
    found = [Life(1, 3, 32), Life(2, 2, 64), Life(3, 5, 48), Life(4, 5, 64)]
    made, buffers = memory_plan.MemoryPlan(), buffers_of(found)
    memory_plan._place_fixed(made, buffers)
    sizes = {each: memory_plan.padded_size(each) for each in buffers}
    by_size = arranging._place_in_turn(sorted(buffers, key=lambda each: -sizes[each]), sizes)
    assert max(place + sizes[each] for each, place in by_size.items()) == 576
    assert made.fixed_bytes == arranging.most_alive(sizes) == 448


@pytest.mark.parametrize(("dtype", "expected"), [("i1", 1), ("i4", 1), ("ui8", 1), ("bf16", 2), ("f32", 4), ("i64", 8)])
def test_elements_take_whole_bytes(dtype: str, expected: int) -> None:
    assert memory_plan.storage_bytes(dtype) == expected
    assert memory_plan.PlannedBuffer(TensorInfo((3, 5), dtype), 1, 1, ()).size == 15 * expected
