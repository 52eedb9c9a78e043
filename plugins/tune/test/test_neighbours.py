# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of kernels with the same operations at other sizes, which a search tries first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.passes.kernels.schedule.plan import Plan, parse_plan
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel
from relax_mlir_tune import tune
from relax_mlir_tune.files import kernels_in
from relax_mlir_tune.measuring import KernelJob, Outcome
from relax_mlir_tune.neighbours import neighbouring_plans, structure_of
from relax_mlir_tune.random_plans import check_random_plans, random_plans
from relax_mlir_tune.runners import LocalRunner
from relax_mlir_tune.search import KernelSearch
from relax_mlir_tune.space import Plans, Space
from relax_mlir_tune.tasks import Task, tasks_of

TARGET = "llvm{cpu=haswell}"


def product(rows: int, depth: int, columns: int, activation: bool = True) -> rx.Module:
    shapes = [rx.tensor((rows, depth)), rx.tensor((depth, columns))]
    with rx.Module() as module, module.function("main", shapes) as f:
        x, w = f
        made = relax.matmul(x, w)
        f.returns(relax.nn.relu(made) if activation else made)
    return module


def task_of(module: rx.Module) -> Task:
    (task,) = tasks_of(module, TARGET)
    return task


def space_of(task: Task) -> Space:
    return Space(rx.lower(task.module, TARGET, pipeline=planned(rx.stages(TARGET))), TARGET)


def tuned_kernel(*sizes: int, **changes: object) -> TunedKernel:
    """Return a product's kernel, with a changed plan of its reduction."""
    task = task_of(product(*sizes))
    space = space_of(task)
    (choice,) = [each for each in space.choices if isinstance(parse_plan(space.default[each.place]), Plan)]
    plan = parse_plan(space.default[choice.place])
    assert isinstance(plan, Plan)
    plans = list(space.default)
    plans[choice.place] = str(replace(plan, rule="tuned", **changes))  # type: ignore[arg-type]  # fields of a plan
    assert space.fits(plans)
    facts = MachineFacts.of(space.machine)
    found = TunedKernel(task.name, task.key, task.types, facts, tuple(plans), space.default, Times(2.0, 1.0, 0.0))
    return replace(found, structure=structure_of(task.module))


def neighbours(kernel: TunedKernel, *sizes: int) -> tuple[Space, list[Plans]]:
    task = task_of(product(*sizes))
    space = space_of(task)
    return space, neighbouring_plans(space, task.key, structure_of(task.module), task.types, [kernel])


def test_structures_depend_on_operations_not_on_sizes() -> None:
    one, other = (structure_of(task_of(product(*sizes)).module) for sizes in ((64, 96, 80), (31, 7, 200)))
    assert one == other != structure_of(task_of(product(64, 96, 80, activation=False)).module)


def test_plans_of_another_size_come_first() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={0: 2, 1: 2})
    assert neighbours(kernel, 60, 96, 80)[1] == [kernel.plans]


def test_a_panel_of_the_whole_loop_follows_the_extent() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={0: 2, 1: 2})
    space, found = neighbours(kernel, 60, 100, 80)
    assert found == [tuple(each.replace("2: 96", "2: 100") for each in kernel.plans)] and space.fits(found[0])


def test_plans_that_are_the_default_are_left_out() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={1: 2, 0: 6})
    assert neighbours(kernel, 60, 96, 80)[1] == []


def test_long_tiles_are_clipped() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={0: 8, 1: 1})
    space, (plans,) = neighbours(kernel, 3, 96, 80)
    plan = next(plan for text in plans if isinstance(plan := parse_plan(text), Plan))
    assert plan.tile[0] == 3 and space.fits(plans)


def test_kernels_of_other_machines_and_the_kernel_itself_are_left_out() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={0: 2, 1: 2})
    other = replace(kernel, machine=kernel.machine._replace(vector_bytes=16))
    assert neighbours(other, 60, 100, 80)[1] == [] == neighbours(kernel, 64, 96, 80)[1]
    assert neighbours(replace(kernel, structure=""), 60, 100, 80)[1] == []


def test_a_search_measures_them_first() -> None:
    kernel = tuned_kernel(64, 96, 80, tile={0: 2, 1: 2})
    space, found = neighbours(kernel, 60, 100, 80)
    measured: list[Plans] = []

    def measure(plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        measured.extend(plans)
        return iter([Outcome(each, ((1.0, 1.0),) * turns) for each in plans])

    KernelSearch(space, Random(0), first=found).run(6, measure, lambda: False)
    assert measured[0] == found[0] and len(measured) == 6


def test_a_tuned_folder_serves_other_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Plans] = []

    def faster(self: LocalRunner, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        measured.extend(plans)
        return iter([Outcome(each, ((1.0, 0.5),) * turns) for each in plans])

    monkeypatch.setattr(LocalRunner, "measured", faster)
    tune(product(64, 96, 80), TARGET, trials=4, folder=tmp_path)
    ((kernel,), _) = kernels_in(tmp_path)
    measured.clear()
    found = tune(product(72, 96, 80), TARGET, trials=4, folder=tmp_path)
    assert found.tasks[0].search is not None and kernel.structure
    first = found.tasks[0].search.first
    # The default is measured before, for the kernel's share of the time.
    assert len(first) == 1 and measured[1] == first[0]


# ---- random plans ----


def test_random_plans_fit_and_differ() -> None:
    space = space_of(task_of(product(33, 40, 17)))
    found = random_plans(space, 12, Random(0))
    assert len(set(found)) == len(found) > 6 and space.default not in found
    assert all(map(space.fits, found))


def test_wrong_random_plans_are_told_with_a_repro(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: LocalRunner, job: KernelJob, plans: Sequence[Plans], turns: int) -> Iterator[Outcome]:
        return iter([Outcome(each, problem="the results differ", is_wrong=True) for each in plans])

    monkeypatch.setattr(LocalRunner, "measured", wrong)
    told: list[str] = []
    found = check_random_plans(10, seed=3, tell=told.append)
    assert found.plans == len(found.wrong) == 10 and told == found.wrong
    assert "the results differ" in told[0] and "operation 0: " in told[0] and "func.func" in told[0]
    assert found.summary().startswith("10 plans of ")


def test_random_plans_are_right() -> None:
    found = check_random_plans(4, seed=5)
    assert found.plans == 4 and not found.wrong, found.wrong
