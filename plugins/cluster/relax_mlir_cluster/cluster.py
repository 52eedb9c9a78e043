# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on the workers of a Dask cluster. A worker that is lost, hangs or does not fit loses no call.

The client chooses the worker of each call. A worker has as many calls at once as threads, and one timed call. Calls of
a lost worker go to another one. Each call runs in a process of its worker with limits (limited_process.py).
"""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from relax_mlir.support.errors import OptionError, RelaxError, message_of
from relax_mlir.support.suggest import counted, suggest
from relax_mlir.support.version import VERSION

from .cluster_worker import end_idle, run_call
from .limited_process import Answer, answer_of

#: Expression that any worker can evaluate, also one without this package.
_FACTS = f"__import__('{__package__}.worker_facts', fromlist=['facts']).facts()"
#: Seconds between looks at the scheduler's list of workers, and of a wait for a result.
_LOOK, _WAIT = 1.0, 0.25
#: Seconds beyond the limit of a call after which its worker counts as hanging, and workers that may lose a call.
_GRACE, _MOST_LOST = 30.0, 2
#: Seconds without a report after which a worker counts as stopped. Workers report every 0.5 s, of 1000 every 6 s.
_SILENCE = 15.0
#: Seconds without any fitting worker after which a run ends, and of an answer of the scheduler.
PATIENCE = 60.0
_ANSWER = 30.0


@dataclass(frozen=True)
class RemoteCall:
    """Call of a function in an importable module, with arguments that can be pickled."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    #: Most seconds, and most bytes of memory.
    limit: float = 60.0
    memory: int | None = None
    #: CPUs that the process is pinned to; all by default.
    cpus: int | None = None
    #: Name or tag of a worker; any worker by default.
    board: str = ""
    #: Name or tag of workers that the call leaves free.
    not_board: str = ""
    needs_compiler: bool = True
    #: True if a worker runs no other timed call meanwhile.
    is_timed: bool = False


@dataclass
class _Task:
    call: RemoteCall
    data: bytes
    worker: _Worker | None = None
    future: Any = None
    begun: float = 0.0
    lost_by: list[str] = field(default_factory=list)


@dataclass(eq=False)
class _Worker:
    address: str
    name: str
    tags: tuple[str, ...] = ()
    threads: int = 1
    #: False until the worker has answered.
    is_known: bool = False
    asked: float = 0.0
    has_compiler: bool = False
    #: Scheduler's time of the worker's last report, and this machine's time when it was new.
    reported: float = 0.0
    heard: float = 0.0
    is_silent: bool = False
    #: Why the worker gets no calls.
    problem: str = ""
    tasks: list[_Task] = field(default_factory=list)

    @property
    def is_usable(self) -> bool:
        return self.is_known and not self.problem

    @property
    def is_unknown(self) -> bool:
        return not self.is_known and not self.problem

    def fits(self, call: RemoteCall) -> bool:
        """Check whether the worker may run a call, now or later."""
        if not self.is_usable or call.needs_compiler and not self.has_compiler:
            return False
        names = (self.name, *self.tags)
        return (not call.board or call.board in names) and (not call.not_board or call.not_board not in names)

    def is_free_for(self, call: RemoteCall) -> bool:
        has_timed = any(task.call.is_timed for task in self.tasks)
        return len(self.tasks) < self.threads and not (call.is_timed and has_timed)


