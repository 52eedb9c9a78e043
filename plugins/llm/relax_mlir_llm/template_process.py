# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Process that renders chat templates, with limits of time and memory."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import relax_mlir as rx

_WORKER = Path(__file__).with_name("template_worker.py")
#: Seconds of one rendering, MiB of the process with Python and jinja2, and characters of a result.
SECONDS, MEMORY_MIB, MOST_CHARACTERS = 5.0, 1024, 1 << 25
_PROBLEMS = {
    "time": "takes longer than {seconds:g} seconds",
    "memory": "needs more than {memory} MiB of memory, or makes a text of more than {most:,} characters",
    "depth": "calls itself too deeply",
    "ended": "ended the process that renders it",
}


class TemplateProcess:
    """Process that renders templates one after the other. It starts with the first one, and again after a failure."""

    def __init__(self, seconds: float = SECONDS, memory_mib: int = MEMORY_MIB) -> None:
        self._seconds, self._memory = seconds, memory_mib
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, template: str, values: Mapping[str, object] | None) -> dict[str, object]:
        """Return the answer of the process: the rendered text, or the names of variables without values.

        Raise ModelError for an invalid template, and for one that exceeds a limit. A template that refuses its values
        has the answer {"problem": "refused", "reason": ...}.
        """
        request = {"template": template, "values": values, "most": MOST_CHARACTERS}
        try:
            line = json.dumps(request, default=_plain).encode() + b"\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise rx.OptionError(f"a chat has a value that JSON cannot hold: {error}") from None
        with self._lock:
            answer = self._exchange(line)
        if (problem := str(answer.get("problem"))) == "invalid":
            raise rx.ModelError(f"the model's chat template is invalid: {answer['reason']}")
        if problem in _PROBLEMS:
            reason = _PROBLEMS[problem].format(seconds=self._seconds, memory=self._memory, most=MOST_CHARACTERS)
            raise rx.ModelError(f"the model's chat template {reason}")
        return answer

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def _exchange(self, line: bytes) -> dict[str, object]:
        process = self._start()
        assert process.stdin is not None and process.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            found = process.stdout.readline()
        except BrokenPipeError:
            found = b""
        finally:
            timer.cancel()
        if found.endswith(b"\n"):
            answer: dict[str, object] = json.loads(found)
            return answer
        self.close()
        return {"problem": "time" if is_late.is_set() else "ended"}

    def _start(self) -> subprocess.Popen[bytes]:
        """Return the running process. A copy of this object in a forked process starts another one."""
        if self._process is None or self._process.poll() is not None or self._owner != os.getpid():
            if not sys.executable or getattr(sys, "frozen", False):  # the executable is another program
                raise rx.RefusalError(
                    "a chat template is rendered by a Python interpreter in a process of its own, and this program has "
                    "none: pass the text of the whole chat to `generate`"
                )
            paths = json.dumps([each for each in sys.path if isinstance(each, str) and each])
            command = [sys.executable, "-I", "-S", str(_WORKER), paths, str(self._memory)]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
            except OSError as error:
                raise rx.RelaxError(f"cannot start {sys.executable} to render a chat template: {error}") from None
            self._owner = os.getpid()
        return self._process


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{value!r:.60} is a {type(value).__name__}")


#: Process of all models.
PROCESS = TemplateProcess()
atexit.register(PROCESS.close)
