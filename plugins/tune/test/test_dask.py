# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials on a Dask cluster of local processes: lost and late workers, boards without the compiler, bad input."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.compilation.schedules import planned
from relax_mlir.dialects.tir.prim_func import prim_funcs_in
from relax_mlir.passes.kernels.schedule.tuned_plans import MachineFacts, Times, TunedKernel, plans_of
from relax_mlir_tune import Progress, Tuning, tune
from relax_mlir_tune.files import measured_again
from relax_mlir_tune.measuring import KernelJob
from relax_mlir_tune.runners import DaskRunner
from relax_mlir_tune.space import machine_of
from relax_mlir_tune.tasks import tasks_of
from relax_mlir_tune.tool import run

pytest.importorskip("distributed", reason="workers are processes of the package distributed (relax-mlir[dask])")
from dask_workers import WITHOUT_COMPILER, WITHOUT_PACKAGE, DaskCluster

_TRIALS = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path)
    yield made
    made.close()


def product() -> rx.Module:
    with rx.Module() as module:
        weights = numpy.random.default_rng(0).standard_normal((96, 80)).astype("float32")
        with module.function("main", {"x": rx.tensor((64, 96))}) as f:
            (x,) = f
            f.returns(relax.nn.relu(relax.matmul(x, relax.const(weights))))
    return module


def test_tuning_survives_a_killed_worker_and_uses_a_late_worker(cluster: DaskCluster, tmp_path: Path) -> None:
    workers = [cluster.add_worker(), cluster.add_worker()]
    cluster.wait_for(2)

    def change(progress: Progress) -> None:
        if progress.trial == 3 and len(workers) == 2:
            workers[0].kill()
            workers.append(cluster.add_worker())

    found: Tuning = tune(product(), trials=_TRIALS, folder=tmp_path, scheduler=cluster.address, progress=change)
    assert len(workers) == 3, "the change happened"
    (task,) = found.tasks
    assert task.search is not None and len(task.search.outcomes) == _TRIALS
    assert not [each.problem for each in task.search.outcomes.values() if "worker" in each.problem]
    assert sum(bool(each.turns) for each in task.search.outcomes.values()) > _TRIALS / 2


def test_a_board_without_the_compiler_measures(cluster: DaskCluster, tmp_path: Path) -> None:
    """Other workers compile; the worker without the package gets no trials, and the search goes on."""
    cluster.add_worker("a53-1", tag="a53", startup=WITHOUT_COMPILER)
    cluster.add_worker("x86")
    cluster.add_worker("empty", startup=WITHOUT_PACKAGE)
    cluster.wait_for(3)
    found = tune(product(), trials=4, folder=tmp_path / "tuned", scheduler=cluster.address, board="a53")
    (task,) = found.tasks
    assert task.search is not None and len(task.search.outcomes) == 4
    outcomes = list(task.search.outcomes.values())
    assert sum(bool(each.turns) for each in outcomes) >= 2, [each.problem for each in outcomes]
    assert not found.wrong
    assert all(each.seconds > 0 for each in outcomes if each.turns)
    assert [each for each in found.notes if "'empty'" in each and "lacks relax-mlir" in each]


def test_the_host_compiles_for_a_board_without_workers(cluster: DaskCluster) -> None:
    cluster.add_worker("a53-1", tag="a53", startup=WITHOUT_COMPILER)
    cluster.wait_for(1)
    runner = DaskRunner(cluster.address, "a53", limit=240)
    try:
        (task,) = tasks_of(product(), "llvm")
        job = KernelJob(task.key, task.module.bytecode(), "llvm", 1)
        (outcome,) = runner.measured(job, [("start",)], 1)
        assert "operations, but" in outcome.problem
        (default,) = tasks_of(product(), "llvm{triple=riscv64-linux-gnu}")
        foreign = KernelJob(default.key, default.module.bytecode(), "llvm{triple=riscv64-linux-gnu}", 1)
        (outcome,) = runner.measured(foreign, [planned_of(foreign)], 1)
        assert outcome.problem.startswith("the code is for riscv64")
    finally:
        runner.close()


def test_replay_measures_on_a_board(cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.add_worker("a53-1", tag="a53", startup=WITHOUT_COMPILER)
    cluster.wait_for(1)
    (task,) = tasks_of(product(), "llvm")
    plans = planned_of(KernelJob(task.key, task.module.bytecode(), "llvm", 1))
    facts = MachineFacts.of(machine_of("llvm"))
    kernel = TunedKernel(task.name, task.key, task.types, facts, plans, plans, Times(10.0, 9.0, 0.01))
    again = tmp_path, product(), "llvm", {}, {}, "f32", 1, cluster.address
    path = kernel.write(tmp_path)
    with pytest.raises(rx.RelaxError, match="has the name or tag 'a72'; there are a53, a53-1"):
        measured_again(*again, "a72")
    assert Path(path).exists()
    assert re.search(r"[0-9]\.[0-9]{3} +removed", measured_again(*again, "a53"))
    assert not Path(path).exists()


def planned_of(job: KernelJob) -> tuple[str, ...]:
    """Return the plans of the target's rules."""
    module = rx.lower(rx.Module.parse(job.module), job.target, pipeline=planned(rx.stages(job.target)))
    return plans_of(prim_funcs_in(module.operation)[0])


def test_bad_boards_are_one_line(cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.add_worker("x86")
    cluster.wait_for(1)
    (tmp_path / "model.mlir").write_text(str(product()))
    for options, words in (
        ([f"--scheduler={cluster.address}", "--board=a53"], "has the name or tag 'a53'; there are x86"),
        (["--board=a53"], "board='a53' is a worker of a Dask scheduler: pass scheduler="),
    ):
        out, err = io.StringIO(), io.StringIO()
        code = run([str(tmp_path / "model.mlir"), "-o", str(tmp_path / "tuned"), *options], out, err)
        assert code == 1 and words in err.getvalue() and err.getvalue().startswith("relax-tune: error: ")
