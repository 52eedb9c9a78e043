# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on Dask workers that are lost, hang, lack packages or have another version. No call is lost."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="workers are processes of the package distributed (relax-mlir[dask])")
from dask_workers import OTHER_VERSION, WITHOUT_COMPILER, WITHOUT_PACKAGE, DaskCluster, spent
from relax_mlir.support.errors import OptionError, RelaxError
from relax_mlir.support.version import VERSION
from relax_mlir_cluster import cluster as module
from relax_mlir_cluster.cluster import Cluster, RemoteCall
from relax_mlir_cluster.cluster_worker import end_idle, run_call
from relax_mlir_cluster.limited_process import LimitedProcess, answer_of

#: Processes of workers take seconds to start.
pytestmark = pytest.mark.slow


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[DaskCluster]:
    made = DaskCluster(tmp_path)
    yield made
    made.close()


def test_workers_that_do_not_fit_get_one_sentence_each(dask: DaskCluster) -> None:
    dask.add_worker("empty", startup=WITHOUT_PACKAGE)
    dask.add_worker("old", startup=OTHER_VERSION)
    dask.add_worker("a53-1", tag="a53", startup=WITHOUT_COMPILER)
    dask.add_worker("x86")
    dask.wait_for(4)
    told: list[str] = []
    cluster = Cluster(dask.address, told=told.append)
    try:
        roots = dict(cluster.outcomes(RemoteCall(math.sqrt, (float(each),)) for each in range(6)))
        assert [each.value for each in roots.values()] and {each.ended for each in roots.values()} == {""}
        assert sorted(call.arguments[0] for call in roots) == [0, 1, 2, 3, 4, 5]
        empty, old = sorted(told)
        assert "'empty' at tcp://" in empty and f"lacks relax-mlir {VERSION}" in empty
        assert f"has relax-mlir 0.0.9, expected {VERSION}" in old
        assert cluster.board_names() == ["a53", "a53-1", "empty", "old", "x86"]
        # Only the board without a compiler is left for the first call, only the other one for the second.
        on_board = RemoteCall(os.getenv, ("PYTHONPATH",), board="a53", needs_compiler=False)
        elsewhere = RemoteCall(os.getenv, ("PYTHONPATH",), not_board="a53")
        assert "start" in cluster.call(on_board) and cluster.call(elsewhere) == os.getenv("PYTHONPATH")
        with pytest.raises(OptionError, match=r"name or tag 'a54'; did you mean 'a53'\?; there are a53, a53-1, empty"):
            cluster.check_board("a54")
        with pytest.raises(RelaxError, match="'a53-1' lacks the compiler"):
            cluster.call(RemoteCall(math.sqrt, (1.0,), board="a53"))
    finally:
        cluster.close()


def test_a_crash_a_limit_and_no_memory_are_answers(dask: DaskCluster) -> None:
    dask.add_worker("x86")
    dask.wait_for(1)
    cluster = Cluster(dask.address)
    try:
        calls = [
            RemoteCall(time.sleep, (60,), limit=0.5),
            RemoteCall(os.abort),
            RemoteCall(bytearray, (1 << 34,), memory=2 << 30),
            RemoteCall(math.sqrt, (-1.0,)),
            RemoteCall(os._exit, (3,)),
        ]
        found = {call.function: answer for call, answer in cluster.outcomes(calls)}
        assert found[time.sleep].ended == "took more than 0.5 s"
        assert found[os.abort].ended == "the process crashed (SIGABRT)"
        assert found[os._exit].ended == "the process ended with 3"
        assert found[bytearray].ended == "exhausted the memory"
        assert isinstance(found[math.sqrt].error, ValueError)
        assert cluster.call(RemoteCall(math.sqrt, (4.0,))) == 2
        assert not cluster.notes
    finally:
        cluster.close()