class Cluster:
    """Workers of a Dask scheduler. New workers take part at once."""

    def __init__(self, scheduler: str, *, told: Callable[[str], object] | None = None) -> None:
        """Connect to a scheduler, such as tcp://host:8786.

        `told` gets a sentence for each worker without calls. By default sentences on workers that stop reporting are
        warnings.
        """
        self.scheduler = scheduler
        self._client = _client(scheduler)
        self._told = told
        #: Sentences on workers that get no calls.
        self.notes: list[str] = []
        self._workers: dict[str, _Worker] = {}
        self._waiting: deque[_Task] = deque()
        self._running: set[int] = set()
        self._events: SimpleQueue[tuple[_Task, Any]] = SimpleQueue()
        self._looked = 0.0
        self._alone_since: float | None = None
        self._here: ThreadPoolExecutor | None = None
        self._calling = threading.Lock()
        #: True after the loss of a worker, which may come back.
        self._has_lost = False
        self._look()

    def submit(self, call: RemoteCall) -> None:
        """Add a call. `outcomes` yields its answer."""
        self._waiting.append(_Task(call, pickle.dumps((call.function, call.arguments))))

    def outcomes(self, calls: Iterable[RemoteCall] = ()) -> Iterator[tuple[RemoteCall, Answer]]:
        """Yield each call with its answer, as answers arrive, until no call is left. Calls may be added meanwhile.

        Further `calls` are taken when a worker is free. Raise RelaxError if the scheduler is gone, or if no worker
        fits for a minute.
        """
        source = iter(calls)
        while self._refill(source):
            self._look()
            self._feed()
            try:
                task, future = self._events.get(timeout=_WAIT)
            except Empty:
                continue
            answer = self._finish(task, future)
            if answer is not None:
                yield task.call, answer

    def call(self, call: RemoteCall) -> Any:
        """Return the value of one call, also in several threads. Raise the function's exception, or RelaxError."""
        with self._calling:
            self.submit(call)
            ((_, answer),) = self.outcomes()
        return answer.get()

    def _refill(self, calls: Iterator[RemoteCall]) -> bool:
        """Take calls for the free workers. Return False if no call is left."""
        room = max(sum(worker.threads for worker in self._workers.values() if worker.is_usable), 1)
        while len(self._waiting) + len(self._running) < room:
            call = next(calls, None)
            if call is None:
                break
            self.submit(call)
        return bool(self._waiting or self._running)

    def width(self, board: str = "") -> int:
        """Return the number of workers, or of those with a name or tag."""
        self._look()
        workers = [worker for worker in self._workers.values() if not worker.problem]
        return sum(not board or board in (worker.name, *worker.tags) for worker in workers)

    def check_board(self, board: str) -> None:
        """Wait for a worker with a name or tag. Raise OptionError with the existing ones if there is none."""
        end = time.monotonic() + PATIENCE
        while not any(board in (worker.name, *worker.tags) for worker in self._workers.values()):
            if self._workers or time.monotonic() > end:
                raise OptionError(f"no worker of '{self.scheduler}' has the name or tag '{board}'{self._hint(board)}")
            time.sleep(_WAIT)
            self._look()

    def board_names(self) -> list[str]:
        """Return the names and tags of the workers."""
        self._look()
        names = [name for worker in self._workers.values() for name in (worker.name, *worker.tags)]
        return sorted(dict.fromkeys(names))

    def close(self) -> None:
        """Cancel the calls and disconnect."""
        for worker in self._workers.values():
            for task in worker.tasks:
                with contextlib.suppress(Exception):
                    task.future.cancel()
        if self._here is not None:
            self._here.shutdown(wait=False, cancel_futures=True)
            end_idle()
        with contextlib.suppress(Exception):
            self._client.close(timeout=_ANSWER)

    # ---- workers ----

    def _look(self) -> None:
        """Notice new, lost and hanging workers from time to time."""
        now = time.monotonic()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        listed = self._listed_workers()
        for address, facts in listed.items():
            if address not in self._workers:
                self._add(address, facts)
        for address in [each for each in self._workers if each not in listed]:
            self._lose(self._workers.pop(address), "was lost")
        for worker in self._workers.values():
            self._listen(worker, listed[worker.address].get("last_seen", now), now)
            if worker.is_unknown and now - worker.asked > PATIENCE / 2:
                worker.problem = "is busy or does not answer"
                self._tell_of(worker)
            late = [task for task in worker.tasks if now - task.begun > task.call.limit + _GRACE]
            if late:
                worker.problem = "does not answer"
                self._tell_of(worker)
                self._lose(worker, "does not answer")

    def _listen(self, worker: _Worker, reported: float, now: float) -> None:
        """Notice a worker that stops reporting, as a stopped process does, and one that reports again."""
        if reported != worker.reported:
            worker.reported, worker.heard = reported, now
            if worker.is_silent:
                worker.is_silent, worker.problem = False, ""
                self._tell(f"the worker '{worker.name}' at {worker.address} reports again")
        elif not worker.problem and now - worker.heard > _SILENCE:
            worker.is_silent, worker.problem = True, f"has not reported for {now - worker.heard:.0f} s"
            self._tell_of(worker)
            self._lose(worker, worker.problem)

    def _listed_workers(self) -> dict[str, dict[str, Any]]:
        try:
            identity = self._client.sync(self._client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER)
            workers: dict[str, dict[str, Any]] = identity["workers"]
            return workers
        except Exception as error:  # of sockets, and of Dask's time limits
            raise RelaxError(f"the Dask scheduler at '{self.scheduler}' is gone: {message_of(error)}") from None

    def _add(self, address: str, facts: dict[str, Any]) -> None:
        tags = tuple(facts.get("resources") or ())
        worker = _Worker(address, str(facts.get("name", address)), tags, int(facts.get("nthreads", 1)))
        worker.asked = time.monotonic()
        self._workers[address] = worker
        future = self._client.submit(eval, _FACTS, workers=[address], pure=False, retries=0, priority=10)
        future.add_done_callback(lambda done: self._events.put((_Task(RemoteCall(eval), b"", worker), done)))

    def _know(self, worker: _Worker, future: Any) -> None:
        """Take the worker's facts, or the reason why the worker cannot take part."""
        worker.is_known, worker.problem = True, ""
        try:
            facts = future.result(_ANSWER)
        except ImportError:
            worker.problem = f"lacks relax-mlir {VERSION}: pip install relax-mlir=={VERSION}"
        except Exception as error:  # of a lost worker
            worker.problem = f"does not tell what it has: {message_of(error)}"
        else:
            worker.has_compiler = facts["compiler"]
            if facts["version"] != VERSION:
                worker.problem = f"has relax-mlir {facts['version']}, expected {VERSION}"
            elif not facts["numpy"]:
                worker.problem = "lacks numpy: pip install numpy"
        if worker.problem and worker.address in self._workers:
            self._tell_of(worker)

    def _lose(self, worker: _Worker, how: str) -> None:
        """Give the calls of a worker to others."""
        self._has_lost = True
        tasks, worker.tasks = worker.tasks, []
        for task in tasks:
            task.lost_by.append(f"'{worker.name}' {how}")
            future, task.future, task.worker = task.future, None, None
            with contextlib.suppress(Exception):
                future.cancel()
            if len(task.lost_by) < _MOST_LOST:
                self._running.discard(id(task))
                self._waiting.appendleft(task)
            else:
                self._events.put((task, None))

    def _tell_of(self, worker: _Worker) -> None:
        sentence = f"the worker '{worker.name}' at {worker.address} {worker.problem}, and gets no calls"
        self._tell(sentence, is_urgent=worker.is_silent)

    def _tell(self, sentence: str, *, is_urgent: bool = True) -> None:
        self.notes.append(sentence)
        if self._told is not None:
            self._told(sentence)
        elif is_urgent:
            warnings.warn(sentence, RuntimeWarning, stacklevel=2)

    def _hint(self, board: str) -> str:
        names = self.board_names()
        return f"{suggest(board, names)}; there are {', '.join(names) or 'no workers'}"

    # ---- calls ----

    def _feed(self) -> None:
        """Start waiting calls on free workers, the least busy ones first."""
        for _ in range(len(self._waiting)):
            task = self._waiting.popleft()
            fitting = [worker for worker in self._workers.values() if worker.fits(task.call)]
            free = [each for each in fitting if each.is_free_for(task.call)]
            if free:
                self._start(task, min(free, key=lambda each: len(each.tasks)))
                continue
            if not fitting and self._runs_here(task):
                continue
            self._waiting.append(task)
            if not fitting:
                self._check_alone(task.call)
            elif all(len(worker.tasks) >= worker.threads for worker in self._workers.values()):
                # Nobody is free: keep the order of the others.
                self._waiting.rotate(1)
                return

    def _check_alone(self, call: RemoteCall) -> None:
        """Raise RelaxError if nobody can run a call for a while, and nothing else runs."""
        if self._running:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        is_asking = any(not worker.is_known for worker in self._workers.values())
        if now - self._alone_since < (PATIENCE if is_asking or self._has_lost or not self._workers else _LOOK):
            return
        self._alone_since = None
        self._waiting.clear()
        of_board = f" with the name or tag '{call.board}'" if call.board else ""
        reasons = [
            f"'{worker.name}' {worker.problem or self._lacking(worker, call)}" for worker in self._workers.values()
        ]
        found = f"{counted(len(reasons), 'worker')}, " if reasons else "no workers"
        raise RelaxError(f"no worker of '{self.scheduler}'{of_board} can work: {found}{'; '.join(reasons)}")

    def _lacking(self, worker: _Worker, call: RemoteCall) -> str:
        if call.board and call.board not in (worker.name, *worker.tags):
            return "is another one"
        return "lacks the compiler: pip install 'relax-mlir'"

    def _runs_here(self, task: _Task) -> bool:
        """Compile in this process's own limited process if no other worker is left for that. Return True if so."""
        call = task.call
        if not call.not_board or any(worker.is_unknown for worker in self._workers.values()):
            return False
        if self._here is None:
            self._here = ThreadPoolExecutor(1)
        arguments = call.limit, call.memory, call.cpus, call.is_timed
        self._begin(task, None, self._here.submit(run_call, task.data, *arguments))
        return True

    def _start(self, task: _Task, worker: _Worker) -> None:
        call = task.call
        # With a tag Dask itself keeps the worker free of other clients' timed calls.
        resources = {call.board: 1} if call.is_timed and call.board in worker.tags else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a program may have megabytes of constants
            future = self._client.submit(
                *(run_call, task.data, call.limit, call.memory, call.cpus, call.is_timed),
                workers=[worker.address],
                resources=resources,
                pure=False,
                retries=0,
            )
        worker.tasks.append(task)
        self._begin(task, worker, future)

    def _begin(self, task: _Task, worker: _Worker | None, future: Any) -> None:
        self._alone_since = None
        task.worker, task.future, task.begun = worker, future, time.monotonic()
        self._running.add(id(task))
        future.add_done_callback(lambda done: self._events.put((task, done)))

    def _finish(self, task: _Task, future: Any) -> Answer | None:
        """Return the answer of a finished call, or None if the call runs again or is no call."""
        if task.call.function is eval and task.worker is not None:
            self._know(task.worker, future)
            return None
        if future is None:
            self._running.discard(id(task))
            return Answer(ended=f"the worker {' and the worker '.join(task.lost_by)}")
        if future is not task.future:
            return None  # the answer of a worker that counts as lost
        worker = task.worker
        try:
            answer = answer_of(future.result(_ANSWER))
        except Exception as error:  # the worker was lost, or has another version
            if worker is None:
                answer = Answer(error=error)
            else:
                worker.problem = f"failed: {message_of(error)[:200]}"
                self._tell_of(worker)
                self._lose(worker, worker.problem)
                return None
        if worker is not None:
            worker.tasks.remove(task)
        self._running.discard(id(task))
        return answer


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client  # an extra
    except ImportError:
        raise OptionError(
            f"scheduler='{scheduler}' needs the package distributed", notes=["pip install 'relax-mlir[dask]'"]
        ) from None
    try:
        return Client(scheduler, timeout=_ANSWER, set_as_default=False)
    except Exception as error:  # of addresses, sockets and Dask's time limits
        raise OptionError(f"no Dask scheduler answers at '{scheduler}': {message_of(error)}") from None
