# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials on a Dask cluster of local processes: one worker is killed and another joins late, and no trial is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir_tune import Progress, Tuning, tune

pytest.importorskip("distributed", reason="workers are processes of the package distributed (relax-mlir[dask])")
_TRIALS = 12


class Cluster:
    """Scheduler and workers in processes of their own."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []
        self._start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        log = self._processes[0].stderr
        assert log is not None
        line = next(line for line in log if "tcp://" in line)
        self.address = "tcp://" + line.rpartition("tcp://")[2].strip()
        # A full pipe would stop the scheduler.
        threading.Thread(target=log.read, daemon=True).start()

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-m", module, *arguments], stderr=subprocess.PIPE, text=True)
        self._processes.append(process)
        return process

    def add_worker(self) -> subprocess.Popen[str]:
        worker = self._start(
            *("distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
            *("--death-timeout", "60"),
        )
        assert worker.stderr is not None
        threading.Thread(target=worker.stderr.read, daemon=True).start()
        return worker

    def close(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def test_a_killed_worker_and_a_late_one(cluster: Cluster, tmp_path: Path) -> None:
    workers = [cluster.add_worker(), cluster.add_worker()]

    def change(progress: Progress) -> None:
        if progress.trial == 3 and len(workers) == 2:
            workers[0].kill()
            workers.append(cluster.add_worker())

    with rx.Module() as module:
        weights = numpy.random.default_rng(0).standard_normal((96, 80)).astype("float32")
        with module.function("main", {"x": rx.tensor((64, 96))}) as f:
            (x,) = f
            f.returns(relax.nn.relu(relax.matmul(x, relax.const(weights))))
    found: Tuning = tune(module, trials=_TRIALS, folder=tmp_path, scheduler=cluster.address, progress=change)
    assert len(workers) == 3, "the change happened"
    (task,) = found.tasks
    assert task.search is not None and len(task.search.outcomes) == _TRIALS
    assert not [each.problem for each in task.search.outcomes.values() if "worker" in each.problem]
    assert sum(bool(each.turns) for each in task.search.outcomes.values()) > _TRIALS / 2
