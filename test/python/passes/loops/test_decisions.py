# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of rules: defaults without a search, the decisions of a search, and text that replays them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from relax_mlir.compilation.schedules import until_rules
from relax_mlir.passes.kernels.loops.decisions import CategoricalDecision, TileDecision
from relax_mlir.passes.kernels.schedule.constant_arguments import callers_in
from relax_mlir_tune.decided import decided_schedule
from relax_mlir_tune.kernel_module import module_of_kernel

import relax_mlir as rx
from relax_mlir import relax

TARGET = "decisions_test"
rx.register_target(rx.Target(TARGET, parents=("llvm",), doc="A CPU with a rule that has decisions."))
#: Steps of the rule that runs.
_STEPS: list[Callable[[Any, Any, Any], None]] = []


@rx.schedules.register_schedule(operator="relax.matmul", target=TARGET)
def by_steps(function: Any, context: Any) -> Any:
    sch = context.schedule(function)
    (block,) = [block for tree in sch.trees() for block in tree.blocks() if block.is_reduction]
    i, j, _ = sch.get_loops(block.name)
    _STEPS[-1](sch, i, j)
    return sch


def decided(sch: Any, i: Any, j: Any) -> None:
    sch.split(i, sch.sample_perfect_tile(i, 2, default=[None, 4]))
    sch.split(j, [None, sch.sample_categorical([4, 8, 16], default=8)])


def splits(rows: list[int | None], columns: list[int | None]) -> Callable[[Any, Any, Any], None]:
    """Return steps with these factors."""

    def split(sch: Any, i: Any, j: Any) -> None:
        sch.split(i, rows)
        sch.split(j, columns)

    return split


fixed = splits([None, 4], [None, 8])


def undecided(sch: Any, i: Any, j: Any) -> None:
    sch.split(i, sch.sample_perfect_tile(i, 3, max_innermost_factor=8))
    sch.copy().sample_categorical([3, 5])
    sch.split(j, [None, sch.sample_categorical([4, 8], probs=[0.0, 1.0])])


def module() -> rx.Module:
    with rx.Module() as made, made.function("main", {"x": rx.tensor((16, 24)), "w": rx.tensor((24, 32))}) as f:
        f.returns(relax.matmul(*f))
    return made


@pytest.fixture
def kernel() -> rx.Module:
    lowered = rx.lower(module(), TARGET, pipeline=until_rules(rx.stages(TARGET)))
    (callers,) = callers_in(lowered.operation).values()
    return module_of_kernel(callers.function, callers.calls[0])


def lowered_by(steps: Callable[[Any, Any, Any], None], **options: Any) -> str:
    _STEPS[:] = [steps]
    return str(rx.lower(module(), TARGET, **options))


def test_defaults_give_the_same_code() -> None:
    assert lowered_by(decided) == lowered_by(fixed)


def test_a_rule_draws_nothing() -> None:
    """Without a default: the largest last factor, and the first number."""
    assert lowered_by(undecided) == lowered_by(splits([2, 1, 8], [None, 4]))


def test_a_single_factor_is_the_extent() -> None:
    def single(sch: Any, i: Any, j: Any) -> None:
        assert [int(each) for each in sch.sample_perfect_tile(i, 1)] == [16]
        fixed(sch, i, j)

    assert lowered_by(single) == lowered_by(fixed)


def test_a_search_decides(kernel: rx.Module) -> None:
    _STEPS[:] = [decided]
    made = decided_schedule(kernel, TARGET)
    assert made is not None and made.rule == "by_steps"
    assert made.decisions == (TileDecision(16, 2, 16, (4, 4), (4, 4)), CategoricalDecision((4, 8, 16), 1, 1))
    other = decided_schedule(kernel, TARGET, "by_steps", [(2, 8), 2])
    assert other is not None and other.taken == ((2, 8), 2)
    assert lowered_by(fixed) != lowered_by(splits([2, 8], [2, 16]))


def test_the_text_is_a_schedule(kernel: rx.Module) -> None:
    _STEPS[:] = [decided]
    other = decided_schedule(kernel, TARGET, "by_steps", [(2, 8), 2])
    assert other is not None
    by_text = lowered_by(fixed, schedules={"matmul": "\n".join(other.steps)})
    assert by_text == lowered_by(splits([2, 8], [2, 16]))


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        ([], "the rule asks for more decisions than the 0 of the search"),
        ([(4, 4), 1, 1], "asks for 2 decisions, expected 3"),
        ([(4, 4), 3], "the decision 3 is none of the 3 numbers"),
        ([(4, 4), -1], "the decision -1 is none of the 3 numbers"),
        ([(4, 5), 1], r"the decision \[4, 5\] is not 2 numbers with the product 16"),
        ([(1, 2, 8), 1], r"the decision \[1, 2, 8\] is not 2 numbers"),
    ],
)
def test_refusals(kernel: rx.Module, decisions: list[Any], words: str) -> None:
    _STEPS[:] = [decided]
    with pytest.raises(rx.RelaxError, match=words):
        decided_schedule(kernel, TARGET, "by_steps", decisions)


def test_a_kernel_by_plans_has_no_decisions(kernel: rx.Module) -> None:
    assert decided_schedule(kernel, "llvm") is None


def test_a_seed_draws_without_a_default() -> None:
    """Outside of rules the number is drawn, as in TVM, unless there is a default."""
    _STEPS[:] = [decided]
    lowered = rx.lower(module(), "llvm", pipeline=until_rules(rx.stages("llvm")))
    text = str(lowered)
    drawn = {int(rx.Schedule(rx.Module.parse(text), seed=seed).sample_categorical([1, 2, 3])) for seed in range(20)}
    assert drawn == {1, 2, 3}
    assert {
        int(rx.Schedule(rx.Module.parse(text), seed=seed).sample_categorical([1, 2, 3], default=2)) for seed in range(5)
    } == {2}
