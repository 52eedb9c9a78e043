# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Worker processes: their results come back, crashes are reported, and no worker outlives its parent."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from relax_mlir.support.errors import RelaxError
from relax_mlir.support.processes.background import BackgroundRun
from relax_mlir.support.processes.pool import Pool, PoolCall

FUNCTIONS = """
import os, signal, sys, time
from relax_mlir.support.errors import RelaxError

def reverse(data, *, times=1):
    print("nobody reads this", flush=True)
    return data[::-1] if times % 2 else data

def pid(data):
    time.sleep(0.05)
    return str(os.getpid()).encode()

def once(data):
    if os.path.exists(data):
        return b"again"
    open(data, "w").close()
    return b"first"

def meet(data):  # until two processes have been here
    open(os.path.join(data.decode(), str(os.getpid())), "w").close()
    while len(os.listdir(data)) < 2:
        time.sleep(0.01)
    return str(os.getpid()).encode()

def nap(data):
    open(data, "w").close()
    time.sleep(9**9)

def refuse(data):
    raise RelaxError("cannot do it", notes=["do it so"])

def out_of_memory(data):
    raise MemoryError

def abort(data):
    os.write(2, b"LLVM ERROR: it broke\\nStack dump:\\n")
    os.abort()

def kill(data):
    os.kill(os.getpid(), signal.SIGKILL)

def leave(data):
    sys.exit("had enough")
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    (tmp_path / "functions_of_test.py").write_text(FUNCTIONS)
    monkeypatch.syspath_prepend(str(tmp_path))
    pool = Pool()
    yield pool
    pool.end()


def call(name: str, data: bytes = b"", **arguments: int) -> PoolCall:
    return PoolCall(f"functions_of_test:{name}", data, arguments, f"kernel '{name}'", "node 7")


def run(pool: Pool, jobs: int, *calls: PoolCall) -> list[bytes]:
    results: dict[int, bytes] = {}
    pool.run(calls, jobs, lambda index, data, seconds: results.update({index: data}))
    return [results[index] for index in range(len(calls))]


def children() -> set[int]:
    """Return the child processes of this one."""
    found = set[int]()
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the process has ended since
            found |= set(map(int, (thread / "children").read_text().split()))
    return found


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pids: set[int]) -> None:
    limit = time.monotonic() + 600
    while not all(map(is_gone, pids)):
        assert time.monotonic() < limit, f"{pids} are still there"
        time.sleep(0.02)


def test_results_by_their_places(pool: Pool) -> None:
    data = [os.urandom(size) for size in (0, 1, 70_000, 3_000_000, 5)]
    assert run(pool, 3, *(call("reverse", each) for each in data)) == [each[::-1] for each in data]
    assert run(pool, 2, call("reverse", b"abc", times=2)) == [b"abc"]


def test_workers_are_kept_for_the_next_work(pool: Pool, tmp_path: Path) -> None:
    meetings = [tmp_path / "first", tmp_path / "second"]
    for each in meetings:
        each.mkdir()
    first, second = (set(run(pool, 2, *[call("meet", str(each).encode())] * 6)) for each in meetings)
    assert len(first) == 2 and second == first
    assert len(set(run(pool, 8, *[call("pid")] * 3))) <= 3  # no more than there is to do
    assert pool.idle_count() == 3, "the processes are not kept for the next work"


def test_early_starts(pool: Pool) -> None:
    pool.prepare(2, "functions_of_test")
    assert pool.idle_count() == 2
    early = {str(pid).encode() for pid in children()}
    assert set(run(pool, 2, *[call("pid")] * 6)) <= early


def test_calls_that_begin_early(pool: Pool, tmp_path: Path) -> None:
    """Reuse early calls that a run wants, finished or not, and forget the others."""
    begun = [tmp_path / name for name in ("wanted", "forgotten")]
    calls = [call("once", str(path).encode()) for path in begun]
    pool.prepare(2, "functions_of_test", calls)
    heard: list[int] = []
    results: dict[int, bytes] = {}
    wanted = [call("reverse", b"abc"), calls[0], call("reverse", b"de")]
    pool.run(wanted, 2, lambda index, data, seconds: results.update({index: data}), heard.append)
    assert results == {0: b"cba", 1: b"first", 2: b"ed"}
    assert sorted(heard) == [0, 1, 2]
    assert run(pool, 2, calls[0]) == [b"again"], "what was made early was given to two runs"
    assert all(path.exists() for path in begun)
    assert pool.idle_count() == 2


def test_a_call_that_fails_early_is_reported_by_the_run_that_wants_it(pool: Pool) -> None:
    pool.prepare(1, "functions_of_test", [call("refuse")])
    with pytest.raises(RelaxError, match="node 7: kernel 'refuse': cannot do it"):
        run(pool, 1, call("refuse"))


def in_background(pool: Pool, *batches: list[PoolCall]) -> dict[int, bytes]:
    results: dict[int, bytes] = {}
    run = BackgroundRun(pool, 2)
    for batch in batches:
        run.add(batch)
        time.sleep(0.05)  # which workers may use
    run.finish(lambda index, data, seconds: results.update({index: data}), lambda index: None)
    return results


def test_calls_that_come_while_others_run(pool: Pool, tmp_path: Path) -> None:
    early = call("once", str(tmp_path / "early").encode())
    pool.prepare(1, calls=[early])
    calls = [call("reverse", b"ab"), call("reverse", b"cd"), call("reverse", b"ef")]
    assert in_background(pool, [], calls[:2], [calls[2], early]) == {0: b"ba", 1: b"dc", 2: b"fe", 3: b"first"}
    assert pool.idle_count() == 2
    assert in_background(pool) == {}


@pytest.mark.parametrize("name", ["refuse", "kill", "abort"])
def test_a_failure_in_the_background_is_raised_where_results_are_waited_for(pool: Pool, name: str) -> None:
    with pytest.raises(RelaxError, match=f"kernel '{name}'"):
        in_background(pool, [call("reverse", b"a"), call(name)], [call("reverse", b"b")])
    assert pool.idle_count() == 0


def test_an_abandoned_run_ends_its_workers(pool: Pool, tmp_path: Path) -> None:
    before = children()
    run, begun = BackgroundRun(pool, 2), tmp_path / "begun"
    run.add([call("nap", str(begun).encode())])
    while not begun.exists():
        time.sleep(0.01)
    started = children() - before
    run.abandon()
    run.abandon()
    assert started
    wait_until_gone(started)
    assert pool.idle_count() == 0


def test_several_threads_at_once(pool: Pool) -> None:
    results: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        results[number] = run(pool, 2, *(call("reverse", f"{number} {index}".encode()) for index in range(10)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: [f"{number} {index}"[::-1].encode() for index in range(10)] for number in range(4)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("refuse", "node 7: kernel 'refuse': cannot do it\nnote: do it so"),
        ("out_of_memory", "node 7: kernel 'out_of_memory': out of memory"),
        (
            "abort",
            "node 7: kernel 'abort': the process that made its code crashed (SIGABRT)\n"
            "note: it printed: LLVM ERROR: it broke",
        ),
        ("kill", "node 7: kernel 'kill': the process that made its code was killed (out of memory?)"),
        ("leave", "node 7: kernel 'leave': the process that made its code ended with 1\nnote: it printed: had enough"),
    ],
)
def test_failures(pool: Pool, name: str, text: str) -> None:
    with pytest.raises(RelaxError) as caught:
        run(pool, 2, call("reverse", b"abc"), call(name), call("reverse", b"abc"))
    assert str(caught.value) == text
    assert pool.idle_count() == 0, "a process that died, or should have, is kept"
    assert run(pool, 2, call("reverse", b"abc")) == [b"cba"]  # by a new one


def test_a_worker_that_was_killed_while_it_waited_is_replaced(pool: Pool) -> None:
    (pid,) = run(pool, 1, call("pid"))
    os.kill(int(pid), signal.SIGKILL)
    wait_until_gone({int(pid)})
    assert run(pool, 1, call("reverse", b"abc")) == [b"cba"]


def test_no_process_to_be_had(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    pool.prepare(2)
    with pytest.raises(OSError):
        run(pool, 2, call("reverse", b"abc"))


def test_an_interruption_ends_all_workers(pool: Pool, tmp_path: Path) -> None:
    before = children()
    begun = [tmp_path / "a", tmp_path / "b"]

    def interrupt() -> None:
        while not all(path.exists() for path in begun):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(pool, 2, *(call("nap", str(path).encode()) for path in begun))
    assert children() <= before
    assert pool.idle_count() == 0, "a process that died, or should have, is kept"


def test_a_fork_leaves_the_parents_workers_alone(pool: Pool) -> None:
    (pid,) = run(pool, 1, call("pid"))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            (other,) = run(pool, 1, call("pid"))
            pool.end()
            status = int(other == pid)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run(pool, 1, call("pid")) == [pid]


PARENT = """
import os, sys, time
from relax_mlir.support.processes.pool import Pool, PoolCall
pool = Pool()
pids = []
met = sys.argv[1].encode()
calls = [PoolCall("functions_of_test:meet", met, {}, "")] * 8
pool.run(calls, 2, lambda index, data, seconds: pids.append(data.decode()))
print(" ".join(sorted(set(pids))), flush=True)
time.sleep(9**9)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent(pool: Pool, tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, meeting],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    workers = {int(pid) for pid in parent.stdout.readline().split()}
    assert len(workers) == 2
    parent.send_signal(number)
    parent.wait(600)
    wait_until_gone(workers)
    parent.stdout.close()
