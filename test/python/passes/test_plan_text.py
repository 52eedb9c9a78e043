# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of plans: it has all of a plan, and a module that is printed with its plans becomes the same code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from compiling import module_with
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.kernels.schedule.plan import (
    MASKED,
    SAFE,
    Dot,
    EpilogueOf,
    Panel,
    Parallel,
    Parts,
    Plan,
    Start,
    Tiles,
    parse_plan,
)
from relax_mlir.support.errors import RelaxError

import relax_mlir as rx
from relax_mlir import relax


@st.composite
def plans(draw: Any) -> Plan:
    """Any plan that text can say, whether it fits an operation or not."""
    members = draw(st.permutations(range(draw(st.integers(1, 6)))))
    cuts = sorted(draw(st.sets(st.integers(1, len(members)), max_size=len(members))) | {len(members)})
    loops = tuple(sorted(tuple(members[start:end]) for start, end in zip([0, *cuts], cuts, strict=False)))
    dims = range(len(loops))
    dim, count = st.sampled_from(dims), st.integers(1, 600)
    return Plan(
        order=tuple(draw(st.permutations(dims))),
        carried=draw(st.integers(0, len(loops))),
        vector=draw(dim),
        lanes=draw(count),
        tile=draw(st.dictionaries(dim, count)),
        loops=loops,
        blocks=tuple(draw(st.dictionaries(dim, count)).items()),
        square=draw(st.none() | dim),
        panel=draw(st.none() | st.builds(Panel, st.integers(0, 3), dim, count, st.booleans())),
        dot=draw(st.none() | st.builds(Dot, dim, count, st.booleans(), st.sampled_from(["", SAFE, MASKED]))),
        tiles=draw(st.none() | st.builds(Tiles, dim, count)),
        parallel=draw(st.none() | st.builds(Parallel, dim, st.none() | count)),
        rule=draw(st.sampled_from(["own", "matmul", "my-rule", "wide_2", "tile-8x8"])),
        threads=tuple(draw(st.dictionaries(dim, count)).items()),
        shared=tuple(draw(st.lists(st.integers(0, 3), max_size=3))),
        stages=draw(st.integers(1, 4)),
        instruction=draw(st.none() | st.just("m16n8k16")),
        parts=draw(st.none() | st.builds(Parts, dim, count, st.none() | count)),
    )


@given(plans())
def test_the_text_says_all_of_a_plan(plan: Plan) -> None:
    assert parse_plan(str(plan)) == plan
    assert parse_plan(str(plan).replace(" ", "  ").replace(";", " ;")) == plan


@given(st.text(alphabet="order vctx0123456789;:,()tilepanelblocks", max_size=40))
def test_other_text_is_refused_with_a_column(text: str) -> None:
    try:
        plan = parse_plan(text)
    except RelaxError as error:
        assert error.message.startswith("column ")
    else:
        assert parse_plan(str(plan)) == plan


def test_plans_without_loops_can_be_parsed() -> None:
    assert parse_plan("start") == Start()
    assert parse_plan(" epilogue  of 2") == EpilogueOf(2)
    assert str(EpilogueOf(2)) == "epilogue of 2" and str(Start()) == "start"


def test_the_text_of_a_plan_names_its_rule() -> None:
    assert str(Plan(order=(1, 0), vector=1, lanes=4)) == "order 1 0; vector 1 x 4; rule own"


def _attention(q: Any, k: Any, v: Any) -> Any:
    weights = relax.nn.softmax(relax.matmul(q, relax.permute_dims(k, axes=[0, 2, 1])), axis=-1)
    return relax.matmul(weights, v)


KERNELS: dict[str, tuple[list[Any], Callable[..., Any]]] = {
    "attention": ([rx.tensor(("b", "s", 24))] * 3, _attention),
    "product": (
        [rx.tensor((70, 1500)), rx.tensor((1500, 90)), rx.tensor((90,))],
        lambda x, w, b: relax.nn.gelu(relax.add(relax.matmul(x, w), b)),
    ),
    "row": ([rx.tensor((1, 64)), rx.tensor((64, 100))], relax.matmul),
    "convolution": (
        [rx.tensor((1, 3, 17, 17)), rx.tensor((8, 3, 3, 3)), rx.tensor((8, 1, 1))],
        lambda x, w, b: relax.nn.relu(relax.add(relax.nn.conv2d(x, w, padding=[1, 1, 1, 1]), b)),
    ),
    "norm": (
        [rx.tensor(("n", 7, 33)), rx.tensor((33,)), rx.tensor((33,))],
        lambda x, g, b: relax.nn.layer_norm(x, g, b, axes=[-1]),
    ),
    "turned": (
        [rx.tensor((2, 40, 24)), rx.tensor((2, 24, 40))],
        lambda x, y: relax.add(relax.permute_dims(x, axes=[0, 2, 1]), y),
    ),
    "halves": ([rx.tensor((20, 33), "float16"), rx.tensor((33, 40), "float16")], relax.matmul),
    "rows picked": ([rx.tensor((30, 8)), rx.tensor((7,), "int64")], lambda x, i: relax.take(x, i, axis=0)),
    "largest": ([rx.tensor((2, 30, 9))], lambda x: relax.argmax(x, axis=1)),
    "pool": ([rx.tensor((1, 4, 19, 19))], lambda x: relax.nn.max_pool2d(x, pool_size=[3, 3], strides=[2, 2])),
}


@pytest.mark.parametrize("name", KERNELS)
def test_printed_and_parsed_again_it_is_the_same_code(name: str) -> None:
    stages = rx.stages("llvm").until("calls")
    at_once = rx.lower(module_with(*KERNELS[name]), pipeline=stages)
    # With places, as code names them where it fails.
    planned = rx.lower(module_with(*KERNELS[name]), pipeline=stages.until("plan"))
    planned = planned.operation.get_asm(enable_debug_info=True)
    assert "tir.plan" in planned or "tir.unplanned" in planned
    again = rx.Module.parse(planned)
    replace(stages, stages=stages.stages[stages.names.index("plan") :]).run(again, "llvm")
    assert str(again) == str(at_once)