def test_a_stopped_worker_and_a_killed_one_lose_no_call(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE", 1.0)
    monkeypatch.setattr(module, "_SILENCE", 100.0)
    stopped, killed = dask.add_worker("stopped"), dask.add_worker("killed")
    dask.wait_for(2)
    cluster = Cluster(dask.address)
    try:
        for name in ("stopped", "killed"):
            assert cluster.call(RemoteCall(math.sqrt, (4.0,), board=name)) == 2
        arguments = []
        for call, answer in cluster.outcomes(RemoteCall(divmod, (each, 5), limit=10.0) for each in range(40)):
            assert answer.get() == divmod(*call.arguments)
            arguments.append(call.arguments[0])
            if len(arguments) == 5:
                os.kill(stopped.pid, signal.SIGSTOP)
                dask.add_worker("late")
            if len(arguments) == 10:
                killed.kill()
        assert sorted(arguments) == list(range(40))
        assert any("'stopped'" in note and "does not answer" in note for note in cluster.notes)
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
        cluster.close()


def test_workers_that_stop_are_told_and_come_back(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only worker stops, and then goes on: the calls wait for it, and the wait is announced at once."""
    monkeypatch.setattr(module, "_SILENCE", 2.0)
    worker = dask.add_worker("x86")
    dask.wait_for(1)
    cluster = Cluster(dask.address)
    try:
        assert cluster.call(RemoteCall(math.sqrt, (4.0,))) == 2
        os.kill(worker.pid, signal.SIGSTOP)
        threading.Timer(8.0, os.kill, (worker.pid, signal.SIGCONT)).start()
        with pytest.warns(RuntimeWarning, match=r"'x86' at tcp://.* has not reported for [23] s, and gets no calls"):
            assert cluster.call(RemoteCall(math.sqrt, (9.0,))) == 3
        assert cluster.notes[-1].endswith("reports again")
        monkeypatch.setattr(module, "PATIENCE", 3.0)
        os.kill(worker.pid, signal.SIGSTOP)
        start = time.monotonic()
        with (
            pytest.warns(RuntimeWarning, match="'x86'"),
            pytest.raises(RelaxError, match=r"can work: 1 worker, 'x86' has not reported for [23] s"),
        ):
            cluster.call(RemoteCall(math.sqrt, (16.0,)))
        assert time.monotonic() - start < 20
    finally:
        os.kill(worker.pid, signal.SIGCONT)
        cluster.close()


def test_no_scheduler_and_no_workers(dask: DaskCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 1.5)
    cluster = Cluster(dask.address)
    try:
        with pytest.raises(RelaxError, match=r"no worker of 'tcp://.*' can work: no workers"):
            cluster.call(RemoteCall(math.sqrt, (4.0,)))
        with pytest.raises(OptionError, match="'a53'; there are no workers"):
            cluster.check_board("a53")
        dask.close()
        time.sleep(module._LOOK)
        with pytest.raises(RelaxError, match=r"scheduler at 'tcp://.*' is gone"):
            cluster.call(RemoteCall(math.sqrt, (4.0,)))
    finally:
        cluster.close()
    with pytest.raises(OptionError, match=r"no Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        Cluster("tcp://127.0.0.1:9")


def test_timed_calls_of_a_worker_do_not_overlap() -> None:
    answers: list[bytes] = []
    data = pickle.dumps((spent, (0.2,)))
    threads = [
        threading.Thread(target=lambda: answers.append(run_call(data, 20.0, None, None, True))) for _ in range(3)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    end_idle()
    times = sorted(answer_of(each).get() for each in answers)
    assert all(before[1] <= after[0] for before, after in pairwise(times))


def test_a_process_keeps_its_state_until_a_crash() -> None:
    process = LimitedProcess()
    try:
        first = process.call(os.getpid, limit=20).get()
        assert process.call(os.getpid, limit=20).get() == first != os.getpid()
        assert process.call(os.abort, limit=20).ended
        assert process.call(os.getpid, limit=20).get() not in (first, os.getpid())
    finally:
        process.close()
