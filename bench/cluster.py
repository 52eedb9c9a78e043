# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trials on many machines: overhead of a trial, and the number of boards that one Dask scheduler keeps busy.

    python bench/cluster.py [--trials 40] [--boards 1 10 25 50 100] [--seconds 20]

"overhead" is the time of a trial for the search beyond the seconds that its process compiles and measures. Boards are
simulated: workers that sleep for the time of a trial, 0.2 to 2 s, in processes of 25 workers each. "busy" is the share
of the time in which boards run a trial, "gap" the median time between two trials of a board. A trial of 0 s shows how
many trials a second scheduler and client carry.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

from relax_mlir.compilation.schedules import planned
from relax_mlir.runtime.cpu import cpu_name
from relax_mlir_cluster import cluster_worker
from relax_mlir_cluster.cluster import Cluster, RemoteCall
from relax_mlir_cluster.limited_process import Answer
from relax_mlir_tune.measuring import KernelJob
from relax_mlir_tune.runners import DaskRunner, LocalRunner, Runner
from relax_mlir_tune.space import Space
from relax_mlir_tune.tasks import tasks_of

import relax_mlir as rx
from relax_mlir import relax

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "python" / "helpers"))

from dask_workers import DaskCluster  # found by the line above

#: Fewest and most seconds of a simulated trial, and workers of a process.
_SHORTEST, _LONGEST, _WORKERS = 0.2, 2.0, 25
_TAG = "board"


def job_and_plans() -> tuple[KernelJob, tuple[str, ...]]:
    """Return a small product of matrices, and the plans that the target's rules choose."""
    with rx.Module() as module, module.function("main", [rx.tensor((64, 96)), rx.tensor((96, 80))]) as f:
        f.returns(relax.nn.relu(relax.matmul(*f)))
    (task,) = tasks_of(module, "llvm")
    kernel = rx.lower(task.module, "llvm", pipeline=planned(rx.stages("llvm")))
    return KernelJob(task.key, task.module.bytecode(), "llvm", 1), Space(kernel, "llvm").default


def overheads(runners: Sequence[Runner], trials: int) -> list[list[tuple[float, float]]]:
    """Return (overhead, own seconds) of trials that the runners measure in turns."""
    job, plans = job_and_plans()
    found: list[list[tuple[float, float]]] = [[] for _ in runners]
    for number in range(trials + 1):
        for runner, times in zip(runners, found, strict=True):
            start = time.perf_counter()
            (outcome,) = runner.measured(job, [plans], 3)
            seconds = time.perf_counter() - start
            if outcome.problem:
                raise SystemExit(outcome.problem)
            if number:  # the first trial starts the process
                times.append((seconds - outcome.seconds, outcome.seconds))
    return found


