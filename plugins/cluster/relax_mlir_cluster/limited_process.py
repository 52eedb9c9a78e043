# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process for calls that may crash, hang or exhaust memory. A call that ends the process gets another one."""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from relax_mlir.support.errors import RelaxError, message_of
from relax_mlir.support.processes.pool import PoolCall, Worker

#: Seconds after its limit at which a call ends its own process, if nobody else does.
_GRACE = 5
_FUNCTION = f"{__name__}:answer"


@dataclass(frozen=True)
class Answer:
    """Result of a call: a value, an exception of the function, or the reason why the process ended."""

    value: Any = None
    error: Exception | None = None
    ended: str = ""

    def get(self) -> Any:
        """Return the value. Raise the exception of the function, or RelaxError for a process that ended."""
        if self.ended:
            raise RelaxError(self.ended)
        if self.error is not None:
            raise self.error
        return self.value


class LimitedProcess:
    """Process that calls functions of importable modules one after the other."""

    def __init__(self, memory: int | None = None, cpus: int | None = None) -> None:
        """Limit the process to bytes of memory, and pin the process to a number of CPUs."""
        self._limits = {"memory": memory, "cpus": cpus}
        self._worker: Worker | None = None

    def call(self, function: Callable[..., Any], *arguments: object, limit: float) -> Answer:
        """Call a function. A call of more than `limit` seconds ends the process."""
        return answer_of(self.send(pickle.dumps((function, arguments)), limit))

    def send(self, data: bytes, limit: float) -> bytes:
        """Call a pickled function with its arguments. Return the pickled answer, which this process does not read."""
        call = PoolCall(_FUNCTION, data, {**self._limits, "limit": limit}, "the call", doing="worked")
        try:
            if self._worker is None or not self._worker.is_alive:
                self._worker = Worker()
            self._worker.begin(call)
            if not select.select([self._worker.answers], [], [], limit)[0]:
                self.close()
                return _pickle(Answer(ended=f"took more than {limit:g} s"))
            return self._worker.finish()[0]
        except (RelaxError, OSError) as error:
            self.close()
            text = error.message.partition(": ")[2] if isinstance(error, RelaxError) else message_of(error)
            return _pickle(Answer(ended=text.replace("the process that worked", "the process")))

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None


def answer_of(data: bytes) -> Answer:
    """Return an answer of `LimitedProcess.send`."""
    found = pickle.loads(data)
    assert isinstance(found, Answer)
    return found


def answer(data: bytes, limit: float, memory: int | None, cpus: int | None) -> bytes:
    """Call a pickled function in this process, and return the pickled answer."""
    _limit_process(memory, cpus)
    # The parent ends the process at the limit. If the parent was killed, the alarm does.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(limit) + _GRACE)
    try:
        function, arguments = pickle.loads(data)
        return _pickle(Answer(function(*arguments)))
    except MemoryError:
        return _pickle(Answer(ended="exhausted the memory"))
    except Exception as error:  # travels to the caller
        return _pickle(Answer(error=error))
    finally:
        signal.alarm(0)


def _pickle(answer: Answer) -> bytes:
    with contextlib.suppress(Exception):  # an error may refer to anything
        data = pickle.dumps(answer)
        if answer.error is not None:
            pickle.loads(data)  # some exceptions can be written, but not read
        return data
    return pickle.dumps(Answer(error=RelaxError(message_of(answer.error or TypeError("the result has no pickle")))))


def _limit_process(memory: int | None, cpus: int | None) -> None:
    import resource

    if memory is not None:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if cpus is not None and hasattr(os, "sched_setaffinity"):
        # The last CPUs: the system's own work prefers the first one.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cpus:])
