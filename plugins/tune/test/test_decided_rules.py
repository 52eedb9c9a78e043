# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of rules of other targets: a user's target on the CPU, and the kernels of GPUs, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import relax_mlir as rx
from gpu_emulator.driver import EmulatedCuda
from relax_mlir import relax
from relax_mlir.runtime.cuda.driver import use_library
from relax_mlir.tuning import decided_schedule
from relax_mlir_tune.decisions import point_of
from relax_mlir_tune.measuring import Job, measure, prepare
from relax_mlir_tune.tasks import Task, tasks_of

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


def task_of(target: str, rows: int = 16) -> Task:
    inputs = {"x": rx.tensor((rows, 24)), "w": rx.tensor((24, 40))}
    with rx.Module() as module, module.function("main", inputs) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    (found,) = tasks_of(module, target)
    return found


def job_of(task: Task, target: str) -> Job:
    return Job(task.key, task.module.bytecode(), target, 1)


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


def test_products_of_gpus(emulator: EmulatedCuda) -> None:
    """The default is the shape of the rule's plan. Other shapes give the same bits, or a reason."""
    task = task_of(CUDA, rows=20)
    made = decided_schedule(task.module, CUDA)
    assert made is not None and made.rule == "steps_of_kernels"
    chosen = [each.values[each.taken] for each in made.decisions]  # type: ignore[union-attr,index]
    assert chosen == [4, 8, 1, 8, 16, 2], "rows, their threads, vectors, their threads, steps, stages"
    job, wide, long = job_of(task, CUDA), list(made.taken), list(made.taken)
    wide[2], long[3] = 1, 3
    for taken in (wide, long):
        outcome = measure(job, point_of(made.rule, taken), 1)
        assert outcome.turns and not outcome.problem
    large = (4, 5, 2, 5, 4, 3)
    assert "more than a block may have" in measure(job, point_of(made.rule, large), 1).problem
    emulator.check()
