# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of a rule of a user's target, and plans of products on GPUs, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import relax_mlir as rx
from gpu_emulator.driver import EmulatedCuda
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir_tune import tune
from relax_mlir_tune.decided import decided_schedule
from relax_mlir_tune.decisions import point_of, space_of
from relax_mlir_tune.measuring import KernelJob, Outcome, measure, prepare
from relax_mlir_tune.space import Plans, SearchSpace
from relax_mlir_tune.tasks import Task, tasks_of
from scheduled_gpu import code_of

CUDA = "cuda{arch=sm_80}"

rx.register_target(rx.Target("tune_rows", parents=("llvm",), doc="A CPU with a rule that has decisions."))


@rx.schedules.register_schedule(operator="relax.matmul", target="tune_rows")
def rows(function: Any, context: Any) -> Any:
    """Split the rows. Some numbers of rows have a mistake."""
    sch = context.schedule(function)
    product = next(block for tree in sch.trees() for block in tree.blocks() if block.is_reduction)
    i, j, k = sch.get_loops(product.name)
    count = sch.sample_categorical([1, 2, 4, 8, 16], default=4)
    if count == 1:
        return context.decline("one row is slow")
    if count == 8:
        raise ValueError("eight rows")
    if count == 16:
        sch.sample_categorical([1, 2])
    outer, inner = sch.split(i, [None, count])
    sch.reorder(outer, j, k, inner)
    sch.unroll(inner)
    return sch


def module_of(rows: int = 16) -> rx.Module:
    inputs = {"x": rx.tensor((rows, 24)), "w": rx.tensor((24, 40))}
    with rx.Module() as module, module.function("main", inputs) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    return module


def task_of(target: str, rows: int = 16) -> Task:
    (found,) = tasks_of(module_of(rows), target)
    return found


def job_of(task: Task, target: str) -> KernelJob:
    return KernelJob(task.key, task.module.bytecode(), target, 1)


def test_a_rule_by_wall_time() -> None:
    task = task_of("tune_rows")
    made = decided_schedule(task.module, "tune_rows")
    assert made is not None and (made.rule, made.taken) == ("rows", (2,))
    outcome = measure(job_of(task, "tune_rows"), point_of("rows", (1,)), 2)
    assert not outcome.problem and len(outcome.turns) == 2


@pytest.mark.parametrize(
    ("taken", "words"),
    [
        (0, "the rule 'rows' gives no schedule with these decisions: one row is slow"),
        (3, "schedule 'rows' of @fused_matmul_nn_relu: ValueError: eight rows"),
        (4, "the rule asks for more decisions than the 1 of the search"),
    ],
)
def test_a_rule_with_mistakes_loses_one_trial(taken: int, words: str) -> None:
    outcome = measure(job_of(task_of("tune_rows"), "tune_rows"), point_of("rows", (taken,)), 1)
    assert words in outcome.problem and "\n" not in outcome.problem and not outcome.turns


@pytest.fixture
def emulator() -> Iterator[EmulatedCuda]:
    library = EmulatedCuda(capability=(8, 0))
    with use_library(library):
        yield library
        prepare.cache_clear()


@pytest.fixture(scope="module")
def product() -> Task:
    return task_of(CUDA, rows=20)


@pytest.fixture(scope="module")
def space(product: Task) -> SearchSpace:
    return space_of(product.module, rx.lower(product.module, CUDA, pipeline=planned(rx.stages(CUDA))), CUDA)


def changed(space: SearchSpace, before: str, after: str) -> tuple[str, ...]:
    assert any(before in each for each in space.default), space.default
    return tuple(each.replace(before, after) for each in space.default)


def test_products_of_gpus(emulator: EmulatedCuda, product: Task, space: SearchSpace) -> None:
    """Other numbers of the rule's plan give the same bits, or a reason."""
    random, job = Random(0), job_of(product, CUDA)
    neighbours = {space.neighbour(space.default, random) for _ in range(20)}
    assert None not in neighbours and len(neighbours) > 5
    assert len({len(space.features(each)) for each in (space.default, *neighbours) if each is not None}) == 1
    for plans in (changed(space, "threads 0: 8", "threads 0: 4"), changed(space, "blocks 2: 16", "blocks 2: 8")):
        outcome = measure(job, plans, 1)
        assert outcome.turns and not outcome.problem
    assert "it has no loop 3" in measure(job, changed(space, "order 0 1 2", "order 3 0 1 2"), 1).problem
    emulator.check()


def test_files_have_plans_of_gpus(product: Task, space: SearchSpace, tmp_path: Path) -> None:
    plans = changed(space, "threads 0: 8", "threads 0: 4")
    kernel = TunedKernel(
        *(product.name, product.key, product.types, MachineFacts.of(space.machine), plans, space.default),
        Times(2.0, 1.0, 0.01),
    )
    kernel.write(tmp_path)
    codes = [code_of(rx.compile(module_of(20), CUDA, tuned=folder)) for folder in (False, tmp_path)]
    assert [".maxntid 64" in codes[0], ".maxntid 32" in codes[1]] == [True, True]


class EmulatedRunner:
    """Measures in this process, which has the emulator."""

    width = 1
    notes: Sequence[str] = ()

    def cpu(self) -> str:
        return "emulator"

    def measured(self, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        return (measure(job, each, 1) for each in plans)

    def close(self) -> None:
        """Nothing is open between trials."""


def test_searches_change_plans_of_gpus(emulator: EmulatedCuda, tmp_path: Path) -> None:
    found = tune(module_of(20), CUDA, trials=6, runner=EmulatedRunner(), folder=tmp_path)
    (search,) = (each.search for each in found.tasks)
    assert search is not None and len(search.outcomes) >= 5 and not found.wrong
    assert all(outcome.turns for outcome in search.outcomes.values())
    assert any("rule tuned" in plan for plans in search.outcomes for plan in plans)
    emulator.check()