def show_overheads(trials: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dask = DaskCluster(Path(folder))
        dask.add_worker("worker")
        runners: list[Runner] = [LocalRunner(), DaskRunner(dask.address)]
        try:
            local, remote = overheads(runners, trials)
        finally:
            for each in runners:
                each.close()
            dask.close()
    print(f"{'overhead of a trial, ms':<26}{'median':>8}{'min':>8}{'trial':>8}")
    for name, times in (("process of this machine", local), ("Dask worker", remote)):
        over = [each * 1e3 for each, _ in times]
        own = statistics.median(each for _, each in times) * 1e3
        print(f"{name:<26}{statistics.median(over):>8.1f}{min(over):>8.1f}{own:>8.1f}", flush=True)


# ---- simulated boards ----


def sleep_for(seconds: float) -> None:
    """Stand for a trial. The simulated workers read the seconds only."""


def simulated(data: bytes, limit: float, memory: int | None, cpus: int | None, is_timed: bool) -> bytes:
    """Sleep for the seconds of a trial. Return the name of the board, and the start and end of the trial."""
    from distributed import get_worker

    _, (seconds,) = pickle.loads(data)
    start = time.monotonic()
    time.sleep(seconds)
    return pickle.dumps(Answer((str(get_worker().name), start, time.monotonic())))


async def host(address: str, first: int, count: int) -> None:
    """Run simulated boards in this process."""
    from distributed import Worker

    cluster_worker.run_call = simulated
    workers = [
        Worker(address, nthreads=1, name=f"board{number}", resources={_TAG: 1})
        for number in range(first, first + count)
    ]
    await asyncio.gather(*workers)
    await asyncio.gather(*(each.finished() for each in workers))


def trials_until(end: float, shortest: float, longest: float) -> Iterator[RemoteCall]:
    """Yield trials of random length until a time."""
    random = Random(0)
    while time.monotonic() < end:
        scale = 0.0 if longest == 0 else math.log(longest / shortest)
        seconds = shortest * math.exp(random.random() * scale)
        yield RemoteCall(sleep_for, (seconds,), board=_TAG, needs_compiler=False, is_timed=True)


def run_boards(count: int, seconds: float, shortest: float, longest: float) -> tuple[float, float, float]:
    """Return trials a second, the share of time in which boards are busy, and the median gap between trials."""
    with tempfile.TemporaryDirectory() as folder:
        dask = DaskCluster(Path(folder))
        hosts = [
            subprocess.Popen(
                [sys.executable, __file__, "--host", dask.address, str(first), str(min(_WORKERS, count - first))]
            )
            for first in range(0, count, _WORKERS)
        ]
        cluster = Cluster(dask.address)
        try:
            while cluster.width(_TAG) < count:
                time.sleep(0.2)
            # All boards answer once before the clock starts.
            for _ in cluster.outcomes(_warming(count)):
                pass
            rows = [
                answer.get()
                for _, answer in cluster.outcomes(trials_until(time.monotonic() + seconds, shortest, longest))
            ]
        finally:
            cluster.close()
            for each in hosts:
                each.kill()
            dask.close()
    return _summary(rows, count)


def _warming(count: int) -> Iterator[RemoteCall]:
    for _ in range(2 * count):
        yield RemoteCall(sleep_for, (0.1,), board=_TAG, needs_compiler=False, is_timed=True)


def _summary(rows: Sequence[tuple[str, float, float]], count: int) -> tuple[float, float, float]:
    boards: dict[str, list[tuple[float, float]]] = {}
    for name, start, end in rows:
        boards.setdefault(name, []).append((start, end))
    gaps, busy = [], 0.0
    for trials in boards.values():
        trials.sort()
        gaps += [after[0] - before[1] for before, after in pairwise(trials)]
        busy += sum(end - start for start, end in trials[1:])
    window = max(start for _, start, _ in rows) - min(start for _, start, _ in rows)
    return len(rows) / window, busy / (busy + sum(gaps)), statistics.median(gaps)


def show_boards(counts: Sequence[int], seconds: float) -> None:
    print(f"{'boards':>8}{'s a trial':>12}{'trials/s':>10}{'busy':>8}{'gap, ms':>9}")
    for count in counts:
        rate, busy, gap = run_boards(count, seconds, _SHORTEST, _LONGEST)
        print(f"{count:>8}{f'{_SHORTEST} to {_LONGEST}':>12}{rate:>10.1f}{busy:>8.1%}{gap * 1e3:>9.1f}", flush=True)
    rate, _, gap = run_boards(counts[-1], seconds, 0.0, 0.0)
    print(f"{counts[-1]:>8}{'0':>12}{rate:>10.1f}{'':>8}{gap * 1e3:>9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40, help="trials of each runner; 0 for none")
    parser.add_argument("--boards", type=int, nargs="*", default=[1, 10, 25, 50, 100])
    parser.add_argument("--seconds", type=float, default=20.0, help="time of each number of boards")
    parser.add_argument("--host", nargs=3, metavar=("ADDRESS", "FIRST", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.host:
        address, first, count = options.host
        asyncio.run(host(address, int(first), int(count)))
        return
    print(cpu_name())
    if options.trials:
        show_overheads(options.trials)
    if options.boards:
        show_boards(options.boards, options.seconds)


if __name__ == "__main__":
    main()
